# speclab: builds everything under build/<CONFIG>/ from wildcards; `make help` lists the targets.
MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:

CONFIG  ?= release
BUILD   := build/$(CONFIG)
PREFIX  ?= /usr/local
V       ?= 0
Q       := $(if $(filter 1,$(V)),,@)

CC      := $(if $(filter default undefined,$(origin CC)),gcc,$(CC))
VERSION := 0.1.0
WARN    := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla
LIBS    := gsl libconfig jansson libpcre2-8
# Targets that install the libraries first, or need none, are read without them.
NEEDS_NOTHING := help clean layers libraries demo check sanitize fuzz uninstall
ifneq ($(filter-out $(NEEDS_NOTHING),$(or $(MAKECMDGOALS),all)),)
ifneq ($(shell pkg-config --exists $(LIBS) 2>/dev/null && echo there),there)
$(error speclab needs pkg-config and the libraries $(LIBS): type 'make libraries')
endif
LIB_CPPFLAGS := $(shell pkg-config --cflags $(LIBS))
LIB_LDLIBS   := $(shell pkg-config --libs $(LIBS)) -lglpk
endif
CPPFLAGS += -Iinclude -I. -D_GNU_SOURCE -DSPEC_VERSION='"$(VERSION)"' $(LIB_CPPFLAGS)
CFLAGS_release  := -O3 -g
CFLAGS_asan     := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
CFLAGS_tsan     := -O1 -g -fsanitize=thread
CFLAGS_fuzz     := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
CFLAGS_coverage := -O0 -g --coverage
CFLAGS  ?=
ALL_CFLAGS = -std=c11 $(WARN) -fopenmp -ffp-contract=off $(CFLAGS_$(CONFIG)) $(CFLAGS)
LDLIBS  += $(LIB_LDLIBS) -lm

FOLDERS := base models sim analysis conformance timing experiments
LIB_SRC := $(foreach d,$(FOLDERS),$(wildcard $(d)/*.c $(d)/*/*.c $(d)/*/*/*.c))
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/%.o)
LIB     := $(BUILD)/libspeclab.a
CLI_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard cli/*.c cli/*/*.c))
BIN     := $(BUILD)/speclab
SUPPORT_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/support/*.c))
TEST_SRC := $(wildcard $(foreach d,$(FOLDERS) cli,tests/$(d)/test_*.c tests/$(d)/*/test_*.c tests/$(d)/*/*/test_*.c))
TESTS   := $(TEST_SRC:%.c=$(BUILD)/%)

.PHONY: all
all: $(BIN) ## build the speclab program
	@:

# The commit stands in every result's provenance; its file changes, and what reads it is built anew, only when the
# commit does.
GIT := $(shell git describe --always --dirty 2>/dev/null)
GIT_FILE := $(BUILD)/git-$(GIT)
$(GIT_FILE):
	@mkdir -p $(@D) && rm -f $(BUILD)/git-* && touch $@
$(BUILD)/experiments/experiment_run.o: $(GIT_FILE)
$(BUILD)/experiments/experiment_run.o: CPPFLAGS += $(if $(GIT),-DSPEC_GIT='"$(GIT)"')

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	@[ $(V) = 1 ] || echo "  CC $<"
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(ISA_$(lastword $(subst _, ,$(basename $<)))) -MMD -MP -c -o $@ $<

# Kernels for one instruction set are in files named *_avx2.c, *_avx512.c and *_vnni.c; elsewhere than x86-64 they
# compile to nothing.
ifneq ($(filter x86_64 amd64,$(shell uname -m)),)
ISA_avx2   := -mavx2 -mfma -mf16c
ISA_avx512 := -mavx512f -mavx512dq -mavx512vl -mavx512bw -mfma -mf16c
ISA_vnni   := $(ISA_avx512) -mavx512vnni
endif
# The fuzzers look at readers: clang takes some ten minutes to instrument these kernels.
$(BUILD)/%_avx2.o $(BUILD)/%_avx512.o $(BUILD)/%_vnni.o: CFLAGS_fuzz := -O1 -g

# Kernels for NVIDIA cards: nvcc makes one fat binary of each models/gpu/kernels_*.cu, which images.c takes in. Where
# there is no nvcc the program says so when it is asked for a card. gcc compiles the same files for the simulator.
NVCC    := $(shell command -v nvcc 2>/dev/null || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
KERNELS := $(wildcard models/gpu/kernels_*.cu)
FATBIN  := $(KERNELS:%.cu=build/gpu/%.fatbin)
NVCC_FLAGS := -std=c++17 -O3 -fmad=false -I. -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 \
    -gencode arch=compute_90,code=compute_90
# On the way nvcc makes PTX, which the simulator runs too: it is kept.
build/gpu/%.fatbin build/gpu/%.compute_80.ptx build/gpu/%.compute_90.ptx: %.cu
	@mkdir -p $(@D)/kept
	@[ $(V) = 1 ] || echo "  NVCC $<"
	$(Q)$(NVCC) $(NVCC_FLAGS) -Xptxas -v -MMD -MP -MF build/gpu/$*.d --keep --keep-dir $(@D)/kept -fatbin \
	    -o build/gpu/$*.fatbin $< 2>build/gpu/$*.ptxas || { cat build/gpu/$*.ptxas; exit 1; }
	$(Q)mv $(@D)/kept/$(*F).*.ptx $(@D) && rm -f $(@D)/kept/$(*F).*
# The file of this name is made anew, and what reads it built, when nvcc comes or goes.
NVCC_FILE := $(BUILD)/$(if $(NVCC),with,without)-nvcc
$(NVCC_FILE):
	@mkdir -p $(@D) && rm -f $(BUILD)/with-nvcc $(BUILD)/without-nvcc && touch $@
$(BUILD)/models/gpu/images.o: $(NVCC_FILE)
ifneq ($(NVCC),)
NVCC_VERSION = $(shell $(NVCC) --version | sed -n 's/.*release \([0-9]*\)\.\([0-9]\).*/\10\20/p')
$(BUILD)/models/gpu/images.o: $(FATBIN)
$(BUILD)/models/gpu/images.o: CPPFLAGS += -DSPEC_IMAGES='"build/gpu/models/gpu/"' -DSPEC_IMAGES_VERSION=$(NVCC_VERSION)
endif

# One test holds names, parameters and numbers against the toolkit's, where there is one.
TOOLKIT := $(if $(NVCC),$(patsubst %/bin/nvcc,%,$(realpath $(shell command -v $(NVCC)))))
$(BUILD)/tests/models/gpu/test_driver_names.o: $(NVCC_FILE)
$(BUILD)/tests/models/gpu/test_driver_names.o: CPPFLAGS += $(if $(wildcard $(TOOLKIT)/include/cuda.h), \
    -isystem $(TOOLKIT)/include -DSPEC_STUBS='"$(TOOLKIT)/lib64/stubs/libcuda.so"')

# The simulated driver (tests/simulator) with these kernels, as gcc compiles them, and with kernels that have a mistake
# each, to see that it finds them. The watched ones look at each access to memory: races, ends of allocations. Those of
# PTX run what nvcc made of the kernels, instruction by instruction.
SIMULATOR  := $(BUILD)/tests/simulator
SIMULATORS := $(addprefix $(SIMULATOR)/,libcuda.so libplanted.so libplanted_watched.so $(if $(NVCC),libplanted_ptx.so))
SIM_FLAGS   = -std=c11 -Wall -Wextra -Wno-unused-function -ffp-contract=off -fPIC -Iinclude -I. -D_GNU_SOURCE
SIM_SHARED := $(if $(and $(findstring address,$(CFLAGS_$(CONFIG))),$(findstring gcc,$(CC))),-fsanitize-sections='simt_shared*')
SIM_KERNEL  = $(SIM_FLAGS) -DSIMT_SECTION=simt_shared_$(*F)_
SIM_DRIVER := $(patsubst %.c,$(BUILD)/sim/%.o,$(filter-out %/kernel_table.c,$(wildcard tests/simulator/*.c)))
# Under the sanitizers the simulator's own code is optimised all the same; its product of matrices, arithmetic on copies
# in place, is left alone by them: it would take half of the time.
$(SIM_DRIVER): CFLAGS_asan += -O3
$(BUILD)/sim/tests/simulator/warp_product.o: CFLAGS_asan := $(CFLAGS_release)
SIM_WATCH  := $(BUILD)/sim/tests/simulator/watched/access_watch.o
SIM_TABLE  := $(BUILD)/sim/tests/simulator/kernel_table.o
SIM_PLANTED_TABLE := $(BUILD)/sim/tests/simulator/planted/planted_table.o
PLANTED    := $(wildcard tests/simulator/planted/*.cu)
SIM_PTX    := $(patsubst %.c,$(BUILD)/sim/%.o,$(filter-out %/ptx_texts.c,$(wildcard tests/simulator/ptx/*.c)))
SIM_TEXTS  := $(BUILD)/sim/tests/simulator/ptx/ptx_texts.o
SIM_PLANTED_TEXTS := $(BUILD)/sim/tests/simulator/planted/planted_texts.o
ptx_of      = $(foreach source,$(1:.cu=),build/gpu/$(source).compute_80.ptx build/gpu/$(source).compute_90.ptx)
$(SIM_TEXTS): $(call ptx_of,$(KERNELS))
$(SIM_PLANTED_TEXTS): $(call ptx_of,$(PLANTED))
$(BUILD)/sim/%.o: %.c
	@mkdir -p $(@D)
	@[ $(V) = 1 ] || echo "  CC $<"
	$(Q)$(CC) $(SIM_FLAGS) $(CFLAGS_$(CONFIG)) $(CFLAGS) -MMD -MP -c -o $@ $<
$(BUILD)/sim/%.o: %.cu
	@mkdir -p $(@D)
	@[ $(V) = 1 ] || echo "  CC $<"
	$(Q)$(CC) $(SIM_KERNEL) $(CFLAGS_$(CONFIG)) $(CFLAGS) $(SIM_SHARED) -MMD -MP -c -o $@ -x c $<
$(BUILD)/watched/%.o: %.cu
	@mkdir -p $(@D)
	@[ $(V) = 1 ] || echo "  CC $< (watched)"
	$(Q)$(CC) $(SIM_KERNEL) -O1 -g -fsanitize=thread -MMD -MP -c -o $@ -x c $<
$(SIMULATOR)/libcuda.so: $(SIM_DRIVER) $(SIM_TABLE) $(KERNELS:%.cu=$(BUILD)/sim/%.o)
$(SIMULATOR)/libcuda_watched.so: $(SIM_DRIVER) $(SIM_TABLE) $(SIM_WATCH) $(KERNELS:%.cu=$(BUILD)/watched/%.o)
$(SIMULATOR)/libcuda_ptx.so: $(SIM_DRIVER) $(SIM_TABLE) $(KERNELS:%.cu=$(BUILD)/sim/%.o) $(SIM_PTX) \
    $(SIM_TEXTS)
$(SIMULATOR)/libplanted_ptx.so: $(SIM_DRIVER) $(SIM_PLANTED_TABLE) $(PLANTED:%.cu=$(BUILD)/sim/%.o) $(SIM_PTX) \
    $(SIM_PLANTED_TEXTS)
$(SIMULATOR)/libplanted.so: $(SIM_DRIVER) $(SIM_PLANTED_TABLE) $(PLANTED:%.cu=$(BUILD)/sim/%.o)
$(SIMULATOR)/libplanted_watched.so: $(SIM_DRIVER) $(SIM_PLANTED_TABLE) $(SIM_WATCH) $(PLANTED:%.cu=$(BUILD)/watched/%.o)
$(SIMULATORS) $(SIMULATOR)/libcuda_watched.so $(SIMULATOR)/libcuda_ptx.so:
	@mkdir -p $(@D)
	@[ $(V) = 1 ] || echo "  SO $@"
	$(Q)$(CC) $(CFLAGS_$(CONFIG)) -shared -o $@ $^ -ldl -lm

$(LIB): $(LIB_OBJ)
	@[ $(V) = 1 ] || echo "  AR $@"
	$(Q)rm -f $@ && ar rcs $@ $^

$(BIN): $(CLI_OBJ) $(LIB)
	@[ $(V) = 1 ] || echo "  LD $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# Plug-ins are built as anybody would build his own, without sanitizers.
PLUGINS := $(patsubst %.c,$(BUILD)/%.so,$(wildcard tests/plugins/*.c))
$(BUILD)/tests/plugins/%.so: tests/plugins/%.c include/speclab/sampler.h
	@mkdir -p $(@D)
	@[ $(V) = 1 ] || echo "  SO $<"
	$(Q)$(CC) -std=c99 -Wall -Wextra -Wpedantic -O2 -g -Iinclude -fPIC -shared -o $@ $< -ldl

# Processes that speak speclab's protocol: programs of one file.
CLIENTS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/clients/*.c))
$(BUILD)/tests/clients/%: tests/clients/%.c
	@mkdir -p $(@D)
	@[ $(V) = 1 ] || echo "  LD $@"
	$(Q)$(CC) -std=c99 -Wall -Wextra -Wpedantic -O2 -g -o $@ $<

# Measures a card; a test runs it on the simulator.
BENCH_GPU := $(BUILD)/tests/bench/gpu/bench_gpu
$(BENCH_GPU): $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/bench/gpu/*.c)) $(LIB)
	@[ $(V) = 1 ] || echo "  LD $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# The engine's tests, which the thread sanitizer is for, need nothing of these.
ENGINE := $(patsubst %,$(BUILD)/tests/%,sim/test_montecarlo sim/test_sources sim/test_acceptance \
    base/test_team models/transformer/engine/test_backend_cpu)
$(filter-out $(ENGINE),$(TESTS)): | $(PLUGINS) $(CLIENTS) $(SIMULATORS) $(BENCH_GPU)
$(BUILD)/tests/%: $(BUILD)/tests/%.o $(SUPPORT_OBJ) $(LIB)
	@[ $(V) = 1 ] || echo "  LD $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS) -lcmocka

.PHONY: tests
tests: $(TESTS) $(BIN)

# Those who type no -j get one for each processor.
PARALLEL = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))

.PHONY: check
check: ## install what is missing, build, and pass the tests
	@.ci/libraries
	@$(MAKE) --no-print-directory layers
	@$(MAKE) --no-print-directory $(PARALLEL) unit
	@$(MAKE) --no-print-directory kernels
	@$(MAKE) --no-print-directory $(PARALLEL) gpu-ptx-quick
	@$(MAKE) --no-print-directory docs

.PHONY: kernels
kernels: $(if $(NVCC),$(FATBIN)) ## check what nvcc made of the kernels for cards: no registers in memory
	@tests/gpu.sh $(if $(NVCC),$(FATBIN:.fatbin=.ptxas))

.PHONY: docs
docs: $(BIN) ## check links, references and columns; run the commands of the guide, and compare
	@tests/links.sh
	@tests/docs.sh $(BIN) docs/guide.md docs/ahead.md docs/conformance.md docs/gpu.md

.PHONY: unit
unit: tests ## build and run the unit tests (CONFIG=asan, CONFIG=tsan for sanitizers)
	@SPECLAB=$(BIN) tests/run.sh $(TESTS)

.PHONY: check-long
check-long: tests ## the unit tests with samples 20 times as large
	@SPECLAB=$(BIN) SPEC_TEST_LONG=20 tests/run.sh $(TESTS)

.PHONY: sanitize
sanitize: ## the tests under the address and undefined sanitizers, the card's for races, the engine's under the thread sanitizer
	@$(MAKE) --no-print-directory $(PARALLEL) CONFIG=asan unit
	@$(MAKE) --no-print-directory $(PARALLEL) CONFIG=asan gpu-reverse
	@$(MAKE) --no-print-directory $(PARALLEL) gpu-races-quick
	@$(MAKE) --no-print-directory $(PARALLEL) CONFIG=tsan CC=clang engine

# On the simulated card: threads, blocks and streams in another order than in the unit tests, and each access watched.
GPU_TESTS := $(patsubst %.c,$(BUILD)/%,$(filter-out tests/cli/%,$(shell grep -l 'spec_simulated_card()' $(TEST_SRC))))
.PHONY: gpu-reverse
gpu-reverse: $(GPU_TESTS)
	@SIM_ORDER=reverse SIM_SEED=1 tests/run.sh $(GPU_TESTS)

.PHONY: gpu-races gpu-races-quick
GPU_QUICK := $(patsubst %,$(BUILD)/tests/models/gpu/test_%,launch_columns launch_product sampling_gpu backend_gpu \
    passes_gpu)
gpu-races: $(GPU_TESTS) $(SIMULATOR)/libcuda_watched.so ## the tests of GPU kernels with each access watched for races, in some minutes
	@SIM_LIBRARY=libcuda_watched.so SIM_ORDER=shuffled tests/run.sh $(GPU_TESTS)
gpu-races-quick: $(GPU_QUICK) $(SIMULATOR)/libcuda_watched.so
	@SIM_LIBRARY=libcuda_watched.so SIM_ORDER=shuffled tests/run.sh $(GPU_QUICK)

# What nvcc made of the kernels, in place of what gcc did, for cards of capability 9.0 and 8.0; or beside it, where that
# does not take long.
PTX_QUICK := $(patsubst %,$(BUILD)/tests/models/gpu/test_%,card card_recordings transformer_gpu)
.PHONY: gpu-ptx gpu-ptx-quick
ifneq ($(NVCC),)
gpu-ptx: $(GPU_TESTS) $(SIMULATOR)/libcuda_ptx.so ## the tests of GPU kernels with the code that nvcc makes of them, in some minutes
	@SIM_LIBRARY=libcuda_ptx.so tests/run.sh $(GPU_TESTS)
	@SIM_LIBRARY=libcuda_ptx.so SIM_CAPABILITY=8.0 SIM_ORDER=reverse SIM_SEED=1 tests/run.sh $(GPU_TESTS)
gpu-ptx-quick: $(PTX_QUICK) $(GPU_QUICK) $(SIMULATOR)/libcuda_ptx.so
	@SIM_LIBRARY=libcuda_ptx.so tests/run.sh $(PTX_QUICK)
	@SIM_LIBRARY=libcuda_ptx.so SIM_COMPARE=2 tests/run.sh $(GPU_QUICK)
else
gpu-ptx:
	@echo "gpu-ptx: skipped: there is no nvcc"
gpu-ptx-quick: gpu-ptx
endif

# libomp and its Archer tell the sanitizer of the barriers; what libomp itself does is not instrumented.
.PHONY: engine
engine: $(ENGINE)
	@TSAN_OPTIONS="ignore_noninstrumented_modules=1 die_after_fork=0" tests/run.sh $(ENGINE)

.PHONY: layers
layers: ## check the dependency law of the folders
	@tests/layers.sh

.PHONY: libraries
libraries: ## install the libraries speclab builds with
	@.ci/libraries

.PHONY: demo
demo: ## the main job in 90 s: prove, simulate, sweep and plot into out/report.md (TEXT=file for a text of yours)
	@.ci/libraries
	@$(MAKE) --no-print-directory $(PARALLEL) all
	@cli/demo.sh $(BIN) out $(if $(TEXT),'$(TEXT)')

BENCH_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/bench/*.c))
$(BUILD)/tests/bench/bench: $(BENCH_OBJ) $(LIB) | $(PLUGINS) $(CLIENTS)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

.PHONY: bench
bench: $(BUILD)/tests/bench/bench ## measure speed, as ratios against yardsticks in the same run
	@$(BUILD)/tests/bench/bench


.PHONY: bench-gpu
bench-gpu: $(BENCH_GPU) ## measure an NVIDIA card and its passes, in some minutes, into CSV=bench-gpu.csv
	@$(BENCH_GPU) $(or $(CSV),bench-gpu.csv)

.PHONY: gpu-report
gpu-report: $(if $(NVCC),$(FATBIN)) ## registers, shared memory and occupancy of the kernels for cards, by the compiler
	@tests/gpu_report.sh build/gpu/models/gpu

FUZZERS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_SECONDS ?= 600
.PHONY: fuzz
fuzz: ## fuzz the parsers, FUZZ_SECONDS=600 each (clang)
	@$(MAKE) --no-print-directory $(PARALLEL) CONFIG=fuzz CC=clang run-fuzzers

$(BUILD)/tests/fuzz/%: $(BUILD)/tests/fuzz/%.o $(LIB)
	@[ $(V) = 1 ] || echo "  LD $@"
	$(Q)$(CC) $(ALL_CFLAGS) -fsanitize=fuzzer $(LDFLAGS) -o $@ $^ $(LDLIBS)

.PHONY: run-fuzzers
run-fuzzers: $(FUZZERS)
	@for fuzzer in $(FUZZERS); do name=$$(basename $$fuzzer); mkdir -p $(BUILD)/corpus/$$name; \
	    seeds=$$(ls -d tests/fuzz/seeds/$${name#fuzz_} tests/fuzz/seeds/$$name 2>/dev/null); \
	    $$fuzzer -max_total_time=$(FUZZ_SECONDS) -timeout=20 -rss_limit_mb=4096 -verbosity=0 -print_final_stats=1 \
	        -artifact_prefix=$(BUILD)/ $(BUILD)/corpus/$$name $$seeds >$(BUILD)/$$name.log 2>&1 \
	        || { cat $(BUILD)/$$name.log; exit 1; }; \
	    runs=$$(sed -n 's/^stat::number_of_executed_units: //p' $(BUILD)/$$name.log); \
	    echo "fuzz: $$name: $$runs runs, nothing found"; done

.PHONY: mutate
mutate: tests ## break one line at a time in the rules and the formulas, and count the breaks that a test sees
	@python3 tests/mutate/mutate.py

MAN := $(patsubst cli/verb_%.c,build/man/speclab-%.1,$(wildcard cli/verb_*.c)) build/man/speclab.1
build/man/speclab.1: $(BIN) cli/man.inc
	@mkdir -p $(@D)
	$(Q)help2man --no-info --include=cli/man.inc --name='a laboratory for speculative decoding' --output=$@ $(BIN)
build/man/speclab-%.1: $(BIN) cli/man.inc
	@mkdir -p $(@D)
	$(Q)help2man --no-info --include=cli/man.inc --name="$$($(BIN) $* --help | sed -n 2p)" '$(BIN) $*' \
	    | sed 's/^\.TH SPECLAB /.TH SPECLAB-$(shell echo $* | tr a-z A-Z) /;s/^speclab \\- /speclab-$* \\- /' >$@

.PHONY: man
man: $(MAN) ## man pages, from --help

TO    := $(DESTDIR)$(PREFIX)
SHARE := $(TO)/share/speclab
.PHONY: install
install: $(BIN) $(if $(shell command -v help2man),man) ## install under PREFIX (/usr/local), below DESTDIR
	install -d $(TO)/bin $(addprefix $(SHARE)/,experiments plots docs sim adapters) \
	    $(TO)/share/man/man1 $(TO)/share/bash-completion/completions
	install -d $(TO)/include/speclab
	install -m 755 $(BIN) $(TO)/bin/speclab
	install -m 644 include/speclab/sampler.h $(TO)/include/speclab # what plug-ins are made from
	install -m 644 experiments/adapters/*.* $(SHARE)/adapters
	install -m 644 experiments/*.cfg $(SHARE)/experiments
	install -m 644 plots/*.gp $(SHARE)/plots
	install -m 644 docs/*.md $(SHARE)/docs
	install -m 644 sim/*.c $(SHARE)/sim # the code that real_text learns from
	install -m 644 cli/completion.bash $(TO)/share/bash-completion/completions/speclab
	[ ! -d build/man ] || install -m 644 build/man/*.1 $(TO)/share/man/man1

.PHONY: uninstall
uninstall: ## remove what install put there
	rm -rf $(TO)/bin/speclab $(TO)/include/speclab $(SHARE) $(TO)/share/man/man1/speclab*.1 \
	    $(TO)/share/bash-completion/completions/speclab

.PHONY: clean
clean: ## remove everything that was built
	rm -rf build out

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

# Kept for the next build. (Without a list make would not miss the commit's file, and show an old commit in results.)
.SECONDARY: $(SUPPORT_OBJ) $(TEST_SRC:%.c=$(BUILD)/%.o) $(FUZZERS:%=%.o)
-include $(shell find build/$(CONFIG) build/gpu -name '*.d' 2>/dev/null)
