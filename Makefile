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
LIBS    := gsl libconfig jansson
PKG     := $(if $(filter-out $(NEEDS_NOTHING),$(or $(MAKECMDGOALS),all)),$(LIBS))
NEEDS_NOTHING := help clean layers libraries demo check
CPPFLAGS += -Iinclude -I. -D_GNU_SOURCE -DSPEC_VERSION='"$(VERSION)"' $(if $(PKG),$(shell pkg-config --cflags $(LIBS)))
CFLAGS_release  := -O3 -g
CFLAGS_asan     := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
CFLAGS_tsan     := -O1 -g -fsanitize=thread
CFLAGS_coverage := -O0 -g --coverage
CFLAGS  ?=
ALL_CFLAGS = -std=c11 $(WARN) -fopenmp -ffp-contract=off $(CFLAGS_$(CONFIG)) $(CFLAGS)
LDLIBS  += $(if $(PKG),$(shell pkg-config --libs $(LIBS))) -lm

FOLDERS := models sim analysis experiments
LIB_SRC := $(foreach d,$(FOLDERS),$(wildcard $(d)/*.c $(d)/*/*.c))
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/%.o)
LIB     := $(BUILD)/libspeclab.a
CLI_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard cli/*.c))
BIN     := $(BUILD)/speclab
SUPPORT_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/support/*.c))
TEST_SRC := $(wildcard $(foreach d,$(FOLDERS) cli,tests/$(d)/test_*.c tests/$(d)/*/test_*.c))
TESTS   := $(TEST_SRC:%.c=$(BUILD)/%)

.PHONY: all
all: $(BIN) ## build the speclab program

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	@[ $(V) = 1 ] || echo "  CC $<"
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(ISA_$(lastword $(subst _, ,$(basename $<)))) -MMD -MP -c -o $@ $<

# Kernels for one instruction set are in files named *_avx2.c and *_avx512.c; elsewhere than x86-64 they compile to nothing.
ifneq ($(filter x86_64 amd64,$(shell uname -m)),)
ISA_avx2   := -mavx2
ISA_avx512 := -mavx512f -mavx512dq -mavx512vl -mavx512bw
endif

$(LIB): $(LIB_OBJ)
	@[ $(V) = 1 ] || echo "  AR $@"
	$(Q)rm -f $@ && ar rcs $@ $^

$(BIN): $(CLI_OBJ) $(LIB)
	@[ $(V) = 1 ] || echo "  LD $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/tests/%: $(BUILD)/tests/%.o $(SUPPORT_OBJ) $(LIB)
	@[ $(V) = 1 ] || echo "  LD $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS) -lcmocka

.PHONY: tests
tests: $(TESTS) $(BIN)

.PHONY: clean
clean: ## remove everything that was built
	rm -rf build out

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

.SECONDARY:
-include $(shell find build/$(CONFIG) -name '*.d' 2>/dev/null)
