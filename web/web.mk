# SPDX-License-Identifier: GPL-3.0-or-later
# The library for the web page, as WebAssembly, and its answers on this machine for tests.

WEB_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard web/*.c))
WEB_ASK := $(BUILD)/tests/web/ask
$(WEB_ASK): $(BUILD)/tests/web/ask.o $(WEB_OBJ) $(LIB)
	@[ $(V) = 1 ] || echo "  LD $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)
