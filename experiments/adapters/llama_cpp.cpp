/* llama_cpp: llama.cpp's verification under `speclab validate`.
 *
 *     c++ -shared -fPIC -I$LLAMA/include -I$LLAMA/ggml/include -I$LLAMA/common llama_cpp.cpp -L$LLAMA/build/bin \
 *         -lllama-common -lllama -o llama_cpp.so
 *     speclab validate ./llama_cpp.so
 *
 * Maps a chain on common_sampler_sample_and_accept_n() of ggml-org/llama.cpp, common/sampling.h (read at 0.5.0),
 * which examples/speculative-simple and the server call: it samples the target and goes on while that is the draft. It
 * asks a context for logits; here these functions answer, with the rows of the step, instead of libllama's. */
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
const llama_token *llama_vocab_get_suppress_tokens(const llama_vocab *, int32_t *n) { return *n = 0, nullptr; }
llama_token llama_get_sampled_token_ith(llama_context *, int32_t) { return LLAMA_TOKEN_NULL; }
llama_token *llama_get_sampled_candidates_ith(llama_context *, int32_t) { return nullptr; }
float *llama_get_sampled_probs_ith(llama_context *, int32_t) { return nullptr; }
float *llama_get_sampled_logits_ith(llama_context *, int32_t) { return nullptr; }
float *llama_get_logits_ith(llama_context *, int32_t i) { return (float *)current->target + i * current->vocab; }

uint32_t spec_sampler_abi(void) { return SPEC_SAMPLER_ABI; }

int spec_sampler_describe(spec_sampler_about *about)
{
    std::strcpy(about->name, "llama.cpp common_sampler_sample_and_accept_n");
    about->scopes = SPEC_SCOPE_VERIFY;
    about->rows = SPEC_ROWS_LOGITS;
    return 0;
}

int spec_sampler_open(void **, const char *) { return 0; }
void spec_sampler_close(void *) {}

int spec_sampler_step(void *, spec_step *steps, int32_t n_steps)
{
    common_params_sampling params; /* speclab has processed the rows: temperature 1, nothing filtered */
    params.samplers = {COMMON_SAMPLER_TYPE_TEMPERATURE};
    params.temp = 1.0f;
    params.seed = (uint32_t)(steps->seed ^ steps->offset);
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
