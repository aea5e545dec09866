/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A shell around llama.cpp's library, for comparisons of rows, tokens and times:
 *   llama_shell rows MODEL CHUNK     token lists, one per line, in passes of CHUNK tokens; floats
 *                                    (tokens, V) of all lists on standard output
 *   llama_shell tokens MODEL         texts as "BYTES\n" and their bytes; a line of tokens each
 *   llama_shell time MODEL THREADS CONTEXT PACKED FLASH     lines "WIDTH PASSES"; the seconds of
 *                                    these passes of WIDTH tokens after CONTEXT tokens, a line each
 * Rows have floats as keys and values and weights as they are in the file. Times have halves, with
 * PACKED = 1 packed weights, and with FLASH = 1 flash attention, as llama.cpp's own programs do. */
#include <llama.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace
{

[[noreturn]] void fail(const std::string &what)
{
    std::fprintf(stderr, "llama_shell: %s\n", what.c_str());
    std::exit(2);
}

/* Errors alone, and the lines that continue them. */
void log_errors(ggml_log_level level, const char *text, void *)
{
    static bool is_error = false;
    if (level != GGML_LOG_LEVEL_CONT) is_error = level == GGML_LOG_LEVEL_ERROR;
    if (is_error) std::fputs(text, stderr);
}

enum class weights { none, plain, packed };

llama_model *load(const char *path, weights which)
{
    llama_model_params params = llama_model_default_params();
    params.vocab_only = which == weights::none;
    params.use_extra_bufts = which == weights::packed;
    llama_model *model = llama_model_load_from_file(path, params);
    if (model == nullptr) fail(std::string("cannot load ") + path);
    return model;
}

llama_context *open_context(llama_model *model, int tokens, int width, int threads, ggml_type kv,
                            bool flash)
{
    llama_context_params params = llama_context_default_params();
    params.n_ctx = static_cast<uint32_t>(tokens);
    params.n_batch = params.n_ubatch = static_cast<uint32_t>(width);
    params.n_threads = params.n_threads_batch = threads;
    params.type_k = params.type_v = kv;
    params.swa_full = true;
    params.flash_attn_type =
        flash ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
    llama_context *context = llama_init_from_model(model, params);
    if (context == nullptr) fail("cannot make a context");
    return context;
}

/* One pass; rows of all its tokens. */
void decode(llama_context *context, const llama_token *token, int n, int at)
{
    llama_batch batch = llama_batch_init(n, 0, 1);
    batch.n_tokens = n;
    for (int i = 0; i < n; i++) {
        batch.token[i] = token[i];
        batch.pos[i] = at + i;
        batch.n_seq_id[i] = 1;
        batch.seq_id[i][0] = 0;
        batch.logits[i] = 1;
    }
    if (llama_decode(context, batch) != 0) fail("a pass failed");
    llama_synchronize(context);
    llama_batch_free(batch);
}

int rows(const char *path, int chunk)
{
    llama_model *model = load(path, weights::plain);
    const int vocab = llama_vocab_n_tokens(llama_model_get_vocab(model));
    std::string line;
    while (std::getline(std::cin, line)) {
        std::istringstream words(line);
        std::vector<llama_token> text;
        for (llama_token token; words >> token;) {
            if (token < 0 || token >= vocab) fail("a token is outside the vocabulary");
            text.push_back(token);
        }
        const int n = static_cast<int>(text.size());
        llama_context *context = open_context(model, n + chunk, chunk, 2, GGML_TYPE_F32, false);
        for (int at = 0; at < n; at += chunk) {
            const int width = n - at < chunk ? n - at : chunk;
            decode(context, &text[static_cast<size_t>(at)], width, at);
            for (int i = 0; i < width; i++)
                std::fwrite(llama_get_logits_ith(context, i), sizeof(float),
                            static_cast<size_t>(vocab), stdout);
        }
        llama_free(context);
    }
    llama_model_free(model);
    return 0;
}

int tokens(const char *path)
{
    llama_model *model = load(path, weights::none);
    const llama_vocab *vocab = llama_model_get_vocab(model);
    std::string line;
    while (std::getline(std::cin, line)) {
        std::string text(std::strtoul(line.c_str(), nullptr, 10), '\0');
        std::cin.read(&text[0], static_cast<std::streamsize>(text.size()));
        const int bytes = static_cast<int>(text.size());
        std::vector<llama_token> token(text.size() + 16);
        const int n = llama_tokenize(vocab, text.data(), bytes, token.data(),
                                     static_cast<int>(token.size()), false, false);
        if (n < 0) fail("a text has more tokens than bytes");
        for (int i = 0; i < n; i++)
            std::printf(i > 0 ? " %d" : "%d", token[static_cast<size_t>(i)]);
        std::printf("\n");
    }
    llama_model_free(model);
    return 0;
}

int time_passes(const char *path, int threads, int length, bool packed, bool flash)
{
    enum { WIDTH_MAX = 512 };
    llama_model *model = load(path, packed ? weights::packed : weights::plain);
    const int vocab = llama_vocab_n_tokens(llama_model_get_vocab(model));
    llama_context *context =
        open_context(model, length + WIDTH_MAX, WIDTH_MAX, threads, GGML_TYPE_F16, flash);
    std::vector<llama_token> token(static_cast<size_t>(length + WIDTH_MAX));
    for (size_t i = 0; i < token.size(); i++)
        token[i] = static_cast<llama_token>(i * 7919 % static_cast<size_t>(vocab));
    for (int at = 0; at < length; at += WIDTH_MAX)
        decode(context, &token[static_cast<size_t>(at)],
               length - at < WIDTH_MAX ? length - at : static_cast<int>(WIDTH_MAX), at);
    int width, passes;
    while (std::cin >> width >> passes) {
        if (width < 1 || width > WIDTH_MAX || passes < 1) fail("a pass has 1 to 512 tokens");
        double seconds = 0.0;
        for (int i = 0; i < passes; i++) {
            llama_memory_seq_rm(llama_get_memory(context), 0, length, -1);
            const auto begin = std::chrono::steady_clock::now();
            decode(context, &token[static_cast<size_t>(length)], width, length);
            const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
            seconds += took.count();
        }
        std::printf("%.9f\n", seconds);
        std::fflush(stdout);
    }
    llama_free(context);
    llama_model_free(model);
    return 0;
}

} // namespace

int main(int argc, char **argv)
{
    const std::string verb = argc > 2 ? argv[1] : "";
    llama_log_set(log_errors, nullptr);
    llama_backend_init();
    if (verb == "rows" && argc == 4) return rows(argv[2], std::atoi(argv[3]));
    if (verb == "tokens" && argc == 3) return tokens(argv[2]);
    if (verb == "time" && argc == 7)
        return time_passes(argv[2], std::atoi(argv[3]), std::atoi(argv[4]),
                           std::strcmp(argv[5], "1") == 0, std::strcmp(argv[6], "1") == 0);
    fail("usage: rows MODEL CHUNK | tokens MODEL | time MODEL THREADS CONTEXT PACKED FLASH");
}
