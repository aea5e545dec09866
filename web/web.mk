# SPDX-License-Identifier: GPL-3.0-or-later
# The library as WebAssembly, for the web page: build/web/speclab.wasm (docs/page.md).
WASM := build/web

# ---- the sources of GSL and Jansson, which Debian has for this machine alone ----------------------

GSL_SOURCE := gsl 2.7.1+dfsg-5+deb12u1 \
    e560d6b9c6e254e46769bbb03583c00ecafbdd51b062c55db23b3b9612868567
JANSSON_SOURCE := jansson 2.14-2 c739578bf6b764aa0752db9a2fdadcfe921c78f1228c7ec0bb47fa804c55d17b
GSL := $(WASM)/sources/gsl
JANSSON := $(WASM)/sources/jansson/src

# The files that the library needs; the linker names a missing one.
GSL_SRC := $(filter-out $(GSL)/cblas/test%,$(wildcard $(GSL)/cblas/*.c)) $(patsubst %,$(GSL)/%.c,blas/blas \
    block/init complex/inline complex/math eigen/sort eigen/symmv qrng/inline qrng/qrng qrng/sobol \
    err/error err/stream err/strerror multimin/fminimizer multimin/simplex2 permutation/init \
    permutation/permute roots/brent roots/convergence roots/fsolver rng/inline rng/mt rng/rng \
    sort/sortvec sort/sortvecind sys/fcmp sys/fdiv sys/infnan sys/pow_int multifit/multilinear \
    multifit/work \
    $(addprefix cdf/,beta betainv chisq gamma gammainv gauss gaussinv tdist tdistinv) \
    $(addprefix linalg/,balance bidiag cholesky condest hh householder inline invtri svd symmtd trimult) \
    $(addprefix matrix/,copy getset init matrix rowcol submatrix swap view) \
    $(addprefix randist/,beta binomial_tpe chisq exponential gamma gauss gausszig geometric \
        multinomial poisson shuffle tdist) \
    $(addprefix specfunc/,beta elementary erfc exp expint gamma gamma_inc log pow_int psi trig \
        zeta) \
    $(addprefix statistics/,covariance lag1 mean median quantiles select variance) \
    $(addprefix vector/,copy init minmax oper subvector swap vector view))
JANSSON_SRC := $(filter-out %/pack_unpack.c %/version.c,$(wildcard $(JANSSON)/*.c))

# ---- objects -------------------------------------------------------------------------------------

# Without GPUs, other processes, threads, PCRE2 and validation; web/system has the few functions of
# these that the rest calls. Profiles of acceptance are read by a part of models/import.
WASM_ABSENT := models/gpu/% models/import/% tools/validate/% tools/tune/% \
    api/api_validate.c base/thread_pool.c base/progress.c base/terminal.c \
    tools/bench/machine_load.c models/transformer/tokenizer/tokenizer_bpe.c
WASM_SRC := $(filter-out $(WASM_ABSENT) %_avx2.c %_avx512.c %_vnni.c %_neon.c %_dotprod.c,$(LIB_SRC) \
    $(wildcard web/*.c web/system/*.c)) models/import/json_values.c
WASM_OBJ := $(WASM_SRC:%.c=$(WASM)/%.o) $(GSL_SRC:%.c=%.o) $(JANSSON_SRC:%.c=%.o)

# Headers of this machine must not be found. -msimd128 would halve the speed of Monte Carlo, whose
# 64-bit products WebAssembly's vectors lack.
WASM_CC := clang --target=wasm32-wasi -nostdlibinc -isystem /usr/include/wasm32-wasi \
    -D_WASI_EMULATED_SIGNAL -D_WASI_EMULATED_MMAN -D_WASI_EMULATED_GETPID \
    -D_WASI_EMULATED_PROCESS_CLOCKS -ffp-contract=off
WASM_CFLAGS := -std=c11 -Wall -Wno-unknown-pragmas -Werror=implicit-function-declaration -D_GNU_SOURCE -DSPEC_VERSION='"$(VERSION)"' -Iinclude -I. \
    -Iweb/system -isystem $(GSL)/include -isystem $(JANSSON) -include web/system/missing.h
# The rest is small rather than fast.
WASM_FAST := $(wildcard sim/*.c) sim/chance/% sim/draft/% sim/verify/% models/row% \
    models/model.c models/tabulate.c models/synthetic/% models/transformer/kernels/%
ifneq ($(filter web%,$(MAKECMDGOALS))$(findstring speclab.wasm,$(MAKECMDGOALS)),)
WASM_FLAGS := $(WASM_CC) $(WASM_CFLAGS) $(WASM_FAST)
ifneq ($(strip $(WASM_FLAGS)),$(strip $(if $(wildcard $(WASM)/flags),$(file <$(WASM)/flags))))
$(shell mkdir -p $(WASM))$(file >$(WASM)/flags,$(WASM_FLAGS))
endif
endif
$(WASM)/flags:
$(WASM)/%.o: %.c $(WASM)/flags
	@mkdir -p $(@D)
	@[ $(V) = 1 ] || echo "  WASM $<"
	$(Q)$(WASM_CC) $(if $(filter $(WASM_FAST),$<),-O3,-Os) $(WASM_CFLAGS) -MMD -MP -c -o $@ $<
$(WASM)/base/build_info.o: $(GIT_FILE)
$(WASM)/base/build_info.o: WASM_CFLAGS += $(if $(GIT),-DSPEC_GIT='"$(GIT)"')
$(GSL)/%.o: $(GSL)/%.c
	@[ $(V) = 1 ] || echo "  WASM $<"
	$(Q)$(WASM_CC) -O2 -w -I$(GSL) -I$(GSL)/include -c -o $@ $<
$(JANSSON)/%.o: $(JANSSON)/%.c
	@[ $(V) = 1 ] || echo "  WASM $<"
	$(Q)$(WASM_CC) -Os -w -DHAVE_STDINT_H -DINITIAL_HASHTABLE_ORDER=3 -I$(JANSSON) -c -o $@ $<

# ---- the module ----------------------------------------------------------------------------------

# clang runs wasm-opt itself if it links with -O, but without the options that it needs.
FORMULAS := $(patsubst %,speclab_%,emitted_mean emitted_variance accepted_probability speedup \
    speedup_from_emitted best_K best_speedup break_even_alpha ops_factor memory_factor)
$(WASM)/speclab.wasm: $(WASM_OBJ)
	@[ $(V) = 1 ] || echo "  LD $@"
	$(Q)clang --target=wasm32-wasi -mexec-model=reactor -o $@.linked $^ -lm -lwasi-emulated-mman \
	    -lwasi-emulated-signal -lwasi-emulated-getpid -lwasi-emulated-process-clocks \
	    -Wl,--gc-sections -Wl,--strip-all -Wl,--fatal-warnings -Wl,-z,stack-size=1048576 \
	    -Wl,--stack-first $(patsubst %,-Wl$(comma)--export=%,malloc free web_open web_close web_ask \
	    $(FORMULAS)) -Wl,--trace >$@.inputs
	$(Q){ packaging/linked.sh <$@.inputs; cat $(WASM)/sources/*.package; } >$@.packages
	$(Q)wasm-opt -O3 -o $@ $@.linked
	@printf '%s: %d bytes, %d compressed\n' $@ $$(wc -c <$@) $$(gzip -9 -c $@ | wc -c)
comma := ,

.PHONY: web
web: $(GIT_FILE) $(if $(MODEL),$(BIN)) ## build the web page, build/web/speclab.html; MODEL=FILE embeds a model
	@.ci/libraries web
	@web/sources.sh $(WASM)/sources $(GSL_SOURCE)
	@web/sources.sh $(WASM)/sources $(JANSSON_SOURCE)
	@$(MAKE) --no-print-directory page

# ---- the same answers on this machine ------------------------------------------------------------

WEB_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard web/*.c))
WEB_ASK := $(BUILD)/tests/web/ask
$(WEB_ASK): $(BUILD)/tests/web/ask.o $(WEB_OBJ) $(LIB)
	@[ $(V) = 1 ] || echo "  LD $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

.PHONY: web-check
web-check: web $(BIN) $(WEB_ASK) ## compare the module with this machine, and check the page in browsers
	@.ci/libraries web-check
	@tests/web/check.sh $(BIN) $(WEB_ASK) $(WASM)/speclab.wasm
	@tests/web/check_page.py $(PAGE) $(WASM)/speclab.wasm $(BIN)
	@tests/changed.sh --record web $(web_paths)
