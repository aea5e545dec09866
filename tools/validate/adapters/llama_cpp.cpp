/* SPDX-License-Identifier: MIT */
/* llama_cpp: llama.cpp's verification under `speclab validate`.
 *
 *     c++ -shared -fPIC -I$LLAMA/include -I$LLAMA/ggml/include -I$LLAMA/common llama_cpp.cpp \
 *         -L$LLAMA/build/bin -lllama-common -lllama -o llama_cpp.so
 *     speclab validate ./llama_cpp.so
 *
 * Passes a chain to common_sampler_sample_and_accept_n() of ggml-org/llama.cpp, common/sampling.h
 * (read at 0.5.0), which examples/speculative-simple and the server call. It samples the target,
 * and continues while the sample equals the draft. It asks a context for logits: the functions
 * below replace those of libllama, and return the rows of the step. */
#include <algorithm>
#include <common.h>
#include <cstring>
#include <llama.h>
#include <sampling.h>
#include <speclab/sampler.h>

extern "C" {
static const spec_step *current;
void llama_synchronize(llama_context *) {}
const llama_model *llama_get_model(const llama_context *) { return nullptr; }
const llama_vocab *llama_model_get_vocab(const llama_model *) { return nullptr; }
int32_t llama_vocab_n_tokens(const llama_vocab *) { return current->vocab; }
bool llama_vocab_is_eog(const llama_vocab *, llama_token) { return false; }
const llama_token *llama_vocab_get_suppress_tokens(const llama_vocab *, int32_t *n)
{
    return *n = 0, nullptr;
}
llama_token llama_get_sampled_token_ith(llama_context *, int32_t) { return LLAMA_TOKEN_NULL; }
llama_token *llama_get_sampled_candidates_ith(llama_context *, int32_t) { return nullptr; }
float *llama_get_sampled_probs_ith(llama_context *, int32_t) { return nullptr; }
float *llama_get_sampled_logits_ith(llama_context *, int32_t) { return nullptr; }
float *llama_get_logits_ith(llama_context *, int32_t i)
{
    return (float *)current->target + i * current->vocab;
}

uint32_t spec_sampler_abi(void) { return SPEC_SAMPLER_ABI; }

int spec_sampler_describe(spec_sampler_about *about)
{
    std::strcpy(about->name, "llama.cpp common_sampler_sample_and_accept_n");
    about->scopes = SPEC_SCOPE_VERIFY;
    about->rows = SPEC_ROWS_LOGITS;
    about->sampling = 1;
    std::strcpy(about->filters,
                "top_k,top_p,min_p,temperature"); /* the order in common_params_sampling */
    return 0;
}

int spec_sampler_open(void **, const char *) { return 0; }
void spec_sampler_close(void *) {}

int spec_sampler_step(void *, spec_step *steps, int32_t n_steps)
{
    common_params_sampling params;
    params.samplers = {COMMON_SAMPLER_TYPE_TOP_K, COMMON_SAMPLER_TYPE_TOP_P,
                       COMMON_SAMPLER_TYPE_MIN_P, COMMON_SAMPLER_TYPE_TEMPERATURE};
    params.temp = steps->sampling.temperature; /* all steps of a fixture have the same */
    params.top_k = steps->sampling.top_k;
    params.top_p = steps->sampling.top_p;
    params.min_p = steps->sampling.min_p;
    params.seed = (uint32_t)(steps->seed ^ steps->seed >> 32 ^ steps->offset);
    common_sampler *sampler = common_sampler_init(nullptr, params);
    for (current = steps; current < steps + n_steps; current++) {
        const llama_tokens draft(current->token, current->token + current->n_nodes);
        const llama_tokens out = common_sampler_sample_and_accept_n(sampler, nullptr, draft);
        std::copy(out.begin(), out.end(), current->ret_token);
        *current->ret_n_accepted = (*current->ret_n_emitted = (int32_t)out.size()) - 1;
    }
    common_sampler_free(sampler);
    return 0;
}
}
