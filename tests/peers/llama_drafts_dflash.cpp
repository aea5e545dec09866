/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The drafts of llama.cpp after token lists, for comparisons:
 *   llama_drafts TARGET DRAFT K P_MIN [CHUNK]     token lists, one per line; a line of draft tokens
 *                                                 after each, which may be empty
 * The kind of draft is what llama.cpp finds in DRAFT. The target reads all tokens but the last, in
 * passes of CHUNK. Keys and values are floats. */
#include "common.h"
#include "log.h"
#include "speculative.h"

#include <llama.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace {

[[noreturn]] void fail(const std::string &what)
{
    std::fprintf(stderr, "llama_drafts: %s\n", what.c_str());
    std::exit(2);
}

void log_errors(ggml_log_level level, const char *text, void *)
{
    static bool is_error = false;
    if (level != GGML_LOG_LEVEL_CONT) is_error = level == GGML_LOG_LEVEL_ERROR;
    if (is_error) std::fputs(text, stderr);
}

common_params settings_of(char **word)
{
    common_params params;
    params.model.path = word[1];
    params.speculative.draft.mparams.path = word[2];
    params.speculative.types = common_speculative_types_from_gguf(word[2]);
    params.speculative.draft.n_max = std::atoi(word[3]);
    params.speculative.draft.p_min = std::strtof(word[4], nullptr);
    params.speculative.draft.cache_type_k = params.speculative.draft.cache_type_v = GGML_TYPE_F32;
    params.speculative.draft.cpuparams.n_threads = 2;
    params.speculative.draft.cpuparams_batch.n_threads = 2;
    params.cache_type_k = params.cache_type_v = GGML_TYPE_F32;
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 2;
    params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
    params.n_ctx = params.n_batch = params.n_ubatch = 512;
    params.n_parallel = 1;
    params.swa_full = true;
    params.warmup = false;
    params.fit_params = false;
    params.no_extra_bufts = true; /* AMX reads beyond small matrices of Q8_0 */
    if (params.speculative.types.empty()) fail("the draft is of no kind that llama.cpp knows");
    const auto limits = common_speculative_get_output_limits(
        params.n_batch, params.n_parallel, common_speculative_n_max(&params.speculative));
    params.n_outputs_max = limits.total;
    params.n_outputs_max_per_seq = limits.per_seq;
    return params;
}

std::vector<llama_token> tokens_of(const std::string &line)
{
    std::istringstream words(line);
    std::vector<llama_token> text;
    for (llama_token token; words >> token;) text.push_back(token);
    if (text.empty()) fail("an empty list");
    return text;
}

llama_tokens draft_after(common_speculative *spec, llama_context *target, llama_context *draft,
                         const std::vector<llama_token> &text, int chunk)
{
    const int n = static_cast<int>(text.size()) - 1;
    llama_memory_clear(llama_get_memory(target), true);
    llama_memory_clear(llama_get_memory(draft), true);
    for (int at = 0; at < n; at += chunk) {
        common_batch batch(target);
        for (int i = at; i < n && i < at + chunk; i++)
            batch.add(text[static_cast<size_t>(i)], i, 0, false);
        if (llama_process(target, LLAMA_PROCESS_TYPE_DECODE, batch.get()) != 0)
            fail("a pass failed");
        if (!common_speculative_process(spec, batch)) fail("the draft did not follow a pass");
    }
    const llama_tokens prompt(text.begin(), text.end() - 1);
    llama_tokens result;
    common_speculative_begin(spec, 0, prompt);
    common_speculative_draft_params &ask = common_speculative_get_draft_params(spec, 0);
    ask.drafting = true;
    ask.n_max = -1;
    ask.pos0 = n;
    ask.id_last = text.back();
    ask.prompt = &prompt;
    ask.result = &result;
    common_speculative_draft(spec);
    return result;
}

} // namespace

int main(int n, char **word)
{
    if (n < 5) fail("type llama_drafts TARGET DRAFT K P_MIN [CHUNK]");
    llama_backend_init();
    common_log_set_verbosity_thold(-1);
    llama_log_set(log_errors, nullptr);
    common_params params = settings_of(word);
    const int chunk = n > 5 ? std::atoi(word[5]) : 32;
    auto target = common_init_from_params(params);
    if (target->context() == nullptr) fail(std::string("cannot open ") + word[1]);
    common_params of_draft = common_base_params_to_speculative(params);
    auto draft = common_speculative_init_from_params(of_draft, target->model(), target->context());
    if (draft->context() == nullptr) fail(std::string("cannot open ") + word[2]);
    params.speculative.draft.ctx_tgt = target->context();
    params.speculative.draft.ctx_dft = draft->context();
    common_speculative *spec = common_speculative_init(params.speculative, 1);
    if (spec == nullptr) fail("cannot draft");
    for (std::string line; std::getline(std::cin, line);) {
        const llama_tokens drafted =
            draft_after(spec, target->context(), draft->context(), tokens_of(line), chunk);
        for (size_t i = 0; i < drafted.size(); i++) std::printf(i > 0 ? " %d" : "%d", drafted[i]);
        std::printf("\n");
    }
    common_speculative_free(spec);
    return 0;
}
