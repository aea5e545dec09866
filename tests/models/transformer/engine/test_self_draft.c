/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Drafts that are made from the target: a shared KV cache gives the same rows and is computed once,
 * as the backend's counts of stored tokens show. */
#include "base/noise.h"
#include "models/model_kinds.h"
#include "models/model_open.h"
#include "models/transformer/engine/transformer.h"
#include "tests/models/transformer/engine/reference_pass.h"
#include "tests/support/contexts.h"
#include "tests/support/model_of.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

enum { V = 11, LAYERS = 3, CONTEXT = 200, PROMPT = 9 };
static const char target_spec[] =
    "random?dim=32&layers=3&heads=2&ffn=64&vocab=11&context=200&type=f32";

/* ---- a counting backend ---------------------------------------------------------------------- */

static int columns, stored[LAYERS], n_passes;

static bool count_begin(spec_queue *queue, const spec_batch *batch, const spec_kv *kv,
                        const int *sublayer, int n_sublayers)
{
    columns = batch->n;
    n_passes++;
    return spec_backend_cpu.begin(queue, batch, kv, sublayer, n_sublayers);
}

static void count_store(spec_queue *queue, spec_kv *kv, int layer, float *qkv)
{
    stored[layer] += columns;
    spec_backend_cpu.store(queue, kv, layer, qkv);
}

static spec_transformer *open_target(const spec_backend *backend)
{
    OWNED(spec_settings) settings;
    spec_transformer *model = calloc(1, sizeof *model);
    assert_non_null(model);
    assert_works(spec_settings_init(&settings, target_spec, &error));
    assert_works(
        spec_checkpoint_load_random(&model->own_checkpoint, &settings, spec_test_pool(0), &error));
    spec_checkpoint_draw(&model->own_checkpoint);
    assert_works(spec_weights_init(&model->own_weights, &model->own_checkpoint, SPEC_TENSOR_TYPES,
                                   backend, &error));
    assert_works(spec_transformer_init(model, &model->own_checkpoint, &model->own_weights,
                                       &settings, &error));
    model->head.kind = &spec_model_random;
    model->head.spec = strdup(target_spec);
    return model;
}

/* ---- a text, in rounds ----------------------------------------------------------------------- */

typedef struct {
    spec_session draft, target;
    int context[CONTEXT];
    size_t n;
    uint64_t noise;
} reading;

static void open_reading(reading *r, const spec_model *draft, const spec_model *target, bool share)
{
    assert_works(spec_session_init(&r->draft, draft, &error));
    assert_works(spec_session_init(&r->target, target, &error));
    if (share) assert_true(spec_session_share(&r->draft, &r->target));
    r->n = PROMPT;
    r->noise = 42;
    for (int i = 0; i < PROMPT; i++) r->context[i] = i * 7 % V;
}

static void reading_free(reading *r)
{
    spec_session_free(&r->draft);
    spec_session_free(&r->target);
}

static int draw(reading *r, int n)
{
    return (int)((r->noise = spec_noise_mix(r->noise)) % (uint64_t)n);
}

enum { K = 4, NODES = 6 };
static const int tree[NODES] = {-1, -1, 0, 0, 1, 2}; /* in levels that end with nodes 1, 4 and 5 */

/* Runs one round: a chain or a tree of random tokens, level by level; the target's rows; then a
 * path is kept. The rows of the draft and then of the target go into `rows` (2, NODES + 1, V). */
static void go_round(reading *r, bool branches, double *rows)
{
    static const int ends[] = {0, 2, 5, NODES};
    int token[NODES];
    const double *row[NODES + 1];
    const int n_nodes = branches ? NODES : K, *parent = branches ? tree : NULL;
    double scratch[(NODES + 1) * V];
    for (int i = 0; i < n_nodes; i++) token[i] = draw(r, V);
    for (int level = 0, first = 0; level < (branches ? 3 : K); level++) {
        const int end = branches ? ends[level] : level;
        assert_works(spec_session_score(&r->draft,
                                        &(spec_score_request){.context = r->context,
                                                              .n_context = r->n,
                                                              .token = token,
                                                              .opt_parent = parent,
                                                              .n_nodes = end,
                                                              .first = first,
                                                              .ret_row = row,
                                                              .scratch = scratch},
                                        &error));
        for (int i = first; i <= end; i++) memcpy(rows + i * V, row[i], V * sizeof *rows);
        first = end + 1;
    }
    rows += (NODES + 1) * V;
    assert_works(spec_session_score(&r->target,
                                    &(spec_score_request){.context = r->context,
                                                          .n_context = r->n,
                                                          .token = token,
                                                          .opt_parent = parent,
                                                          .n_nodes = n_nodes,
                                                          .ret_row = row,
                                                          .scratch = scratch},
                                    &error));
    for (int i = 0; i <= n_nodes; i++) memcpy(rows + i * V, row[i], V * sizeof *rows);
    if (branches) {
        static const int path[] = {0, 2, 5};
        const int kept = draw(r, 4);
        for (int i = 0; i < kept; i++) r->context[r->n++] = token[path[i]];
    } else {
        const int kept = draw(r, K + 1);
        for (int i = 0; i < kept; i++) r->context[r->n++] = token[i];
    }
    r->context[r->n++] = draw(r, V);
}

enum { ROUNDS = 25, ROWS = 2 * (NODES + 1) * V };

TEST(a_shared_cache_of_first_layers_gives_the_same_rows_and_is_computed_once)
{
    spec_backend counting = *spec_test_context(0)->cpu;
    counting.begin = count_begin;
    counting.store = count_store;
    spec_transformer *target = open_target(&counting);
    spec_model *draft;
    assert_works(
        spec_model_open(&draft, "layers?exit=2", &target->head, spec_test_context(0), &error));
    for (int branches = 0; branches <= 1; branches++) {
        static double alone[ROUNDS][ROWS], shared[ROUNDS][ROWS];
        memset(alone, 0, sizeof alone);
        memset(shared, 0, sizeof shared);
        reading r;
        open_reading(&r, draft, &target->head, false);
        for (int i = 0; i < ROUNDS; i++) go_round(&r, branches, alone[i]);
        reading_free(&r);

        memset(stored, 0, sizeof stored);
        n_passes = 0;
        open_reading(&r, draft, &target->head, true);
        for (int i = 0; i < ROUNDS; i++) go_round(&r, branches, shared[i]);
        reading_free(&r);
        assert_memory_equal(alone, shared, sizeof alone);
        /* The target computes each token of the text once, in addition to the tokens that it
         * verifies. The draft computes its part of a round: the last token and all nodes with
         * children. */
        const int begin = target->checkpoint->adds_begin ? 1 : 0;
        const int verified = begin + PROMPT - 1 + ROUNDS * (1 + (branches ? NODES : K));
        const int drafted = ROUNDS * (branches ? 1 + 5 : K), levels = branches ? 3 : K;
        assert_int_equal(stored[2], verified);
        assert_int_equal(stored[1], verified + drafted);
        assert_int_equal(stored[0], verified + drafted);
        assert_int_equal(n_passes, 1 + ROUNDS * (1 + levels));
    }
    spec_model_close(draft);
    spec_model_close(&target->head);
}

/* Layers after a skipped sublayer, or after attention with a window, see the text as the target
 * computed it. Their rows differ from those of a separate draft, but are a function of context and
 * draft, whatever was read before. */
static void check_that_the_text_alone_decides(const char *spec)
{
    spec_transformer *target = open_target(spec_test_context(0)->cpu);
    spec_model *draft = model_of(spec, &target->head);
    static double after[ROWS], fresh[ROWS], alone[ROWS];
    reading r, f;
    open_reading(&r, draft, &target->head, true);
    for (int i = 0; i < ROUNDS; i++) {
        const bool branches = i % 3 == 1;
        memset(after, 0, sizeof after);
        memset(fresh, 0, sizeof fresh);
        memset(alone, 0, sizeof alone);
        for (int share = 0; share <= 1; share++) {
            open_reading(&f, draft, &target->head, share);
            memcpy(f.context, r.context, sizeof f.context);
            f.n = r.n;
            f.noise = r.noise;
            go_round(&f, branches, share ? fresh : alone);
            reading_free(&f);
        }
        if (i % 4 == 3) { /* first the target reads another text */
            const double *row;
            double scratch[V];
            assert_works(spec_session_score(&r.target,
                                            &(spec_score_request){.context = r.context,
                                                                  .n_context = r.n - 2,
                                                                  .ret_row = &row,
                                                                  .scratch = scratch},
                                            &error));
        }
        go_round(&r, branches, after);
        assert_memory_equal(after, fresh, sizeof after);
        assert_true(memcmp(after, alone, sizeof after / 2) != 0); /* the draft's */
        assert_memory_equal(after + ROWS / 2, alone + ROWS / 2,
                            sizeof after - sizeof after / 2); /* the target's */
    }
    reading_free(&r);
    spec_model_close(draft);
    spec_model_close(&target->head);
}

TEST(a_shared_cache_behind_skipped_sublayers_depends_on_the_text_alone)
{
    check_that_the_text_alone_decides("layers?skip=0f.1a");
}

TEST(a_shared_cache_behind_a_window_depends_on_the_text_alone)
{
    check_that_the_text_alone_decides("layers?window=3&sink=2");
}

/* The output weights of a sublayer are set to zero, so that it adds zeros. */
TEST(a_skipped_sublayer_is_one_that_adds_nothing)
{
    spec_transformer *target = open_target(spec_test_context(0)->cpu);
    for (int skipped = 0; skipped < 2 * LAYERS; skipped++) {
        static double with[ROWS], without[ROWS];
        spec_model *draft;
        char spec[32];
        spec_transformer *zeroed = open_target(spec_test_context(0)->cpu);
        const spec_checkpoint_layer *layer = &zeroed->own_checkpoint.layer[skipped / 2];
        const spec_tensor *out = skipped % 2 == 0 ? &layer->attention_output : &layer->down;
        memset((void *)out->data, 0,
               (size_t)out->rows * spec_tensor_row_bytes(out->type, out->cols));
        spec_weights_free(&zeroed->own_weights);
        assert_works(spec_weights_init(&zeroed->own_weights, &zeroed->own_checkpoint,
                                       SPEC_TENSOR_TYPES, spec_test_context(0)->cpu, &error));
        snprintf(spec, sizeof spec, "layers?skip=%d%c", skipped / 2, "af"[skipped % 2]);
        draft = model_of(spec, &target->head);
        reading r;
        for (int branches = 0; branches <= 1; branches++) {
            memset(with, 0, sizeof with);
            memset(without, 0, sizeof without);
            open_reading(&r, draft, draft, false);
            go_round(&r, branches, without);
            reading_free(&r);
            open_reading(&r, &zeroed->head, &zeroed->head, false);
            go_round(&r, branches, with);
            reading_free(&r);
            assert_memory_equal(with, without, sizeof with);
        }
        spec_model_close(draft);
        spec_model_close(&zeroed->head);
    }
    spec_model_close(&target->head);
}

/* ---- windows --------------------------------------------------------------------------------- */

static double distance_from_reference(const double *row, const double *logits)
{
    double largest = logits[0], sum = 0.0, worst = 0.0;
    for (int i = 1; i < V; i++) largest = fmax(largest, logits[i]);
    for (int i = 0; i < V; i++) sum += exp(logits[i] - largest);
    for (int i = 0; i < V; i++) worst = fmax(worst, fabs(row[i] - exp(logits[i] - largest) / sum));
    return worst;
}

/* A draft with its own cache has read the whole text with the window; one that shares the target's
 * has used the window only at the last token of the text and at its own tokens. Measured: 2e-7.
 * With the two exchanged, the difference is 0.01. */
TEST(a_window_agrees_with_double_precision, SLOW)
{
    static const char *const targets[] = {
        target_spec,
        "random?dim=32&layers=3&heads=2&kv_heads=1&ffn=64&vocab=11&context=200&type=f32&seed=5",
        "random?dim=32&layers=4&heads=2&ffn=64&vocab=11&context=200&type=f32&attends=2"};
    static const reference_omissions windows[] = {
        {.window = 2}, {.window = 3, .sink = 2}, {.window = 70, .sink = 4}};
    for (int i = 0; i < 3 * 3 * 2; i++) {
        const bool shares = i % 2 != 0;
        reference_omissions omit = windows[i / 2 % 3];
        char spec[64];
        OWNED_MODEL *target = model_of(targets[i / 6], NULL);
        const spec_transformer *model = spec_transformer_of(target);
        reading r;
        snprintf(spec, sizeof spec, "layers?window=%d&sink=%d", omit.window, omit.sink);
        spec_model *draft = model_of(spec, target);
        open_reading(&r, draft, target, shares);
        double worst = 0.0, other = 0.0;
        for (int round = 0; round < 8; round++) {
            int token[K], text[CONTEXT];
            size_t n;
            const double *row[K + 1];
            double scratch[(K + 1) * V];
            FREED double *logits = reference_vector(CONTEXT * V);
            for (int k = 0; k < K; k++) token[k] = draw(&r, V);
            const spec_score_request request = {.context = r.context,
                                                .n_context = r.n,
                                                .token = token,
                                                .n_nodes = K,
                                                .ret_row = row,
                                                .scratch = scratch};
            assert_works(spec_session_score(&r.draft, &request, &error));
            assert_works(spec_transformer_text(model, text, &n, r.context, r.n, &error));
            memcpy(text + n, token, sizeof token);
            for (int swapped = 0; swapped <= 1; swapped++) {
                omit.from = shares != swapped ? (int)n - 1 : 0;
                reference_states_without(logits, NULL, model->checkpoint, text, (int)n + K, false,
                                         &omit);
                for (int k = 0; k <= K; k++) {
                    double *to = swapped ? &other : &worst;
                    *to = fmax(*to,
                               distance_from_reference(row[k], logits + (n - 1 + (size_t)k) * V));
                }
            }
            for (int k = 0; k < 9 + 4 * round; k++)
                r.context[r.n++] = k < 2 ? token[k] : draw(&r, V);
        }
        printf("%s of %s, %s: %.2g, and %.2g\n", spec, targets[i / 6],
               shares ? "shared" : "its own", worst, other);
        assert_true(worst < 2e-6 && other > 1e-3);
        reading_free(&r);
        spec_model_close(draft);
    }
}

/* Rows are the same bit for bit, in a shared cache and in the draft's own; also if sinks and window
 cover the whole context. */
TEST(a_window_of_the_whole_context_is_the_target)
{
    spec_transformer *target = open_target(spec_test_context(0)->cpu);
    static double with[ROWS], without[ROWS];
    static const char *const whole[] = {"layers?window=200&sink=0", "layers?window=20&sink=180"};
    for (int way = 0; way < 2 * 2; way++) {
        const bool share = way % 2 != 0;
        spec_model *const draft = model_of(whole[way / 2], &target->head), *const same = model_of(
                                                                               "layers",
                                                                               &target->head);
        reading r, s;
        open_reading(&r, draft, &target->head, share);
        open_reading(&s, same, &target->head, share);
        for (int i = 0; i < ROUNDS; i++) {
            memset(with, 0, sizeof with);
            memset(without, 0, sizeof without);
            go_round(&r, i % 3 == 1, with);
            go_round(&s, i % 3 == 1, without);
            assert_memory_equal(with, without, sizeof with);
        }
        reading_free(&r);
        reading_free(&s);
        spec_model_close(draft);
        spec_model_close(same);
    }
    spec_model_close(&target->head);
}

/* A prompt that takes several passes, whose tokens have different windows. */
TEST(a_window_reads_a_prompt_at_once_or_token_by_token)
{
    enum { LONG = 170 };
    OWNED_MODEL *target = model_of(target_spec, NULL);
    OWNED_MODEL *draft = model_of("layers?window=11&sink=3", target);
    OWNED(spec_session) at_once, stepwise;
    spec_error error;
    int context[LONG];
    double once[V], scratch[V];
    const double *row = NULL;
    for (int i = 0; i < LONG; i++) context[i] = i * i % V;
    assert_works(spec_session_init(&at_once, draft, &error));
    assert_works(spec_session_init(&stepwise, draft, &error));
    assert_non_null(row = spec_session_row(&at_once, context, LONG, once, &error));
    memcpy(once, row, sizeof once);
    for (size_t n = 1; n <= LONG; n++)
        assert_non_null(row = spec_session_row(&stepwise, context, n, scratch, &error));
    assert_memory_equal(once, row, sizeof once);
}

/* ---- specs ----------------------------------------------------------------------------------- */

static void row_of(double *ret_row, const char *spec, const spec_model *opt_target)
{
    OWNED_MODEL *model;
    OWNED(spec_session) session;
    spec_error error = {""};
    double scratch[V];
    const int context[] = {3, 1, 4, 1, 5};
    model = model_of(spec, opt_target);
    assert_works(spec_session_init(&session, model, &error));
    const double *row = spec_session_row(&session, context, 5, scratch, &error);
    assert_non_null(row);
    memcpy(ret_row, row, V * sizeof *row);
}

TEST(layers_and_types_are_what_their_specs_say)
{
    OWNED_MODEL *target;
    double whole[V], same[V], other[V];
    target = model_of(target_spec, NULL);
    row_of(whole, target_spec, NULL);
    static const char *const all[] = {"layers", "layers?exit=3",
                                      "layers?exit=0&skip=none&of=target", "quantised?type=f32"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        row_of(same, all[i], target);
        assert_memory_equal(whole, same, sizeof whole);
    }
    row_of(same, "layers?exit=1", target);
    row_of(other, "layers?skip=2.1", target);
    assert_memory_equal(same, other, sizeof same);
    row_of(other, "layers?exit=2&skip=1", target);
    assert_memory_equal(same, other, sizeof same);
    row_of(other, "layers?skip=1f.1a.2", target);
    assert_memory_equal(same, other, sizeof same);
    row_of(other, "layers?skip=1f.2", target);
    assert_true(memcmp(same, other, sizeof same) != 0);
    row_of(other, "layers?skip=0.1", target);
    assert_true(memcmp(same, other, sizeof same) != 0);
    assert_true(memcmp(same, whole, sizeof same) != 0);

    /* With weights of another type rows are close, and closer with more bits. */
    double off[3] = {0.0, 0.0, 0.0};
    static const char *const types[] = {"quantised?type=bf16", "quantised", "quantised?type=q4_0"};
    for (int t = 0; t < 3; t++) {
        row_of(other, types[t], target);
        for (int i = 0; i < V; i++) off[t] += other[i] > whole[i] ? other[i] - whole[i] : 0.0;
    }
    print_message("total variation of bf16 %.2g, q8_0 %.2g, q4_0 %.2g\n", off[0], off[1], off[2]);
    assert_true(off[0] > 0.0 && off[1] > 0.0 && off[0] < 0.02 && off[1] < 0.02 && off[2] > off[1] &&
                off[2] < 0.2);

    /* A draft has its own temperature. */
    OWNED_MODEL *cold;
    assert_works(spec_model_open(&cold, "layers?exit=2&temperature=0", target, spec_test_context(0),
                                 &error));
    assert_true(cold->one_hot);
    assert_int_equal(cold->vocab, V);
    assert_int_equal(cold->window, target->window);
}

TEST(a_draft_of_a_wrapped_target_is_of_the_model_inside)
{
    spec_model *target, *draft;
    char spec[128];
    double inside[V], whole[V];
    reading r;
    snprintf(spec, sizeof spec, "%s&temperature=0.7&top_k=3", target_spec);
    target = model_of(spec, NULL);
    row_of(inside, "layers", target);
    row_of(whole, target_spec, NULL);
    assert_memory_equal(inside, whole, sizeof whole);
    assert_works(
        spec_model_open(&draft, "layers?exit=1&top_p=0.9", target, spec_test_context(0), &error));
    open_reading(&r, draft, target, true); /* through wrappers on both sides */
    double rows[ROWS];
    for (int i = 0; i < 5; i++) go_round(&r, false, rows);
    reading_free(&r);
    spec_model_close(draft);
    draft = model_of("quantised", target);
    spec_session one, other;
    assert_works(spec_session_init(&one, draft, &error));
    assert_works(spec_session_init(&other, target, &error));
    assert_false(spec_session_share(&one, &other)); /* other weights */
    spec_session_free(&one);
    spec_session_free(&other);
    spec_model_close(draft);
    spec_model_close(target);
}

TEST(bad_specs_are_refused_with_a_line)
{
    static const struct {
        const char *spec, *says;
    } bad[] = {
        {"layers?exit=4", "exit=4"},
        {"layers?exit=-1", "exit=-1"},
        {"layers?skip=3", "'3'"},
        {"layers?skip=", "''"},
        {"layers?skip=0.x", "'x'"},
        {"layers?skip=0.", "''"},
        {"layers?skip=0.1.2", "none of the 3 layers"},
        {"layers?exit=1&skip=1", "'1'"},
        {"layers?skip=0a.0f.1.2", "none of the 3 layers"},
        {"layers?skip=3a", "'3a'"},
        {"layers?skip=9x", "'9x'"},
        {"layers?skip=a", "'a'"},
        {"layers?skip=1af", "'1af'"},
        {"layers?skip=00000001", "'00000001'"},
        {"layers?skip=-1", "'-1'"},
        {"layers?of=draft", "of"},
        {"layers?window=-1", "window=-1"},
        {"layers?window=1048577", "window=1048577"},
        {"layers?window=x", "window=x"},
        {"layers?window=9&sink=-1", "sink=-1"},
        {"layers?sink=4", "without a window"},
        {"layers?window=0&sink=0", "without a window"},
        {"quantised?window=9", "window"},
        {"quantised?type=q5", "q5"},
        {"quantised?exit=1", "exit"},
    };
    spec_model *target, *draft, *zipf;
    spec_error error = {""};
    target = model_of(target_spec, NULL);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(spec_model_open(&draft, bad[i].spec, target, spec_test_context(0), &error),
                         GSL_EINVAL);
        if (strstr(error.text, bad[i].says) == NULL) fail_msg("%s: '%s'", bad[i].spec, error.text);
        assert_null(draft);
    }
    zipf = model_of("zipf?V=11", NULL);
    assert_fails_with(spec_model_open(&draft, "layers?exit=1", zipf, spec_test_context(0), &error),
                      GSL_EINVAL, "zipf");
    assert_int_equal(spec_model_open(&draft, "quantised", NULL, spec_test_context(0), &error),
                     GSL_EINVAL);
    spec_model_close(zipf);
    spec_model_close(target);
}
