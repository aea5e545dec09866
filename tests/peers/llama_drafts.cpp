/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A shell around llama.cpp's speculative decoding, for comparisons of drafts:
 *     llama_drafts TYPE TARGET DRAFT K ROUNDS [P_MIN]
 * TYPE is draft-eagle3, draft-mtp and so on; DRAFT is a file, or - for the target's own; P_MIN is
 * the option of that name. Standard input has a list of tokens per line. For each round the output
 * has a line: the drafted tokens, a bar, and the tokens that the round adds at temperature 0. An
 * empty line ends a text. Keys and values are floats. */
#include "common.h"
#include "llama-cpp.h"
#include "speculative.h"

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>

namespace {

enum { CONTEXT = 512 };

[[noreturn]] void fail(const std::string &what)
{
    std::fprintf(stderr, "llama_drafts: %s\n", what.c_str());
    std::exit(2);
}

/* Errors alone, and the lines that continue them. */
void log_errors(ggml_log_level level, const char *text, void *)
{
    static bool is_error = false;
    if (level != GGML_LOG_LEVEL_CONT) is_error = level == GGML_LOG_LEVEL_ERROR;
    if (is_error) std::fputs(text, stderr);
}

llama_model_ptr load(const std::string &path)
{
    llama_model_params params = llama_model_default_params();
    params.load_mtp = true;
    params.use_extra_bufts = false; /* AMX reads beyond small matrices of Q8_0 */
    llama_model *model = llama_model_load_from_file(path.c_str(), params);
    if (model == nullptr) fail("cannot load " + path);
    return llama_model_ptr(model);
}

llama_context_ptr open_context(llama_model *model, llama_context *other, llama_context_type type)
{
    llama_context_params params = llama_context_default_params();
    params.n_ctx = params.n_batch = params.n_ubatch = CONTEXT;
    params.n_threads = params.n_threads_batch = 1;
    params.type_k = params.type_v = GGML_TYPE_F32;
    params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
    params.ctx_other = other;
    params.ctx_type = type;
    llama_context *context = llama_init_from_model(model, params);
    if (context == nullptr) fail("cannot make a context");
    return llama_context_ptr(context);
}

/* The pair of contexts of one text, and llama.cpp's state of its drafts. */
struct session {
    llama_context_ptr target, draft;
    common_params_speculative params;
    common_speculative_ptr drafts;

    session(llama_model *target_model, llama_model *draft_model, common_speculative_type type,
            int K, float p_min)
    {
        const bool is_mtp = type == COMMON_SPECULATIVE_TYPE_DRAFT_MTP;
        target = open_context(target_model, nullptr, LLAMA_CONTEXT_TYPE_DEFAULT);
        draft = open_context(draft_model, target.get(),
                             is_mtp ? LLAMA_CONTEXT_TYPE_MTP : LLAMA_CONTEXT_TYPE_DEFAULT);
        params.types = {type};
        params.draft.n_max = K;
        params.draft.p_min = p_min;
        params.draft.backend_sampling = false;
        params.draft.ctx_tgt = target.get();
        params.draft.ctx_dft = draft.get();
        drafts.reset(common_speculative_init(params, 1));
        if (drafts == nullptr) fail("cannot draft");
    }
};

void forget(llama_context *context, int from)
{
    if (!llama_memory_seq_rm(llama_get_memory(context), 0, from, -1)) fail("cannot roll back");
}

llama_token most_probable(llama_context *context, int i, int vocab)
{
    const float *logits = llama_get_logits_ith(context, i);
    llama_token best = 0;
    for (llama_token token = 1; token < vocab; token++)
        if (logits[token] > logits[best]) best = token;
    return best;
}

void pass(session &s, common_batch &batch)
{
    if (llama_process(s.target.get(), LLAMA_PROCESS_TYPE_DECODE, batch.get()) != 0)
        fail("a pass failed");
    if (!common_speculative_process(s.drafts.get(), batch)) fail("a draft's pass failed");
}

llama_tokens draft_after(session &s, const llama_tokens &text)
{
    llama_tokens drafted, before(text.begin(), text.end() - 1);
    const int n = static_cast<int>(before.size());
    auto &request = common_speculative_get_draft_params(s.drafts.get(), 0);
    request = {};
    request.drafting = true;
    request.pos0 = n;
    request.id_last = text.back();
    request.prompt = &before;
    request.result = &drafted;
    common_speculative_draft(s.drafts.get());
    forget(s.draft.get(), n);
    return drafted;
}

void round_of(session &s, llama_tokens &text, int vocab)
{
    const llama_tokens drafted = draft_after(s, text);
    common_batch batch(s.target.get());
    const int n = static_cast<int>(text.size());
    batch.add(text.back(), n - 1, 0, true);
    for (size_t i = 0; i < drafted.size(); i++)
        batch.add(drafted[i], n + static_cast<int>(i), 0, true);
    pass(s, batch);
    for (const llama_token token : drafted) std::printf("%d ", token);
    std::printf("|");
    size_t n_accepted = 0;
    for (;; n_accepted++) {
        text.push_back(most_probable(s.target.get(), static_cast<int>(n_accepted), vocab));
        std::printf(" %d", text.back());
        if (n_accepted == drafted.size() || text.back() != drafted[n_accepted]) break;
    }
    std::printf("\n");
    common_speculative_accept(s.drafts.get(), 0, static_cast<uint16_t>(n_accepted));
    forget(s.target.get(), static_cast<int>(text.size()) - 1);
    forget(s.draft.get(), static_cast<int>(text.size()) - 1);
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 6 && argc != 7) fail("TYPE TARGET DRAFT K ROUNDS [P_MIN]");
    llama_log_set(log_errors, nullptr);
    llama_backend_init();
    const common_speculative_type type = common_speculative_type_from_name(argv[1]);
    const llama_model_ptr target = load(argv[2]);
    const bool own = std::string(argv[3]) == "-";
    const llama_model_ptr draft = own ? nullptr : load(argv[3]);
    const int vocab = llama_vocab_n_tokens(llama_model_get_vocab(target.get()));
    std::string line;
    while (std::getline(std::cin, line)) {
        std::istringstream words(line);
        llama_tokens text;
        for (llama_token token; words >> token;) text.push_back(token);
        if (text.size() < 2) fail("a text has fewer than two tokens");
        session s(target.get(), own ? target.get() : draft.get(), type, std::atoi(argv[4]),
                  argc > 6 ? std::strtof(argv[6], nullptr) : 0.0f);
        common_batch prompt(s.target.get());
        for (size_t i = 0; i + 1 < text.size(); i++)
            prompt.add(text[i], static_cast<int>(i), 0, false);
        pass(s, prompt);
        common_speculative_begin(s.drafts.get(), 0, llama_tokens(text.begin(), text.end() - 1));
        for (int i = std::atoi(argv[5]); i > 0; i--) round_of(s, text, vocab);
        std::printf("\n");
    }
    return 0;
}
