# SPDX-License-Identifier: GPL-3.0-or-later
# speclab: builds everything under build/<CONFIG>/ from wildcards; `make help` lists the targets.
MAKEFLAGS += --no-builtin-rules
# Those who type no -j get one for each processor.
ifeq ($(MAKELEVEL)$(findstring -j,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc)
endif
.SUFFIXES:
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:

CONFIG  ?= release
BUILD   := build/$(CONFIG)
PREFIX  ?= /usr/local
V       ?= 0
Q       := $(if $(filter 1,$(V)),,@)

# clang for the sanitizers and the fuzzers, gcc for the rest.
CC_asan := clang
CC_tsan := clang
SYSROOT := $(if $(filter arm64,$(CONFIG)),build/libraries-arm64)
CC_arm64 := aarch64-linux-gnu-gcc --sysroot=$(SYSROOT)
CC      := $(if $(filter default undefined,$(origin CC)),$(or $(CC_$(CONFIG)),gcc),$(CC))
# With ccache, a file that has not changed since some earlier build is not compiled again.
CACHE   := $(shell command -v ccache)
VERSION := 1.0.0
WARN    := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
    -Wmissing-prototypes -Wvla
# Asked when the first object is compiled: .ci/libraries has installed them by then.
once     = $(eval $1 := $2)$($1)
LIB_CPPFLAGS = $(call once,LIB_CPPFLAGS,$(shell .ci/libraries --flags cflags))
LIB_LDLIBS   = $(call once,LIB_LDLIBS,$(shell .ci/libraries --flags libs))
ifeq ($(CONFIG),arm64)
# .ci/libraries has unpacked them below $(SYSROOT).
LIB_CPPFLAGS :=
LIB_LDLIBS   := -lgsl -lgslcblas -ljansson -lpcre2-8 -lz
endif
CPPFLAGS += -Iinclude -I. -D_GNU_SOURCE -DSPEC_VERSION='"$(VERSION)"'
CFLAGS_release  := -O3 -g1
TEST_FLAGS      := -O0 -g1
CFLAGS_asan     := -O2 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all \
    -fno-omit-frame-pointer -Wno-pass-failed
CFLAGS_tsan     := -O2 -g1 -fsanitize=thread
CFLAGS_arm64    := -O3 -g1
CFLAGS_coverage := -O0 -g --coverage
CFLAGS  ?=
ALL_CFLAGS = -std=c11 $(WARN) -fopenmp -ffp-contract=off $(CFLAGS_$(CONFIG)) $(PIC) $(COUNTED) \
    $(LOOPS) $(CFLAGS)
LDLIBS  += $(LIB_LDLIBS) -lm

TOOLS   := $(addprefix tools/,validate bench advise serve train tune pair)
FOLDERS := base models sim analysis experiments $(TOOLS) api
LIB_SRC := $(foreach d,$(FOLDERS),$(wildcard $(d)/*.c $(d)/*/*.c $(d)/*/*/*.c))
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/%.o)
LIB     := $(BUILD)/libspeclab.a
# The tests link with a shared object of the same modules: a changed source relinks that alone.
LIB_SO  := $(BUILD)/libspeclab.so
PIC_FLAGS := -fPIC -fno-semantic-interposition
$(LIB_OBJ): PIC := $(PIC_FLAGS)
# What speaks to servers is linked to the program alone.
LIVE_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tools/live/*.c))
LIVE    := $(BUILD)/liblive.a
CLI_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard cli/*.c cli/*/*.c))
BIN     := $(BUILD)/speclab
SUPPORT_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/support/*.c))
TEST_SRC := $(wildcard $(foreach d,$(FOLDERS) tools/live cli,tests/$(d)/test_*.c \
    tests/$(d)/*/test_*.c tests/$(d)/*/*/test_*.c))
TEST_OBJ := $(TEST_SRC:%.c=$(BUILD)/%.o)
TESTS   := $(addsuffix test,$(sort $(dir $(TEST_OBJ))))

# A variable as the user typed it, as one word of the shell. Make does not export these, because it
# would expand a '$' in them.
quoted = '$(subst ','\'',$(value $1))'
unexport DESTDIR PREFIX LIBDIR TEXT CSV MODEL REF

.PHONY: all
all: $(BIN) ## build the speclab program
	@:

# Every result's provenance names the commit. This file changes with the commit, and only then are
# its readers rebuilt.
GIT := $(shell git describe --always --dirty --abbrev=8 2>/dev/null)
GIT_FILE := $(BUILD)/git-$(GIT)
$(GIT_FILE):
	@mkdir -p $(@D) && rm -f $(BUILD)/git-* && touch $@
$(BUILD)/base/build_info.o: $(GIT_FILE)
$(BUILD)/base/build_info.o: CPPFLAGS += $(if $(GIT),-DSPEC_GIT='"$(GIT)"')

# Objects are built again when the compiler or its options change.
FLAGS_FILE := $(BUILD)/flags
same = $(if $(subst |$1|,,|$2|)$(subst |$2|,,|$1|),,same)
# Expanded here, because a prerequisite inherits the variables of the target that first needs it.
OWN_FLAGS := $(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(PIC_FLAGS) $(TEST_FLAGS)
FLAGS_NOW = $(OWN_FLAGS) $(LIB_CPPFLAGS)
.PHONY: force libraries-to-build libraries-to-test
$(FLAGS_FILE): force | libraries-to-build
	$(if $(call same,$(strip $(FLAGS_NOW)),$(strip $(if $(wildcard $@),$(file <$@)))),,$(shell \
	    mkdir -p $(@D))$(file >$@,$(FLAGS_NOW)))
libraries-to-build:
	@.ci/libraries $(if $(SYSROOT),arm64,build)
libraries-to-test:
	@.ci/libraries $(if $(SYSROOT),arm64,tests)

$(BUILD)/%.o: %.c $(FLAGS_FILE)
	@mkdir -p $(@D)
	@[ $(V) = 1 ] || echo "  CC $<"
	$(Q)$(CACHE) $(CC) $(CPPFLAGS) $(LIB_CPPFLAGS) $(ALL_CFLAGS) \
	    $(ISA_$(lastword $(subst _, ,$(basename $<)))) -MMD -MP -c -o $@ $<

# Kernels for one instruction set are in files *_avx2.c, *_avx512.c, *_vnni.c, *_neon.c and
# *_dotprod.c. On processors of the other architecture they compile to nothing. All of arm64 has
# NEON.
MACHINE := $(if $(filter arm64,$(CONFIG)),aarch64,$(shell uname -m))
ifneq ($(filter x86_64 amd64,$(MACHINE)),)
ISA_avx2   := -mavx2 -mfma -mf16c
ISA_avx512 := -mavx512f -mavx512dq -mavx512vl -mavx512bw -mfma -mf16c
ISA_vnni   := $(ISA_avx512) -mavx512vnni
endif
ifneq ($(filter aarch64 arm64,$(MACHINE)),)
# Before register allocation, gcc's scheduler moves all loads of a block up: the sums are spilled.
ISA_dotprod = -march=armv8.2-a+dotprod $(if $(findstring clang,$(CC)),,-fno-schedule-insns)
endif
# With CONFIG=asan, clang also counts branches for the fuzzers. Only what reads files needs that:
# elsewhere it costs time.
READERS := base/% models/model% models/transform.% models/ngram/corpus.% models/ngram/text_unit.% \
    models/ngram/vocabulary.% models/rows/% models/import/% models/heads/head_% \
    models/dflash/dflash_file.% models/transformer/files/% models/transformer/tokenizer/% \
    sim/acceptance_profile.% sim/serving/length_choice.% sim/serving/step_cost.% \
    sim/serving/time_table.% sim/serving/requests/% tools/validate/traces/% \
    tools/validate/samplers/% tools/advise/log_% tools/advise/readers/% experiments/config% \
    experiments/exp% experiments/gr% experiments/number_list.% experiments/result% \
    experiments/shard%
COUNT_asan := $(if $(findstring clang,$(CC)),-fsanitize=fuzzer-no-link)
$(LIVE_OBJ) $(filter-out %/log_histogram.o,$(filter $(READERS:%=$(BUILD)/%),$(LIB_OBJ))): \
    COUNTED = $(COUNT_$(CONFIG))
# clang takes some ten minutes to instrument the kernels of one instruction set, gcc seconds.
GCC := $(if $(filter clang,$(CC_$(CONFIG))),gcc,$(CC))
# They are optimised and their addresses checked, without the checks of arithmetic, which would take
# most of the tests' time.
$(BUILD)/%_avx2.o $(BUILD)/%_avx512.o $(BUILD)/%_vnni.o $(BUILD)/%_neon.o $(BUILD)/%_dotprod.o: \
    CC := $(GCC)
$(BUILD)/%_avx2.o $(BUILD)/%_avx512.o $(BUILD)/%_vnni.o $(BUILD)/%_neon.o $(BUILD)/%_dotprod.o: \
    CFLAGS_asan := -O2 -g1 -fsanitize=address -fno-omit-frame-pointer
# These unrolled products: at -O1 compiling takes eight times as long, and tests no shorter.
PRODUCTS := $(filter-out %_ref.c,$(wildcard models/transformer/kernels/product_*.c))
$(PRODUCTS:%.c=$(BUILD)/%.o): CFLAGS_asan += -Og
# Without these, gcc does not vectorise square roots and comparisons. Results are the same.
$(BUILD)/models/train/elements_%.o: LOOPS := -fno-math-errno -fno-trapping-math
# The simulator's table of instructions: optimised further, it alone takes 20 s to compile.
$(BUILD)/sim/tests/simulator/ptx/ptx_lanes.o: CFLAGS_release := -O1 -g1
$(BUILD)/sim/tests/simulator/ptx/ptx_lanes.o: CFLAGS_asan += -O0

# Kernels for NVIDIA GPUs: nvcc makes one fat binary of each models/gpu/kernels_*.cu, and images.c
# includes them. Without nvcc the program reports that it has no GPU kernels. gcc compiles the same
# files for the simulator.
NVCC    := $(if $(filter arm64,$(CONFIG)),,$(shell command -v nvcc 2>/dev/null || ls \
    /usr/local/cuda/bin/nvcc 2>/dev/null))
KERNELS := $(wildcard models/gpu/kernels_*.cu)
FATBIN  := $(KERNELS:%.cu=build/gpu/%.fatbin)
# With NVCC_LINES=-lineinfo profilers and sanitizers name lines of the source. The code is the same,
# but the program is twice as large and has the paths of this machine.
NVCC_LINES :=
NVCC_FLAGS := -std=c++17 -O3 -fmad=false $(NVCC_LINES) -I. \
    -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 \
    -gencode arch=compute_90,code=compute_90
# On the way nvcc makes PTX, which the simulator runs too: it is kept.
NVCC_FLAGS_FILE := build/gpu/flags
$(NVCC_FLAGS_FILE): force
	$(if $(call same,$(NVCC_FLAGS),$(if $(wildcard $@),$(file <$@))),,$(shell \
	    mkdir -p $(@D))$(file >$@,$(NVCC_FLAGS)))
build/gpu/%.fatbin build/gpu/%.compute_80.ptx build/gpu/%.compute_90.ptx: %.cu $(NVCC_FLAGS_FILE)
	@mkdir -p $(@D)/kept
	@[ $(V) = 1 ] || echo "  NVCC $<"
	$(Q)$(NVCC) $(NVCC_FLAGS) -Xptxas -v -MMD -MP -MF build/gpu/$*.d --keep --keep-dir $(@D)/kept \
	    -fatbin \
	    -o build/gpu/$*.fatbin $< 2>build/gpu/$*.ptxas || { cat build/gpu/$*.ptxas; exit 1; }
	$(Q)mv $(@D)/kept/$(*F).*.ptx $(@D) && rm -f $(@D)/kept/$(*F).*
# This file is replaced when nvcc is installed or removed, and its readers are rebuilt.
NVCC_FILE := $(BUILD)/$(if $(NVCC),with,without)-nvcc
$(NVCC_FILE):
	@mkdir -p $(@D) && rm -f $(BUILD)/with-nvcc $(BUILD)/without-nvcc && touch $@
$(BUILD)/models/gpu/images.o: $(NVCC_FILE)
ifneq ($(NVCC),)
NVCC_VERSION = $(shell $(NVCC) --version | sed -n 's/.*release \([0-9]*\)\.\([0-9]\).*/\10\20/p')
$(BUILD)/models/gpu/images.o: $(FATBIN)
$(BUILD)/models/gpu/images.o: CPPFLAGS += -DSPEC_IMAGES='"build/gpu/models/gpu/"' \
    -DSPEC_IMAGES_VERSION=$(NVCC_VERSION)
endif

# One test holds names, parameters and numbers against the toolkit's, where there is one.
TOOLKIT := $(if $(NVCC),$(patsubst %/bin/nvcc,%,$(realpath $(shell command -v $(NVCC)))))
$(BUILD)/tests/models/gpu/test_driver_names.o: $(NVCC_FILE)
$(BUILD)/tests/models/gpu/test_driver_names.o: CPPFLAGS += $(if $(wildcard \
    $(TOOLKIT)/include/cuda.h), \
    -isystem $(TOOLKIT)/include -DSPEC_STUBS='"$(TOOLKIT)/lib64/stubs/libcuda.so"')

# The simulated driver (tests/simulator) with these kernels, compiled by gcc. The planted kernels
# have one mistake each, which the simulator must find. The watched ones check each memory access
# for races and array bounds. The PTX ones interpret the code that nvcc made.
SIMULATOR  := $(BUILD)/tests/simulator
SIMULATORS := $(addprefix $(SIMULATOR)/,libcuda.so libplanted.so libplanted_watched.so $(if \
    $(NVCC),libplanted_ptx.so))
SIM_FLAGS   = -std=c11 -Wall -Wextra -Wno-unused-function -ffp-contract=off -fPIC -Iinclude -I. \
    -D_GNU_SOURCE $(LIB_CPPFLAGS)
# gcc compiles it, because clang's address sanitizer does not guard arrays in named sections. The
# sanitizer's runtime is in the test program.
SIM_SHARED := $(if $(findstring address,$(CFLAGS_$(CONFIG))),-fsanitize-sections='simt_shared*')
SIM_KERNEL  = $(SIM_FLAGS) -DSIMT_SECTION=simt_shared_$(*F)_
SIM_DRIVER := $(patsubst %.c,$(BUILD)/sim/%.o,$(filter-out %/kernel_table.c,$(wildcard \
    tests/simulator/*.c)))
# The sanitizers leave the simulator optimised. Its matrix product, arithmetic on local copies, is
# not sanitized: it would take half of the time.
$(SIM_DRIVER): CFLAGS_asan += -O3
$(BUILD)/sim/tests/simulator/warp_product.o: CFLAGS_asan := $(CFLAGS_release)
# Its vectors are arguments of inlined functions only.
$(BUILD)/sim/tests/simulator/warp_product.o: CFLAGS += -Wno-psabi
SIM_WATCH  := $(BUILD)/sim/tests/simulator/watched/access_watch.o
SIM_TABLE  := $(BUILD)/sim/tests/simulator/kernel_table.o
SIM_PLANTED_TABLE := $(BUILD)/sim/tests/simulator/planted/planted_table.o
PLANTED    := $(wildcard tests/simulator/planted/*.cu)
SIM_PTX    := $(patsubst %.c,$(BUILD)/sim/%.o,$(filter-out %/ptx_texts.c,$(wildcard \
    tests/simulator/ptx/*.c)))
SIM_TEXTS  := $(BUILD)/sim/tests/simulator/ptx/ptx_texts.o
SIM_PLANTED_TEXTS := $(BUILD)/sim/tests/simulator/planted/planted_texts.o
ptx_of      = $(foreach source,$(1:.cu=),build/gpu/$(source).compute_80.ptx \
    build/gpu/$(source).compute_90.ptx)
$(SIM_TEXTS): $(call ptx_of,$(KERNELS))
$(SIM_PLANTED_TEXTS): $(call ptx_of,$(PLANTED))
$(BUILD)/sim/%.o: %.c | libraries-to-build
	@mkdir -p $(@D)
	@[ $(V) = 1 ] || echo "  CC $<"
	$(Q)$(CACHE) $(GCC) $(SIM_FLAGS) $(CFLAGS_$(CONFIG)) $(CFLAGS) -MMD -MP -c -o $@ $<
$(BUILD)/sim/%.o: %.cu | libraries-to-build
	@mkdir -p $(@D)
	@[ $(V) = 1 ] || echo "  CC $<"
	$(Q)$(CACHE) $(GCC) $(SIM_KERNEL) $(CFLAGS_$(CONFIG)) $(CFLAGS) $(SIM_SHARED) -MMD -MP -c \
	    -o $@ -x c $<
$(BUILD)/watched/%.o: %.cu | libraries-to-build
	@mkdir -p $(@D)
	@[ $(V) = 1 ] || echo "  CC $< (watched)"
	$(Q)$(CACHE) $(GCC) $(SIM_KERNEL) -O1 -g -fsanitize=thread -MMD -MP -c -o $@ -x c $<
$(SIMULATOR)/libcuda.so: $(SIM_DRIVER) $(SIM_TABLE) $(KERNELS:%.cu=$(BUILD)/sim/%.o)
$(SIMULATOR)/libcuda_watched.so: $(SIM_DRIVER) $(SIM_TABLE) $(SIM_WATCH) \
    $(KERNELS:%.cu=$(BUILD)/watched/%.o)
$(SIMULATOR)/libcuda_ptx.so: $(SIM_DRIVER) $(SIM_TABLE) $(KERNELS:%.cu=$(BUILD)/sim/%.o) \
    $(SIM_PTX) \
    $(SIM_TEXTS)
$(SIMULATOR)/libplanted_ptx.so: $(SIM_DRIVER) $(SIM_PLANTED_TABLE) \
    $(PLANTED:%.cu=$(BUILD)/sim/%.o) $(SIM_PTX) \
    $(SIM_PLANTED_TEXTS)
$(SIMULATOR)/libplanted.so: $(SIM_DRIVER) $(SIM_PLANTED_TABLE) $(PLANTED:%.cu=$(BUILD)/sim/%.o)
$(SIMULATOR)/libplanted_watched.so: $(SIM_DRIVER) $(SIM_PLANTED_TABLE) $(SIM_WATCH) \
    $(PLANTED:%.cu=$(BUILD)/watched/%.o)
$(SIMULATORS) $(SIMULATOR)/libcuda_watched.so $(SIMULATOR)/libcuda_ptx.so:
	@mkdir -p $(@D)
	@[ $(V) = 1 ] || echo "  SO $@"
	$(Q)$(GCC) -shared -o $@ $^ -ldl -lm

$(LIB): $(LIB_OBJ)
	@[ $(V) = 1 ] || echo "  AR $@"
	$(Q)rm -f $@ && ar rcs $@ $^

$(LIVE): $(LIVE_OBJ)
	@[ $(V) = 1 ] || echo "  AR $@"
	$(Q)rm -f $@ && ar rcs $@ $^

$(LIB_SO): $(LIB_OBJ)
	@[ $(V) = 1 ] || echo "  SO $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(@F) -o $@ $^ $(LDLIBS)

# The library for other programs exports the functions of include/speclab/speclab.h alone. The tests
# link with $(LIB_SO), which exports all.
LIBRARY := $(BUILD)/library/libspeclab.so.$(VERSION)
SONAME  := libspeclab.so.1
API_OBJ := $(filter $(BUILD)/api/%,$(LIB_OBJ))
UNDEFINED := $(if $(findstring sanitize,$(CFLAGS_$(CONFIG))),,-Wl,-z,defs)
$(LIBRARY): $(API_OBJ) $(LIB) packaging/libspeclab.map packaging/speclab.pc.in
	@[ $(V) = 1 ] || echo "  SO $@"
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(SONAME) $(UNDEFINED) \
	    -Wl,--version-script=packaging/libspeclab.map -o $@ $(API_OBJ) $(LIB) $(LDLIBS)
	$(Q)ln -sf $(@F) $(@D)/$(SONAME) && ln -sf $(SONAME) $(@D)/libspeclab.so
	$(Q)sed 's/@VERSION@/$(VERSION)/; s|@LIBS@|$(LDLIBS) -lgomp|' packaging/speclab.pc.in \
	    >$(@D)/speclab.pc

.PHONY: library
library: $(LIBRARY) ## build libspeclab, shared and static, with its pkg-config file
	@:

# Tests under the sanitizer start it thousands of times, and addresses that are fixed need not be
# relocated.
$(BIN): LDFLAGS += $(if $(filter asan,$(CONFIG)),-no-pie)
$(BIN): $(CLI_OBJ) $(LIVE) $(LIB)
	@[ $(V) = 1 ] || echo "  LD $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# The program with the libraries inside, for any Linux whose glibc is not older than this one.
# PORTABLE.packages lists the packages of these.
PORTABLE := $(BUILD)/portable/speclab
$(PORTABLE): $(CLI_OBJ) $(LIVE) $(LIB)
	@mkdir -p $(@D)
	@[ $(V) = 1 ] || echo "  LD $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -s -o $@ $^ $(filter -L%,$(LIB_LDLIBS)) -Wl,--as-needed \
	    -Wl,-Bstatic $(filter-out -lm,$(filter -l%,$(LIB_LDLIBS))) -lgomp -Wl,-Bdynamic -lm \
	    -Wl,--dependency-file=$@.inputs
	$(Q)packaging/linked.sh $(SYSROOT) <$@.inputs >$@.packages

# The program that this machine runs: man pages and the Python package have what its --help says.
HERE := $(BIN)
ifeq ($(CONFIG),arm64)
HERE := build/release/speclab
build/release/speclab: force
	@$(MAKE) --no-print-directory CONFIG=release all
endif

# The program for several processes: the same, but for one file of cli/.
MPICC   := mpicc
MPI_BIN := $(if $(shell command -v $(MPICC)),$(BUILD)/speclab-mpi)
$(BUILD)/mpi/%.o: mpi/%.c $(FLAGS_FILE)
	@mkdir -p $(@D)
	@[ $(V) = 1 ] || echo "  CC $<"
	$(Q)OMPI_CC=$(CC) MPICH_CC=$(CC) $(MPICC) $(CPPFLAGS) $(LIB_CPPFLAGS) $(ALL_CFLAGS) -MMD \
	    -MP -c -o $@ $<
$(BUILD)/speclab-mpi: $(filter-out %/team_alone.o,$(CLI_OBJ)) $(BUILD)/mpi/team_mpi.o $(LIVE) $(LIB)
	@[ $(V) = 1 ] || echo "  LD $@"
	$(Q)OMPI_CC=$(CC) MPICH_CC=$(CC) $(MPICC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# A target that first installs a tool builds what needs it by a make of its own. Files that both
# makes need are built before: they would write them side by side.
.PHONY: mpi
mpi: $(CLI_OBJ) $(LIB) ## build speclab-mpi, which divides a grid among MPI ranks
	@.ci/libraries mpi
	@$(MAKE) --no-print-directory $(BUILD)/speclab-mpi

include web/web.mk
include web/page.mk

# Plug-ins are built as users build theirs, without sanitizers.
PLUGINS := $(patsubst %.c,$(BUILD)/%.so,$(wildcard tests/plugins/*.c))
$(BUILD)/tests/plugins/%.so: tests/plugins/%.c include/speclab/sampler.h
	@mkdir -p $(@D)
	@[ $(V) = 1 ] || echo "  SO $<"
	$(Q)$(GCC) -std=c99 -Wall -Wextra -Wpedantic -O2 -g -Iinclude -fPIC -shared -o $@ $< -ldl

# Processes that speak speclab's protocol: programs of one file.
CLIENTS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/clients/*.c))
$(BUILD)/tests/clients/%: tests/clients/%.c
	@mkdir -p $(@D)
	@[ $(V) = 1 ] || echo "  LD $@"
	$(Q)$(GCC) -std=c99 -Wall -Wextra -Wpedantic -O2 -g -o $@ $<

# Lets allocations of the program fail, one by one.
OOM := $(BUILD)/tests/oom
$(OOM)/failing_alloc.so: tests/oom/failing_alloc.c
	@mkdir -p $(@D)
	@[ $(V) = 1 ] || echo "  SO $<"
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -O2 -g -fPIC -shared -o $@ $< -ldl
$(OOM)/oom_check: tests/oom/oom_check.c
	@mkdir -p $(@D)
	@[ $(V) = 1 ] || echo "  LD $@"
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -O2 -g -o $@ $<

# Measures a card; a test runs it on the simulator.
BENCH_GPU := $(BUILD)/tests/bench/gpu/bench_gpu
$(BENCH_GPU): $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/bench/gpu/*.c) \
    tests/support/contexts.c) | $(LIB_SO)
	@[ $(V) = 1 ] || echo "  LD $@"
	$(Q)$(link_shared)

# One program for the tests of a folder: build/release/tests/sim/verify/test.
$(TESTS): | $(PLUGINS) $(CLIENTS)
$(BUILD)/tests/cli/test: | $(MPI_BIN)
# Modules of cli/ that tests call; the other tests run the program.
$(BUILD)/tests/cli/test: $(patsubst %,$(BUILD)/cli/%.o,option_hints report/html_text share \
    figures/gnuplot)
$(TEST_OBJ) $(SUPPORT_OBJ): | libraries-to-test
# Without optimisation they compile in half of the time and take as long.
$(TEST_OBJ) $(SUPPORT_OBJ): CFLAGS_release := $(TEST_FLAGS)
# Undefined behaviour is checked in the product, not in its tests.
$(TEST_OBJ) $(SUPPORT_OBJ): CFLAGS_asan := -O0 -g1 -fsanitize=address -fno-omit-frame-pointer
$(TEST_OBJ) $(SUPPORT_OBJ): CFLAGS_arm64 := $(TEST_FLAGS)
link_shared = $(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ -Wl,-rpath,$(abspath $(BUILD)) $(LIB_SO) \
    $(LDLIBS)
link_tests = $(link_shared) -lcmocka
$(foreach d,$(dir $(TESTS)),$(eval $(d)test: $(filter $(d)test_%.o,$(TEST_OBJ))))
$(TESTS): $(SUPPORT_OBJ) | $(LIB_SO)
	@[ $(V) = 1 ] || echo "  LD $@"
	$(Q)$(link_tests)
# One suite can be a program, too: build/release/tests/models/gpu/test_card.
$(TEST_OBJ:.o=): %: %.o $(SUPPORT_OBJ) | $(LIB_SO)
	@[ $(V) = 1 ] || echo "  LD $@"
	$(Q)$(link_tests)

$(filter $(BUILD)/tests/tools/live/%,$(TESTS) $(TEST_OBJ:.o=)): $(LIVE)

# The engine's tests, which the thread sanitizer is for.
ENGINE := $(patsubst %,$(BUILD)/tests/%.o,sim/test_montecarlo sim/test_sources \
    sim/test_acceptance base/test_parallel base/test_thread_pool api/test_lab \
    models/transformer/engine/test_attention models/transformer/engine/test_kv_cache)
$(BUILD)/tests/engine: $(ENGINE) $(SUPPORT_OBJ) | $(LIB_SO)
	@[ $(V) = 1 ] || echo "  LD $@"
	$(Q)$(link_tests)
# Programs with tests on the simulated GPU, and the options that choose these.
GPU_TESTS := $(patsubst %,$(BUILD)/%test,$(sort $(dir $(shell grep -l 'SUITE.SIMULATOR' \
    $(filter-out tests/cli/%,$(TEST_SRC))))))
ON_GPU    := --tag simulator $(GPU_TESTS)
SIMULATED := $(GPU_TESTS) $(SIMULATORS) $(BENCH_GPU)
ARM64_TESTS := $(filter $(patsubst %,$(BUILD)/tests/%,base/% models/% sim/% analysis/%),$(TESTS))

.PHONY: tests
tests: $(TESTS) $(BIN)

# Each step begins when the one before has passed; a step's own work is divided over processors.
.PHONY: check check-all check-rest
check: ## install what is missing, build, and pass the everyday tests, in three minutes
	@.ci/libraries build tests run
	@.ci/libraries check || echo "check: what needs these is not checked"
	@$(MAKE) --no-print-directory --output-sync layers lines
	@$(MAKE) --no-print-directory unit
	@$(MAKE) --no-print-directory docs
check-all: ## check, the slow tests, and what takes longer: kernels, installation, resuming
	@$(MAKE) --no-print-directory check
	@$(MAKE) --no-print-directory slow-check
	@$(MAKE) --no-print-directory check-rest
check-rest:
	@$(MAKE) --no-print-directory --output-sync kernels docs-slow installed libm musl resume \
	    verdicts-check
	@$(MAKE) --no-print-directory oom-check-quick

# Experiments whose rows show no checked column, and some with many rows per point.
RESUMED := ahead_text block block_rules draft_or_verify rules_real_text temperature_rules \
    traversal trees positional_decay
.PHONY: resume
resume: $(BIN) ## cut small results of some experiments, resume them and compare
	@tests/resume.sh $(BIN) $(RESUMED)

OOM_NEEDS := $(BIN) $(OOM)/oom_check $(OOM)/failing_alloc.so $(BUILD)/tests/clients/token_client
.PHONY: oom-check oom-check-quick
oom-check: $(OOM_NEEDS) ## let an allocation fail for each chain of callers, in two minutes
	@$(OOM)/oom_check $(BIN) $(OOM)/failing_alloc.so
oom-check-quick: $(OOM_NEEDS)
	@$(OOM)/oom_check -q $(BIN) $(OOM)/failing_alloc.so

.PHONY: valgrind
valgrind: $(BUILD)/tests/clients/token_client
valgrind: $(BIN) $(OOM)/oom_check ## run commands of every verb under valgrind, in two minutes
	@.ci/libraries valgrind
	@$(OOM)/oom_check $(BIN) valgrind

.PHONY: musl
musl: ## compile every source with the headers of musl, which lack what only glibc has
	@tests/musl.sh

.PHONY: libm
libm: $(BIN) ## compare results with and without the FMA versions of exp, log and others
	@tests/libm.sh $(BIN)

.PHONY: installed
installed: $(BIN) $(LIBRARY) $(OOM)/failing_alloc.so ## install and uninstall; test the library
	@tests/install.sh $(BIN)
	@tests/library/abi.sh $(LIBRARY)
	@tests/library/library.sh $(BIN) $(OOM)/failing_alloc.so

.PHONY: kernels
kernels: $(if $(NVCC),$(FATBIN)) ## check that nvcc spilled no registers of GPU kernels
	@tests/gpu.sh $(if $(NVCC),$(FATBIN:.fatbin=.ptxas))

# It validates samplers in three languages for over a minute.
SLOW_DOCS := docs/conformance.md
.PHONY: docs docs-slow
docs: $(BIN) $(LIBRARY) ## check links, map, site, man pages; run the documents' commands
	@if command -v pandoc >/dev/null; then \
	    $(MAKE) --no-print-directory site FULL= SITE=build/site-text; fi
	@tests/links.sh
	@tests/map.sh --check
	@tests/man.sh $(BIN)
	@tests/engines.sh --check $(BIN)
	@tests/docs.sh $(BIN) $(filter-out docs/library.md docs/python.md $(SLOW_DOCS),$(shell \
	    grep -l '^...console$$' README.md docs/*.md docs/formulas/*.md))
	@tests/library/docs.sh $(BIN) docs/library.md
docs-slow: $(BIN)
	@tests/docs.sh $(BIN) $(SLOW_DOCS)

.PHONY: findings
findings: $(BIN) ## list findings whose inputs changed; CONFIRM="NAME..." after a review
	@experiments/findings.sh $(abspath $(BIN)) $(CONFIRM)

# `make gpu-check` has the simulated GPU's tests, except those of the command line; `make
# served-check` has those that judge a server for minutes.
.PHONY: unit slow-check
unit: tests ## build and run the everyday unit tests (CONFIG=asan)
	@SPECLAB=$(BIN) tests/run.sh --skip-tag driver,simulator,server,slow $(TESTS)
slow-check: tests $(SIMULATED) ## run the slow unit tests
	@SPECLAB=$(BIN) tests/run.sh --tag slow --skip-tag driver,simulator,server $(TESTS)
	@SPECLAB=$(BIN) tests/run.sh --tag simulator $(BUILD)/tests/cli/test
	@tests/changed.sh --record slow $(slow_paths)

.PHONY: check-long
check-long: tests $(SIMULATED)
check-long: ## unit tests with samples 20 times as large, and all GPU kernel tests
	@SPECLAB=$(BIN) SPEC_TEST_LONG=20 tests/run.sh $(TESTS)
	@$(MAKE) --no-print-directory gpu-full

# clang 14's leak check crashes now and then where it follows thread-local memory of libraries that
# a program opens.
ifeq ($(CONFIG),asan)
export ASAN_OPTIONS ?= intercept_tls_get_addr=0
endif

.PHONY: sanitize
sanitize: ## the tests under the address, undefined and thread sanitizers
	@.ci/libraries build tests run sanitize
	@$(MAKE) --no-print-directory CONFIG=asan unit
	@$(MAKE) --no-print-directory CONFIG=tsan engine

.PHONY: gpu-check gpu-full
gpu-check: ## tests of the simulated GPU: sanitizers, other orders, races, nvcc's code
	@.ci/libraries build tests sanitize
	@$(MAKE) --no-print-directory CONFIG=asan gpu-reverse
	@$(MAKE) --no-print-directory gpu-races-quick
	@$(MAKE) --no-print-directory gpu-ptx-quick
	@$(MAKE) --no-print-directory card-dry
	@tests/changed.sh --record gpu $(gpu_paths)
gpu-full: gpu-check ## and all of them with a check for races and on nvcc's code: half an hour
	@$(MAKE) --no-print-directory gpu-races
	@$(MAKE) --no-print-directory gpu-ptx

# The simulated GPU runs threads, blocks and streams in another order than in the unit tests, and
# can watch each memory access.
GPU_QUICK := --only launch_columns,launch_product,sampling_gpu,backend_gpu,passes_gpu \
    $(BUILD)/tests/models/gpu/test
.PHONY: gpu-reverse
gpu-reverse: $(SIMULATED)
	@tests/run.sh --tag driver $(BUILD)/tests/models/gpu/test
	@SIM_ORDER=reverse SIM_SEED=1 tests/run.sh $(ON_GPU)

.PHONY: gpu-races gpu-races-quick
gpu-races gpu-races-quick: $(SIMULATED) $(SIMULATOR)/libcuda_watched.so
gpu-races: ## GPU kernel tests, with a check for races
	@SIM_LIBRARY=libcuda_watched.so SIM_ORDER=shuffled tests/run.sh $(ON_GPU)
gpu-races-quick:
	@tests/run.sh --tag driver $(BUILD)/tests/models/gpu/test
	@SIM_LIBRARY=libcuda_watched.so SIM_ORDER=shuffled tests/run.sh $(GPU_QUICK)

# The code that nvcc made runs in place of gcc's, for capabilities 9.0 and 8.0, or beside it in
# tests that are short.
PTX_QUICK := --only card,card_recordings,transformer_gpu $(BUILD)/tests/models/gpu/test
.PHONY: gpu-ptx gpu-ptx-quick
ifneq ($(NVCC),)
gpu-ptx gpu-ptx-quick: $(SIMULATED) $(SIMULATOR)/libcuda_ptx.so
gpu-ptx: ## GPU kernel tests on nvcc's code
	@SIM_LIBRARY=libcuda_ptx.so tests/run.sh $(ON_GPU)
	@SIM_LIBRARY=libcuda_ptx.so SIM_CAPABILITY=8.0 SIM_ORDER=reverse SIM_SEED=1 tests/run.sh \
	    $(ON_GPU)
gpu-ptx-quick:
	@SIM_LIBRARY=libcuda_ptx.so tests/run.sh $(PTX_QUICK)
	@SIM_LIBRARY=libcuda_ptx.so SIM_COMPARE=2 tests/run.sh $(GPU_QUICK)
else
gpu-ptx:
	@echo "gpu-ptx: skipped: there is no nvcc"
gpu-ptx-quick: gpu-ptx
endif

# What runs on a machine with a GPU and without compilers: docs/gpu.md. On the simulated GPU the
# same script runs with tiny shapes.
CARD := build/card
.PHONY: card card-dry
card: $(BIN) $(LIB_SO) $(SIMULATED) ## pack what a machine with a GPU runs: build/card
	@tests/card/pack.sh $(CARD) $(BUILD) $(BIN) $(LIB_SO) $(BENCH_GPU) $(GPU_TESTS) \
	    $(SIMULATOR)/libcuda.so
card-dry: card
	@CARD_DRY=1 OUT=$(CARD)/out $(CARD)/run.sh

# libomp with Archer reports barriers to the sanitizer; the code of libomp itself is not
# instrumented.
.PHONY: engine
engine: $(BUILD)/tests/engine
	@TSAN_OPTIONS="ignore_noninstrumented_modules=1 die_after_fork=0" tests/run.sh $<

.PHONY: arm64-check arm64-packages arm64-tests
RUNNER ?= qemu-aarch64-static -L $(SYSROOT)
arm64-check: ## build for arm64, test under qemu and compare results
	@tests/arm64.sh
arm64-packages: ## build the tarball, wheel and Debian packages for arm64; try them under qemu
	@.ci/libraries emulator
	@$(MAKE) --no-print-directory CONFIG=arm64 tarball wheel deb
	@$(MAKE) --no-print-directory CONFIG=release all library
	@tests/arm64_packages.sh $(VERSION)
arm64-tests: $(ARM64_TESTS) $(BIN)
	@RUNNER="$(RUNNER)" tests/run.sh --skip-tag simulator,driver $(ARM64_TESTS)

.PHONY: layers
layers: ## check the dependency rule of the folders, and the number of parameters
	@tests/layers.sh

.PHONY: map
map: ## print docs/map.md: every folder and header with its line
	@tests/map.sh

.PHONY: lines
lines: ## check the length of lines, and that every source names its licence
	@tests/lines.pl

.PHONY: libraries
libraries: ## install what the build, the tests and the figures need
	@.ci/libraries build tests run

.PHONY: demo
demo: ## prove, simulate, sweep and plot into out/report.md, in 90 s (TEXT=FILE)
	@.ci/libraries build run
	@$(MAKE) --no-print-directory all
	@cli/demo.sh $(BIN) out $(call quoted,TEXT)

BENCH_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/bench/*.c) \
    tests/support/contexts.c tests/support/random_blocks.c)
$(BUILD)/tests/bench/bench: $(BENCH_OBJ) $(LIB) | $(PLUGINS) $(CLIENTS)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/tests/peers/pass_shell: $(BUILD)/tests/peers/pass_shell.o \
    $(BUILD)/tests/support/contexts.o $(LIB)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

.PHONY: bench
bench: $(BUILD)/tests/peers/pass_shell
bench: $(BUILD)/tests/bench/bench ## measure speed, as ratios to yardsticks of the same run
	@$(BUILD)/tests/bench/bench
	@if [ -n "$$PEERS" ]; then tests/peers/peers.py --bench $(BIN); \
	    else echo "bench: llama.cpp: skipped: PEERS names no folder (docs/testing.md)"; fi


.PHONY: bench-gpu
bench-gpu: $(BENCH_GPU) ## measure an NVIDIA GPU and its passes into CSV=bench-gpu.csv
	@$(BENCH_GPU) $(if $(value CSV),$(call quoted,CSV),bench-gpu.csv)

.PHONY: gpu-report
gpu-report: $(if $(NVCC),$(FATBIN)) ## registers, shared memory and occupancy of GPU kernels
	@tests/gpu_report.sh build/gpu/models/gpu

FUZZERS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_SECONDS ?= 600
.PHONY: fuzz
fuzz: ## fuzz the parsers side by side, FUZZ_SECONDS=600 each (clang)
	@.ci/libraries build sanitize
	@$(MAKE) --no-print-directory CONFIG=asan run-fuzzers

$(FUZZERS:=.o): COUNTED = $(COUNT_$(CONFIG))
$(BUILD)/tests/fuzz/fuzz_served $(BUILD)/tests/fuzz/fuzz_drive: $(LIVE)
$(BUILD)/tests/fuzz/%: $(BUILD)/tests/fuzz/%.o $(LIB)
	@[ $(V) = 1 ] || echo "  LD $@"
	$(Q)$(CC) $(ALL_CFLAGS) -fsanitize=fuzzer $(LDFLAGS) -o $@ $(filter-out $(LIB),$^) $(LIB) \
	    $(LDLIBS)

.PHONY: run-fuzzers
run-fuzzers: $(FUZZERS)
	@tests/fuzz.sh $(FUZZ_SECONDS) $(BUILD) $(FUZZERS)

.PHONY: mutate mutate-sample
mutate: tests $(SIMULATED) ## break the rules and formulas line by line; count breaks that tests see
	@python3 tests/mutate/mutate.py
mutate-sample: tests $(SIMULATED) ## break 300 lines of all folders; run the tests that reach each
	@python3 tests/mutate/mutate.py --sample 300

# The Python package: pure Python over the library. Its folders are below build/python.
.PHONY: wheel python-check python-quick python-docs
wheel: $(LIBRARY) $(BIN) $(PORTABLE) man ## the Python package with the program, build/python/*.whl
	@.ci/libraries wheel
	@python/wheel.sh build/python$(SYSROOT:%=-arm64) $(VERSION) $(LIBRARY) $(BIN) $(PORTABLE) \
	    $(HERE) $(MACHINE) $(SYSROOT)
python-check: wheel $(BIN) ## install the wheel into an empty virtual environment, and test it
	@python/check.sh $(VERSION) $(LIBRARY) $(BIN)
	@tests/changed.sh --record python $(python_paths)
python-quick: $(LIBRARY) $(BIN) ## test the Python package on this build's library
	@python/check.sh --quick $(VERSION) $(LIBRARY) $(BIN)
python-docs: wheel $(BIN)
	@python/check.sh --update $(VERSION) $(LIBRARY) $(BIN)

# The offline check repeats the ports of docs/verdicts.md, and compares its text with the results.
.PHONY: verdicts verdicts-check
verdicts: $(BIN) ## validate engines' samplers into docs/verdicts.md: 6 GB of disk (ONLY=NAMES)
	@tests/verdicts/verdicts.py $(if $(value ONLY),--only $(call quoted,ONLY)) $(BIN)
verdicts-check: $(BIN)
	@if command -v python3 >/dev/null; then tests/verdicts/verdicts.py --check $(BIN); \
	    else echo "verdicts-check: skipped: there is no python3"; fi

# Models, types and tokens beside transformers and llama.cpp; PEERS=DIR has both installed.
.PHONY: peers-check
peers-check: $(BIN) ## compare with transformers and llama.cpp: 6 GB (ONLY=NAMES, PEERS=DIR)
	@.ci/libraries peers
	@tests/peers/peers.py $(BIN) $(value ONLY)

.PHONY: served-check
served-check: $(BIN) $(BUILD)/tests/tools/live/test ## judge faulty servers and a real llama-server
	@.ci/libraries peers
	@tests/run.sh --tag server $(BUILD)/tests/tools/live/test
	@tests/tools/live/served_check.py $(BIN)
	@tests/tools/live/drive_check.py $(BIN)
	@tests/changed.sh --record served $(served_paths)

.PHONY: man
man: $(HERE) ## man pages in build/man, from --help
	@cli/man.sh $(HERE) build/man

# The site: a page of each document and man page, and what docs/site adds. With FULL= it has no
# pictures in its gallery, and no lab.
SITE := build/site
FULL ?= 1
.PHONY: site
site: man ## the documents as a folder of pages, build/site, with gallery and lab (FULL=: without)
	@.ci/libraries site $(if $(FULL),run)
	$(if $(FULL),@$(MAKE) --no-print-directory web)
	$(if $(FULL),@docs/site/gallery.py $(BIN) build/site-gallery)
	@python/program_verbs.py $(BIN) >build/program.py
	@docs/site/site.py $(SITE) build/man build/site-parts $(if $(FULL),build/site-gallery $(PAGE))
	@tests/site.py $(SITE)

define line_break


endef
INSTALLER = $(if $(findstring $(line_break),$(value DESTDIR)$(value PREFIX)),$(error DESTDIR or \
    PREFIX has a line break)) \
    DESTDIR=$(call quoted,DESTDIR) PREFIX=$(call quoted,PREFIX) LIBDIR=$(call quoted,LIBDIR) \
    cli/install.sh

.PHONY: install
install: $(BIN) $(LIBRARY) man ## install under PREFIX (/usr/local), below DESTDIR; LIBDIR=DIR
	@$(INSTALLER) install $(BIN)

.PHONY: uninstall
uninstall: ## remove what install put there
	@$(INSTALLER) uninstall $(BIN)

# The same files give the same bytes: they have the time of the last commit.
TARBALL := build/speclab-$(VERSION)-linux-$(MACHINE)
.PHONY: tarball
tarball: $(BIN) $(LIBRARY) $(PORTABLE) man ## the program for any Linux, build/speclab-*.tar.gz
	@packaging/portable.sh $(TARBALL) $(BIN) $(PORTABLE)
	@tar -C build --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
	    --mtime=@$$(git log -1 --format=%ct) -c $(notdir $(TARBALL)) | gzip -9n >$(TARBALL).tar.gz
	@rm -r $(TARBALL) && ls -sh $(TARBALL).tar.gz

# Debian packages are built in a copy of the source tree.
.PHONY: deb
deb: $(if $(SYSROOT),$(HERE)) ## Debian packages in build/deb (DEB_BUILD_OPTIONS= runs their tests)
	@.ci/libraries $(if $(SYSROOT),arm64,build) deb
	@packaging/deb.sh build/deb$(SYSROOT:%=-arm64) $(VERSION) $(if $(SYSROOT),$(HERE) $(SYSROOT))

.PHONY: deb-check
deb-check: deb ## install, use and purge the Debian packages in a clean chroot, as root
	@.ci/libraries deb-check chroot
	@tests/deb.sh build/deb build/chroot
	@tests/changed.sh --record deb $(deb_paths)

# Built in a clean clone, not in this tree.
.PHONY: release release-check
release: ## what a release has, with SBOM and SHA256SUMS: build/release-VERSION (REF=TAG)
	@.ci/libraries build wheel web deb
	@packaging/release.sh build $(if $(value REF),$(call quoted,REF),HEAD)
release-check: release ## build it again in another folder: the same bytes; validate the SBOM
	@packaging/release_check.sh build $(if $(value REF),$(call quoted,REF),HEAD)

.PHONY: fresh-check
fresh-check: ## try the documents' first commands in an empty Debian, as root
	@.ci/libraries chroot
	@tests/fresh.sh build/chroot
	@tests/changed.sh --record fresh $(fresh_paths)

# Long checks, which CI runs as `make web-changed` when these files have changed since the check
# last passed (docs/testing.md, Checks that are remembered). In a document only the commands count.
# Files and tokenizers are left out for the GPU, whose tests read weights from memory.
slow_paths   := Makefile analysis api base cli experiments include models mpi plots sim tests \
    tools
gpu_paths    := models/gpu models/transformer/engine models/transformer/kernels \
    $(wildcard sim/*device* sim/decode*.[ch]) sim/draft sim/verify tests/models/gpu \
    $(wildcard tests/sim/test_*gpu* tests/sim/test_*device*) tests/simulator tests/card \
    tests/bench/gpu
served_paths := tools/live cli/verb_served.c cli/verb_drive.c tests/tools/live tools/validate/traces
web_paths    := web base api include cli/report tests/web tests/cli/report_oracle.py
python_paths := python api include packaging/libspeclab.map tests/python docs/python.md
deb_paths    := packaging cli/install.sh cli/man.sh tests/deb.sh tests/chroot.sh docs/packages.md
fresh_paths  := Makefile packaging web/web.mk web/sources.sh python/wheel.sh python/environment.sh \
    cli/install.sh .ci/libraries tests/fresh.sh tests/chroot.sh tests/docs.sh README.md \
    $(wildcard docs/*.md docs/formulas/*.md)
%-changed:
	@if tests/changed.sh $* $($*_paths); then $(MAKE) --no-print-directory $*-check; fi

.PHONY: clean
clean: ## remove everything that was built
	rm -rf build out

.PHONY: help
help: ## this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

# Kept for the next build. Without this list make would not notice the missing file of the commit,
# and results would name an old commit.
.SECONDARY: $(SUPPORT_OBJ) $(TEST_SRC:%.c=$(BUILD)/%.o) $(FUZZERS:%=%.o)
-include $(shell find build/$(CONFIG) build/gpu build/web -name '*.d' 2>/dev/null)
