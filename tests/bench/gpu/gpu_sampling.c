/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/noise.h"
#include "models/transform.h"
#include "tests/bench/gpu/gpu_rows.h"

#include <stdlib.h>

/* Logits of the target for n + 1 rows and of the draft for n, in GPU memory; both are similar. */
typedef struct {
    const spec_backend *backend;
    spec_queue queue;
    int vocab, n;
    float *target, *draft; /* (n+1, vocab), (n, vocab) */
    void *law[SPEC_COLUMNS_MAX];
    int token[SPEC_COLUMNS_MAX];
    double uniform[SPEC_COLUMNS_MAX + 2];
    int n_accepted;
} bench;

static float draw(uint64_t stream, uint64_t i)
{
    const uint64_t word = spec_noise_word(stream, i);
    return (float)(int32_t)(uint32_t)word * 0x1p-29f; /* -4 .. 4 */
}

static int fill(bench *b, spec_error *error)
{
    int status = GSL_SUCCESS;
    const size_t all = ((size_t)b->n + 1) * (size_t)b->vocab;
    void *memory;
    float *host = malloc(all * sizeof *host);
    if (host == NULL) SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory"));
    for (size_t i = 0; i < all; i++) host[i] = 2.0f * draw(1, i) + 0.25f * draw(2, i);
    SPEC_TRY(b->backend->alloc(b->backend, &memory, all * sizeof *host, error));
    b->backend->put(b->backend, b->target = memory, host, all * sizeof *host);
    for (size_t i = 0; i < all; i++) host[i] = 2.0f * draw(1, i);
    SPEC_TRY(b->backend->alloc(b->backend, &memory, all * sizeof *host, error));
    b->backend->put(b->backend, b->draft = memory, host, all * sizeof *host);
    for (int i = 0; i < b->n; i++)
        SPEC_TRY(b->backend->alloc(b->backend, &b->law[i], b->backend->law_bytes(b->vocab), error));
done:
    free(host);
    return status;
}

static void set_uniforms(bench *b, double uniform)
{
    for (int i = 0; i < b->n + 2; i++) b->uniform[i] = uniform;
}

static int draw_one(bench *b, int i, spec_error *error)
{
    const spec_transform none = SPEC_TRANSFORM_NONE;
    const spec_draw_request request = {.n = 1,
                                       .law = &b->law[i],
                                       .transform = &none,
                                       .opt_uniform = &b->uniform[i],
                                       .logits = b->draft + (size_t)i * (size_t)b->vocab};
    const int status = b->backend->draw(&b->queue, &request, 0, error);
    return status == GSL_SUCCESS ? b->backend->drawn(&b->queue, &b->token[i], 1, error) : status;
}

static int run_draw(void *context, spec_error *error)
{
    return draw_one(context, 0, error);
}

static int run_verify(void *context, spec_error *error)
{
    bench *b = context;
    const spec_transform none = SPEC_TRANSFORM_NONE;
    double chance[SPEC_COLUMNS_MAX];
    spec_chain_outcome outcome = {.chance = chance};
    const spec_chain_request request = {
        .token = b->token, .n = b->n, .law = b->law, .transform = &none, .uniform = b->uniform};
    const int status = b->backend->verify(&b->queue, &outcome, b->target, &request, error);
    b->n_accepted = outcome.n_accepted;
    return status;
}

static void close_bench(bench *b)
{
    if (b->queue.backend != NULL) b->backend->queue_free(&b->queue);
    for (int i = 0; i < b->n; i++) b->backend->free(b->backend, b->law[i]);
    b->backend->free(b->backend, b->target);
    b->backend->free(b->backend, b->draft);
}

int gpu_measure_sampling(gpu_rows *rows, int vocab, int n, bool tiny, spec_error *error)
{
    int status = GSL_SUCCESS;
    double seconds;
    bench b = {.backend = rows->backend, .vocab = vocab, .n = n};
    const spec_shape shape = {.dim = 64,
                              .n_layers = 1,
                              .n_heads = 1,
                              .n_kv_heads = 1,
                              .head_dim = 64,
                              .ffn_dim = 64,
                              .vocab = vocab,
                              .context = 128,
                              .norm_eps = 1e-5f,
                              .rope.base = 1e4};
    if (b.backend->verify == NULL) return status; /* a backend whose rows are on the host */
    SPEC_TRY(b.backend->queue_init(b.backend, &b.queue, &shape, error));
    SPEC_TRY(fill(&b, error));
    set_uniforms(&b, 0.271);
    SPEC_TRY(gpu_median_seconds(&seconds, run_draw, &b, tiny, error));
    SPEC_TRY(
        gpu_rows_add(rows, GPU_TOLD, 0.0, 1e6 * seconds, "us", "a token drawn, V = %d", vocab));
    for (int i = 0; i < n; i++) SPEC_TRY(draw_one(&b, i, error));
    for (int whole = 1; whole >= 0; whole--) { /* tests against 0 pass all tokens, those against 1
                                                * hardly any */
        set_uniforms(&b, whole ? 0.0 : 1.0 - 0x1p-40);
        SPEC_TRY(gpu_median_seconds(&seconds, run_verify, &b, tiny, error));
        SPEC_TRY(gpu_rows_add(rows, GPU_AT_MOST, 30.0, 1e6 * seconds, "us",
                              "chain of %d, V = %d, %d accepted", n, vocab, b.n_accepted));
    }
done:
    close_bench(&b);
    return status;
}
