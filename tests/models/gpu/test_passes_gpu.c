/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks properties of passes on the GPU (or the simulated one): ordered uploads, recordings,
 * failures. Operations are in test_backend_gpu.c, whole models in test_transformer_gpu.c. */
#include "models/gpu/recordings.h"
#include "models/model_open.h"
#include "models/transformer/engine/transformer.h"
#include "tests/models/gpu/backend_gpu_case.h"
#include "tests/support/contexts.h"
#include "tests/support/model_of.h"
#include "tests/support/support.h"

#define SMALL "random?dim=32&layers=2&heads=4&kv_heads=2&ffn=64&vocab=37&context=300&seed=3&type="
enum { WIDTH = 37 }; /* floats per row */

typedef struct {
    spec_model *model; /* on the CPU, for its checkpoint */
    spec_weights weights;
    spec_forward forward;
    spec_kv kv;
} whole;

static void open_whole(whole *w, const spec_backend *on, const char *type)
{
    char spec[200];
    snprintf(spec, sizeof spec, SMALL "%s", type);
    w->model = model_of(spec, NULL);
    const spec_checkpoint *checkpoint = spec_transformer_of(w->model)->checkpoint;
    assert_works(spec_weights_init(&w->weights, checkpoint, SPEC_TENSOR_TYPES, on, &error));
    assert_works(spec_forward_init(&w->forward, &w->weights, &error));
    assert_works(on->kv_init(on, &w->kv, &checkpoint->shape, SPEC_TENSOR_F32, SLOTS, &error));
}

static void whole_free(whole *w)
{
    const spec_backend *on = w->weights.backend;
    spec_forward_free(&w->forward);
    on->kv_free(on, &w->kv);
    spec_weights_free(&w->weights);
    spec_model_close(w->model);
}

/* There are so many kinds of passes that recordings are evicted and made again; logits must equal
 * those without recordings. A draft uses its target's cache, and two sequences take turns, since a
 * kind includes layers and cache. */
TEST(evicted_recordings_change_no_result, SLOW)
{
    enum {
        TURNS = 2,
        TEXTS = 2,
        STARTS = 2,
        SETS = 2,
        KINDS = 5,
        ALL = KINDS * SETS * STARTS * TEXTS
    };
    static const int sets[SETS][3] = {{0, 1, 2}, {0, 1, 3}}, starts[STARTS] = {3, 250};
    static const int kinds[KINDS][2] = {{1, 1}, {1, 0}, {9, 9}, {9, 5}, {9, 0}};
    static float logits[2][TURNS * ALL][WIDTH];
    for (int records = 0; records < 2; records++) {
        OWNED(whole) w;
        spec_kv text[TEXTS];
        spec_test_context(0)->gpu.unrecorded = !records;
        close_gpu(NULL);
        open_gpu(NULL);
        open_whole(&w, gpu, "q8_0");
        for (int i = 0; i < TEXTS; i++) {
            int path[PASS_COLUMNS];
            spec_batch begin = text_batch(WIDTH, 3, 3, 0, path);
            begin.token[0] = 5 + i;
            assert_int_equal(
                gpu->kv_init(gpu, &text[i], &w.weights.shape, SPEC_TENSOR_F32, SLOTS, NULL),
                GSL_SUCCESS);
            spec_forward_begin(&w.forward, &text[i], &begin, (const int[]){0, 1, 2, 3}, 4);
            wait_for(&w.forward.queue);
        }
        for (int i = 0; i < TURNS * ALL; i++) {
            const int *kind = kinds[i % KINDS], n = kind[0], first = kind[1];
            int path[PASS_COLUMNS];
            spec_batch batch = text_batch(WIDTH, n, first, starts[i / KINDS / SETS % STARTS], path);
            for (int u = 0; u < n; u++) batch.token[u] = (batch.token[u] + i) % WIDTH;
            spec_forward_begin(&w.forward, &text[i / KINDS / SETS / STARTS % TEXTS], &batch,
                               sets[i / KINDS % SETS], 3);
            wait_for(&w.forward.queue);
            const float *last = w.forward.logits + (n - first - 1) * WIDTH;
            if (first < n) gpu->get(gpu, logits[records][i], last, sizeof logits[records][i]);
        }
        for (int i = 0; i < TEXTS; i++) gpu->kv_free(gpu, &text[i]);
    }
    assert_true((int)ALL > (int)SPEC_RECORDINGS_MAX);
    spec_test_context(0)->gpu.unrecorded = false;
    close_gpu(NULL);
    open_gpu(NULL);
    assert_memory_equal(logits[0], logits[1], sizeof logits[0]);
}

/* Ten passes of a sequence are queued, with slots moved in between: the upload for a pass must wait
 * for the previous pass. */
TEST(passes_need_not_be_waited_for)
{
    enum { PASSES = 10 };
    float logits[2][WIDTH];
    const int sublayer[] = {0, 1, 2, 3};
    for (int waits = 0; waits < 2; waits++) {
        OWNED(whole) w;
        open_whole(&w, gpu, "f32");
        for (int p = 0; p < PASSES; p++) {
            int path[PASS_COLUMNS];
            spec_batch batch = text_batch(WIDTH, 3, 2, 3 * p, path);
            for (int u = 0; u < 3; u++) batch.token[u] = (5 * p + u) % WIDTH;
            spec_forward_begin(&w.forward, &w.kv, &batch, sublayer, 4);
            memset(&batch, 0, sizeof batch); /* the caller may reuse it */
            memset(path, 0, sizeof path);
            const int from[] = {3 * p + 2};
            if (p % 3 == 1) gpu->keep(&w.forward.queue, &w.kv, from, 3 * p + 1, 1);
            if (waits) wait_for(&w.forward.queue);
        }
        wait_for(&w.forward.queue);
        gpu->get(gpu, logits[waits], w.forward.logits, sizeof logits[waits]);
    }
    assert_memory_equal(logits[0], logits[1], sizeof logits[0]);
}

/* Draws DRAFT tokens after a text of three: in one request, each pass after the token that the GPU
 * has drawn, or in a request for each token, which the host knows. */
enum { DRAFT = 5 };

static void draft_after_three(int *ret_token, float (*ret_logits)[WIDTH], whole *w, bool one_by_one)
{
    const int sublayer[] = {0, 1, 2, 3};
    int path[PASS_COLUMNS];
    void *law[DRAFT];
    const double uniform[DRAFT] = {0.27, 0.93, 0.6, 0.05, 0.71};
    const spec_transform transform = {.temperature = 1.3, .top_p = 0.97};
    spec_queue *queue = &w->forward.queue;
    for (int i = 0; i < DRAFT; i++) law[i] = allocated(gpu, gpu->law_bytes(WIDTH));
    for (int i = 0; i < DRAFT; i++) {
        spec_batch batch =
            text_batch(WIDTH, i == 0 ? 3 : 1, i == 0 ? 2 : 0, i == 0 ? 0 : 2 + i, path);
        if (i > 0) batch.token[0] = one_by_one ? ret_token[i - 1] : SPEC_TOKEN_DRAWN;
        spec_forward_begin(&w->forward, &w->kv, &batch, sublayer, 4);
        const int first = one_by_one ? i : 0;
        const spec_draw_request request = {.n = one_by_one ? 1 : DRAFT,
                                           .law = law + first,
                                           .transform = &transform,
                                           .opt_uniform = uniform + first,
                                           .logits = w->forward.logits};
        assert_works(gpu->draw(queue, &request, i - first, &error));
        if (one_by_one) assert_works(gpu->drawn(queue, &ret_token[i], 1, &error));
    }
    if (!one_by_one) assert_works(gpu->drawn(queue, ret_token, DRAFT, &error));
    char bytes[SAMPLING_LAW_BYTES + WIDTH * sizeof(float)];
    for (int i = 0; i < DRAFT; i++) {
        gpu->get(gpu, bytes, law[i], sizeof bytes);
        memcpy(ret_logits[i], bytes + SAMPLING_LAW_BYTES, sizeof ret_logits[i]);
        gpu->free(gpu, law[i]);
    }
}

TEST(a_draft_in_one_request_is_that_of_known_tokens)
{
    for (int records = 0; records < 2; records++) {
        OWNED(whole) w;
        int token[2][DRAFT];
        float logits[2][DRAFT][WIDTH];
        spec_test_context(0)->gpu.unrecorded = !records;
        close_gpu(NULL);
        open_gpu(NULL);
        open_whole(&w, gpu, "bf16");
        for (int i = 0; i < 2; i++) draft_after_three(token[i], logits[i], &w, i == 1);
        assert_memory_equal(token[0], token[1], sizeof token[0]);
        assert_memory_equal(logits[0], logits[1], sizeof logits[0]);
        assert_true(token[0][1] != token[0][2] || token[0][2] != token[0][3]);
    }
    spec_test_context(0)->gpu.unrecorded = false;
    close_gpu(NULL);
    open_gpu(NULL);
}

/* -- failures -- */

TEST(a_text_beyond_the_context_is_refused)
{
    OWNED(whole) w;
    spec_error error = {""};
    const int sublayer[] = {0, 1};
    int path[1] = {600}, token;
    open_whole(&w, gpu, "f32");
    spec_batch batch = {.n = 1, .past = {600}, .path_begin = {0, 1}, .path = path};
    spec_forward_begin(&w.forward, &w.kv, &batch, sublayer, 2);
    assert_fails_with(spec_forward_wait(&w.forward, &error), GSL_EINVAL, "context of 300");
    assert_int_equal(gpu->argmax(&w.forward.queue, &token, w.forward.logits, 1, &error),
                     GSL_EINVAL);
}

/* With a fault at any launch, _wait and every later call fail; nothing crashes, all memory is
 * freed. */
TEST(a_fault_in_a_pass_fails_all_later_calls)
{
    if (spec_card_is_real()) skip();
    static const char *const at[] = {"1", "2", "7", "24", "25", "60"};
    const int sublayer[] = {0, 1, 2, 3};
    for (int k = 0; k < 6; k++)
        for (int records = 0; records < 2; records++) {
            OWNED(whole) w;
            spec_error error = {""};
            int path[PASS_COLUMNS], token[3];
            double row[WIDTH], *into[] = {row};
            close_gpu(NULL);
            setenv("SIM_FAULT_AT", at[k], 1);
            spec_test_context(0)->gpu.unrecorded = !records;
            open_gpu(NULL);
            open_whole(&w, gpu, "bf16");
            int status = GSL_SUCCESS;
            for (int pass = 0; pass < 4 && status == GSL_SUCCESS; pass++) {
                const spec_batch batch = text_batch(WIDTH, 3, 0, 3 * pass, path);
                spec_forward_begin(&w.forward, &w.kv, &batch, sublayer, 4);
                status = spec_forward_wait(&w.forward, &error);
            }
            assert_int_equal(status, GSL_EFAILED);
            assert_non_null(strstr(error.text, "ILLEGAL_ADDRESS"));
            spec_error again = {""};
            assert_int_equal(gpu->argmax(&w.forward.queue, token, w.forward.logits, 3, &again),
                             GSL_EFAILED);
            assert_string_equal(again.text, error.text);
            assert_int_equal(gpu->draw(&w.forward.queue, &(spec_draw_request){.n = 1}, 0, &again),
                             GSL_EFAILED);
            assert_int_equal(gpu->drawn(&w.forward.queue, token, 1, &again), GSL_EFAILED);
            assert_int_equal(gpu->rows(&w.forward.queue, into, w.forward.logits, 1.0, 1, &again),
                             GSL_EFAILED);
            const spec_batch batch = text_batch(WIDTH, 3, 0, 0, path);
            spec_forward_begin(&w.forward, &w.kv, &batch, sublayer, 4);
            gpu->keep(&w.forward.queue, &w.kv, path, 0, 1);
            assert_int_equal(spec_forward_wait(&w.forward, &again), GSL_EFAILED);
            void *memory;
            assert_int_equal(gpu->alloc(gpu, &memory, 100, &again), GSL_EFAILED);
        }
    close_gpu(NULL);
    unsetenv("SIM_FAULT_AT");
    spec_test_context(0)->gpu.unrecorded = false;
    open_gpu(NULL);
}

TEST(a_pass_that_cannot_be_recorded_says_why)
{
    if (spec_card_is_real()) skip();
    OWNED(whole) w;
    int path[PASS_COLUMNS];
    spec_error error = {""};
    open_whole(&w, gpu, "bf16");
    setenv("SIM_FAIL", "cuGraphUpload:2", 1);
    const spec_batch batch = text_batch(WIDTH, 3, 0, 0, path);
    spec_forward_begin(&w.forward, &w.kv, &batch, (const int[]){0, 1, 2, 3}, 4);
    assert_int_equal(spec_forward_wait(&w.forward, &error), GSL_EFAILED);
    unsetenv("SIM_FAIL");
    const char *end = strstr(error.text, ": a pass could not be recorded: ");
    assert_non_null(end);
    assert_string_equal(end, ": a pass could not be recorded: CUDA_ERROR_OUT_OF_MEMORY (out of "
                             "memory); SPECLAB_GPU_RECORD=0 runs passes without recording");
}

/* Wherever memory runs out, a message reports it, and nothing leaks (the simulated driver
 * checks). */
TEST(too_little_memory_is_reported)
{
    if (spec_card_is_real()) skip();
    OWNED_MODEL *model;
    spec_error error = {""};
    model = model_of(SMALL "f16", NULL);
    const spec_checkpoint *checkpoint = spec_transformer_of(model)->checkpoint;
    int refused = 0, made = 0;
    for (size_t bytes = 1 << 12; bytes <= (size_t)1 << 26; bytes += bytes / 2) {
        char text[32];
        snprintf(text, sizeof text, "%zu", bytes);
        close_gpu(NULL);
        setenv("SIM_MEMORY", text, 1);
        open_gpu(NULL);
        OWNED(spec_weights) weights;
        OWNED(spec_forward) forward = {0};
        spec_kv kv = {0};
        int status = spec_weights_init(&weights, checkpoint, SPEC_TENSOR_TYPES, gpu, &error);
        if (status == GSL_SUCCESS) status = spec_forward_init(&forward, &weights, &error);
        if (status == GSL_SUCCESS)
            status = gpu->kv_init(gpu, &kv, &checkpoint->shape, SPEC_TENSOR_BF16, SLOTS, &error);
        if (status == GSL_SUCCESS) made++;
        else refused += status == GSL_ENOMEM && strstr(error.text, " free of ") != NULL;
        gpu->kv_free(gpu, &kv);
    }
    close_gpu(NULL);
    unsetenv("SIM_MEMORY");
    open_gpu(NULL);
    printf("%d sizes of a card refused, %d enough\n", refused, made);
    assert_true(refused > 10 && made > 2 && refused + made == 24);
}

SUITE(SIMULATOR, .setup = open_gpu, .teardown = close_gpu);
