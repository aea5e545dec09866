# SPDX-License-Identifier: GPL-3.0-or-later
# The web page around the module of web/web.mk: build/web/speclab.html (docs/page.md).
PAGE := $(WASM)/speclab.html

# It is written each time, because MODEL may have changed: 0.3 s.
.PHONY: page
page: $(WASM)/speclab.wasm $(if $(MODEL),$(BIN))
	@model=$(call quoted,MODEL); \
	case $$model in *.bin) \
	    gguf=$(WASM)/$$(basename "$$model" .bin).gguf; rm -f "$$gguf"; \
	    $(BIN) quantize "llama2c:$$model" "$$gguf" >/dev/null && model=$$gguf || exit;; \
	esac; \
	web/build $(PAGE) $< $${model:+"$$model"} && \
	echo "$(PAGE): $$(wc -c <$(PAGE)) bytes"
