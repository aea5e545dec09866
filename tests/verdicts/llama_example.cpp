/* SPDX-License-Identifier: GPL-3.0-or-later */
/* llama.cpp's examples/speculative as released: its main() writes the texts of scope S.
 * The functions below replace those of the rest of llama.cpp. Models return a fixture's rows; a
 * cache holds tokens with their positions and sequences, as the program asks for it. */
#include <algorithm>
#include <common.h>
#include <cstring>
#include <llama.h>
#include <sampling.h>
#include <speclab/sampler.h>
#include <speculative.h>
#include <vector>

int example_main(int argc, char **argv); /* main() of speculative.cpp, renamed */

struct cell {
    llama_token token;
    llama_pos position;
    std::vector<llama_seq_id> sequences;
};

/* A context and its model, memory and vocabulary are one object here. */
struct rows_context {
    bool is_draft;
    std::vector<cell> cells;
    std::vector<std::vector<float>> rows; /* of the last batch, by index */
};

static rows_context contexts[2];
static int n_contexts;
static const spec_models *models;
static std::vector<llama_token> prompt, emitted;
static common_params_sampling wanted;
static int32_t K, n_predict;

static rows_context &of(const void *pointer) { return *(rows_context *)pointer; }
static bool has(const cell &c, llama_seq_id s)
{
    return std::find(c.sequences.begin(), c.sequences.end(), s) != c.sequences.end();
}

/* The row after the tokens of a sequence up to a position; the first token is no text. */
static std::vector<float> row(const rows_context &context, llama_seq_id s, llama_pos position)
{
    std::vector<const cell *> seen;
    for (const cell &c : context.cells)
        if (has(c, s) && c.position <= position) seen.push_back(&c);
    std::stable_sort(seen.begin(), seen.end(),
                     [](const cell *a, const cell *b) { return a->position < b->position; });
    std::vector<int32_t> text;
    for (size_t i = 1; i < seen.size(); i++) text.push_back(seen[i]->token);
    const float *found = (context.is_draft ? models->draft : models->target)(
        models->self, text.data(), (int64_t)text.size());
    return {found, found + models->vocab};
}

struct common_init_result::impl {
    rows_context *context;
};
common_init_result::common_init_result(common_params &, bool) : pimpl(new impl)
{
    pimpl->context = &contexts[n_contexts];
    contexts[n_contexts] = {n_contexts == 1, {}, {}};
    n_contexts++;
}
common_init_result::~common_init_result() {}
llama_model *common_init_result::model() { return (llama_model *)pimpl->context; }
llama_context *common_init_result::context() { return (llama_context *)pimpl->context; }
common_init_result_ptr common_init_from_params(common_params &params, bool model_only)
{
    return common_init_result_ptr(new common_init_result(params, model_only));
}

void common_init() {}
void common_memory_breakdown_print(const llama_context *) {}
bool common_params_parse(int, char **, common_params &params, llama_example,
                         void (*)(int, char **))
{
    const int32_t n_probs = params.sampling.n_probs;
    params.sampling = wanted;
    params.sampling.n_probs = n_probs;
    params.speculative.draft.mparams.path = "rows";
    params.speculative.draft.n_max = K;
    params.n_parallel = 1;
    params.n_predict = n_predict;
    return true;
}
common_speculative_output_limits common_speculative_get_output_limits(int32_t, int32_t, int32_t)
{
    return {};
}
std::vector<llama_token> common_tokenize(const llama_context *, const std::string &, bool, bool)
{
    return prompt;
}
std::string common_token_to_piece(const llama_context *, llama_token token, bool)
{
    emitted.push_back(token); /* the program asks once for each token of its text */
    return "";
}

common_batch::common_batch(llama_context *) {}
void common_batch::clear() { tokens.clear(); }
int32_t common_batch::add(llama_token id, llama_pos position, llama_seq_id s, bool output)
{
    tokens.push_back({id, {position}, s, output, {}, {}});
    return (int32_t)tokens.size() - 1;
}
llama_batch_ext *common_batch::get_sub_batch(int32_t, int32_t) { return (llama_batch_ext *)this; }
common_batch common_batch_get_one(llama_context *context, const llama_token *tokens, int32_t n)
{
    common_batch batch(context);
    for (int32_t i = 0; i < n; i++)
        batch.add(tokens[i], (llama_pos)of(context).cells.size() + i, 0, true);
    return batch;
}

extern "C" {
int32_t llama_process(llama_context *pointer, llama_process_type, llama_batch_ext *batch)
{
    rows_context &context = of(pointer);
    const std::vector<common_batch::token> &tokens = ((common_batch *)batch)->tokens;
    context.rows.clear();
    for (const common_batch::token &t : tokens) {
        context.cells.push_back({t.id, t.pos[0], {t.seq_id}});
        context.rows.push_back(row(context, t.seq_id, t.pos[0]));
    }
    return 0;
}
float *llama_get_logits_ith(llama_context *context, int32_t i)
{
    return of(context).rows[(size_t)i].data();
}

void llama_batch_ext_free(llama_batch_ext *) {}
llama_memory_t llama_get_memory(const llama_context *context) { return (llama_memory_t)context; }
bool llama_memory_seq_rm(llama_memory_t memory, llama_seq_id s, llama_pos from, llama_pos to)
{
    std::vector<cell> &cells = of(memory).cells;
    for (cell &c : cells)
        if (c.position >= from && (to < 0 || c.position < to))
            c.sequences.erase(std::remove(c.sequences.begin(), c.sequences.end(), s),
                              c.sequences.end());
    cells.erase(std::remove_if(cells.begin(), cells.end(),
                               [](const cell &c) { return c.sequences.empty(); }),
                cells.end());
    return true;
}
void llama_memory_seq_cp(llama_memory_t memory, llama_seq_id s, llama_seq_id to, llama_pos,
                         llama_pos)
{
    for (cell &c : of(memory).cells)
        if (has(c, s) && !has(c, to)) c.sequences.push_back(to);
}
void llama_memory_seq_keep(llama_memory_t memory, llama_seq_id s)
{
    std::vector<cell> &cells = of(memory).cells;
    cells.erase(std::remove_if(cells.begin(), cells.end(),
                               [s](const cell &c) { return !has(c, s); }),
                cells.end());
    for (cell &c : cells) c.sequences = {s};
}

size_t llama_max_devices() { return 1; }
void llama_backend_init() {}
void llama_backend_free() {}
void llama_numa_init(ggml_numa_strategy) {}
void llama_perf_context_print(const llama_context *) {}
llama_perf_context_data llama_perf_context(const llama_context *) { return {}; }
void llama_synchronize(llama_context *) {}
uint32_t llama_n_ctx(const llama_context *) { return 1u << 30; }
const llama_model *llama_get_model(const llama_context *c) { return (const llama_model *)c; }
const llama_vocab *llama_model_get_vocab(const llama_model *m) { return (const llama_vocab *)m; }
enum llama_vocab_type llama_vocab_type(const llama_vocab *) { return LLAMA_VOCAB_TYPE_NONE; }
bool llama_vocab_get_add_bos(const llama_vocab *) { return false; }
bool llama_vocab_get_add_eos(const llama_vocab *) { return false; }
int32_t llama_vocab_n_tokens(const llama_vocab *) { return models->vocab; }
const char *llama_vocab_get_text(const llama_vocab *, llama_token) { return ""; }
bool llama_vocab_is_eog(const llama_vocab *, llama_token) { return false; }
const llama_token *llama_vocab_get_suppress_tokens(const llama_vocab *, int32_t *n)
{
    return *n = 0, nullptr;
}
llama_token llama_get_sampled_token_ith(llama_context *, int32_t) { return LLAMA_TOKEN_NULL; }
llama_token *llama_get_sampled_candidates_ith(llama_context *, int32_t) { return nullptr; }
float *llama_get_sampled_probs_ith(llama_context *, int32_t) { return nullptr; }
float *llama_get_sampled_logits_ith(llama_context *, int32_t) { return nullptr; }

uint32_t spec_sampler_abi(void) { return SPEC_SAMPLER_ABI; }
int spec_sampler_describe(spec_sampler_about *about)
{
    std::strcpy(about->name, "llama.cpp examples/speculative");
    about->scopes = SPEC_SCOPE_STREAM;
    about->rows = SPEC_ROWS_LOGITS;
    about->sampling = 1;
    std::strcpy(about->filters, "top_k,top_p,min_p,temperature");
    return 0;
}
int spec_sampler_open(void **, const char *) { return 0; }
void spec_sampler_close(void *) {}
int spec_sampler_step(void *, spec_step *, int32_t) { return 1; }

int spec_sampler_generate(void *, const spec_models *given, const int32_t *context,
                          int64_t n_context, int32_t n_draft, spec_sampling sampling, uint64_t seed,
                          int32_t *ret_token, int64_t n_tokens)
{
    char name[] = "speculative", *argv[] = {name, nullptr};
    models = given, K = n_draft, n_contexts = 0;
    prompt.assign(1, 0), emitted.clear();
    prompt.insert(prompt.end(), context, context + n_context);
    wanted = {};
    wanted.samplers = {COMMON_SAMPLER_TYPE_TOP_K, COMMON_SAMPLER_TYPE_TOP_P,
                       COMMON_SAMPLER_TYPE_MIN_P, COMMON_SAMPLER_TYPE_TEMPERATURE};
    wanted.temp = sampling.temperature, wanted.top_k = sampling.top_k;
    wanted.top_p = sampling.top_p, wanted.min_p = sampling.min_p;
    wanted.seed = (uint32_t)(seed ^ seed >> 32) & 0x7fffffff;
    n_predict = (int32_t)n_tokens;
    if (example_main(1, argv) != 0 || emitted.size() < (size_t)n_tokens) return 1;
    std::copy_n(emitted.begin(), n_tokens, ret_token);
    return 0;
}
}
