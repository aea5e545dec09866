/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks hybrids (recurrent layers, gated attention, partial rotation and the expert that every
 * token takes) against the recurrence in double precision, token after token. */
#include "models/transformer/engine/delta.h"

#include "tests/models/transformer/engine/odd_checkpoint.h"
#include "tests/models/transformer/engine/reference_pass.h"
#include "tests/support/contexts.h"
#include "tests/support/model_of.h"
#include "tests/support/support.h"

enum { TOKENS = 230, FORMS = 3 };

static const odd_form forms[FORMS] = {
    {{.dim = 40,
      .n_layers = 4,
      .n_heads = 4,
      .n_kv_heads = 2,
      .head_dim = 16,
      .ffn_dim = 33,
      .vocab = 51,
      .context = 600,
      .norm_eps = 1e-6f,
      .rope.base = 10000.0,
      .rope_pairs = SPEC_ROPE_HALVES,
      .rotated = 4,
      .gates_attention = true,
      .delta = {.n_layers = 3,
                .n_key_heads = 2,
                .n_value_heads = 6,
                .key_dim = 10,
                .value_dim = 12,
                .kernel = 4,
                .is_tiled = true}},
     .normed_heads = true,
     .recurrent_period = 4},
    {{.dim = 64,
      .n_layers = 3,
      .n_heads = 4,
      .n_kv_heads = 1,
      .head_dim = 24,
      .ffn_dim = 40,
      .vocab = 75,
      .context = 600,
      .norm_eps = 1e-5f,
      .rope.base = 500.0,
      .rope_pairs = SPEC_ROPE_HALVES,
      .rotated = 12,
      .gates_attention = true,
      .n_experts = 6,
      .n_active = 2,
      .expert_dim = 32,
      .delta = {.n_layers = 2,
                .n_key_heads = 2,
                .n_value_heads = 4,
                .key_dim = 32,
                .value_dim = 16,
                .kernel = 3}},
     .normed_heads = true,
     .mixes_beta = true,
     .recurrent_period = 3,
     .tied = true},
    {{.dim = 32,
      .n_layers = 2,
      .n_heads = 2,
      .n_kv_heads = 2,
      .head_dim = 16,
      .ffn_dim = 64,
      .vocab = 30,
      .context = 600,
      .norm_eps = 1e-6f,
      .rope.base = 500.0,
      .rope_pairs = SPEC_ROPE_HALVES,
      .gates_attention = true,
      .delta = {.n_layers = 1,
                .n_key_heads = 3,
                .n_value_heads = 3,
                .key_dim = 17,
                .value_dim = 33,
                .kernel = 1}},
     .normed_heads = true,
     .recurrent_period = 2},
};

static void draw_tokens(int *token, int n, int vocab)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_taus2, 3);
    for (int t = 0; t < n; t++) token[t] = (int)gsl_rng_uniform_int(rng, (unsigned long)vocab);
}

/* Measured: 5e-6 at worst, after the states of several anchors. */
TEST(rows_are_those_of_the_recurrence)
{
    for (int k = 0; k < FORMS; k++) {
        const int vocab = forms[k].shape.vocab, columns[] = {1, 7, 64};
        FREED double *truth = reference_vector(TOKENS * vocab);
        FREED float *first = malloc(TOKENS * (size_t)vocab * sizeof *first);
        FREED float *logits = malloc(TOKENS * (size_t)vocab * sizeof *logits);
        int token[TOKENS];
        spec_checkpoint c;
        spec_weights weights;
        assert_non_null(first);
        assert_non_null(logits);
        draw_tokens(token, TOKENS, vocab);
        make_odd_checkpoint(&c, &forms[k], SPEC_TENSOR_F32);
        assert_works(
            spec_weights_init(&weights, &c, SPEC_TENSOR_TYPES, spec_test_context(0)->cpu, &error));
        reference_pass(truth, &c, token, TOKENS, false);
        for (int i = 0; i < 3; i++) {
            engine_pass(i == 0 ? first : logits, &weights, token, TOKENS, columns[i]);
            if (i > 0) assert_memory_equal(first, logits, TOKENS * (size_t)vocab * sizeof *first);
        }
        const double worst = reference_error(first, truth, TOKENS, vocab);
        printf("form %d: error %.2g of the spread\n", k, worst);
        assert_true(worst < 2e-5);
        spec_weights_free(&weights);
        spec_checkpoint_free(&c);
    }
}

/* Leaving out any step of the definition changes logits, so a test would see it. */
TEST(each_step_of_a_hybrid_matters)
{
    static const struct {
        const char *name;
        reference_omissions omit;
    } steps[] = {
        {"decay", {.delta.no_decay = true}},
        {"correction", {.delta.no_correction = true}},
        {"bias", {.delta.no_bias = true}},
        {"lengths of keys", {.delta.no_lengths = true}},
        {"convolution", {.delta.no_convolution = true}},
        {"gate", {.delta.no_gate = true}},
        {"norm", {.delta.no_norm = true}},
        {"gate of attention", {.no_attention_gate = true}},
        {"gate of the shared expert", {.no_shared_gate = true}},
    };
    enum { SHORT = 40 };
    const odd_form *form = &forms[1]; /* with experts */
    const int vocab = form->shape.vocab;
    FREED double *truth = reference_vector(SHORT * vocab);
    FREED double *other = reference_vector(SHORT * vocab);
    FREED float *logits = malloc(SHORT * (size_t)vocab * sizeof *logits);
    int token[SHORT];
    spec_checkpoint c;
    assert_non_null(logits);
    draw_tokens(token, SHORT, vocab);
    make_odd_checkpoint(&c, form, SPEC_TENSOR_F32);
    reference_pass(truth, &c, token, SHORT, false);
    for (int i = 0; i < SHORT * vocab; i++) logits[i] = (float)truth[i];
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        reference_states_without(other, NULL, &c, token, SHORT, false, &steps[i].omit);
        const double change = reference_error(logits, other, SHORT, vocab);
        printf("without %s: %.2g of the spread\n", steps[i].name, change);
        assert_true(change > 1e-2);
    }
    spec_checkpoint_free(&c);
}

/* ---- sessions -------------------------------------------------------------------------------- */

enum { VOCAB = 23, LONGEST = 300, NODES = 90, STEPS = 60 };

typedef struct {
    gsl_rng *rng;
    spec_model *model;
    spec_session session;
    int text[LONGEST + NODES]; /* the rest is room for a path */
    size_t n;
    int token[NODES], parent[NODES], n_nodes;
    double *scratch, *fresh; /* (NODES + 1, VOCAB) */
} walk;

static walk walk_of(const char *spec, unsigned long seed)
{
    walk w = {.rng = spec_test_rng(gsl_rng_taus2, seed),
              .model = model_of(spec, NULL),
              .scratch = malloc((NODES + 1) * VOCAB * sizeof *w.scratch),
              .fresh = malloc((NODES + 1) * VOCAB * sizeof *w.fresh)};
    assert_non_null(w.scratch);
    assert_non_null(w.fresh);
    assert_works(spec_session_init(&w.session, w.model, &error));
    return w;
}

static void walk_free(walk *w)
{
    spec_session_free(&w->session);
    spec_model_close(w->model);
    gsl_rng_free(w->rng);
    free(w->scratch);
    free(w->fresh);
}

static int pick(walk *w, int n)
{
    return (int)gsl_rng_uniform_int(w->rng, (unsigned long)n);
}

static int depth_of(const walk *w, int node)
{
    int depth = 0;
    for (; node >= 0; node = w->parent[node]) depth++;
    return depth;
}

/* Lists the tokens on the path to a node; returns their number. */
static size_t path_to(const walk *w, int *path, int node)
{
    const int depth = depth_of(w, node);
    for (int i = depth; node >= 0; node = w->parent[node]) path[--i] = w->token[node];
    return (size_t)depth;
}

/* Makes the next text: it continues along the last tree, or by any token, goes back by some or
 * many, or is another text. */
static void move(walk *w)
{
    if (w->n_nodes > 0 && pick(w, 3) > 0) w->n += path_to(w, w->text + w->n, pick(w, w->n_nodes));
    for (int more = pick(w, 6) == 0 ? 70 : pick(w, 2); more > 0 && w->n < LONGEST; more--)
        w->text[w->n++] = pick(w, VOCAB);
    if (pick(w, 5) == 0 && w->n > 40) w->n -= (size_t)pick(w, 40);
    if (pick(w, 15) == 0) w->n = (size_t)pick(w, (int)w->n + 1);
    if (pick(w, 15) == 0 && w->n > 0) w->text[pick(w, (int)w->n)] = pick(w, VOCAB);
    if (w->n > LONGEST - 80) w->n = (size_t)pick(w, 100);
}

/* Makes a chain of up to SPEC_DELTA_DEPTH tokens, or a tree of at most as many levels. */
static void grow(walk *w)
{
    const bool chain = pick(w, 2) == 0;
    w->n_nodes = pick(w, chain ? SPEC_DELTA_DEPTH + 1 : NODES + 1);
    for (int i = 0; i < w->n_nodes; i++) {
        w->token[i] = pick(w, VOCAB);
        w->parent[i] = chain ? i - 1 : pick(w, i + 1) - 1;
        if (depth_of(w, i) > SPEC_DELTA_DEPTH) w->parent[i] = -1;
    }
}

static void check_row(walk *w, const double *row, int node)
{
    const double *expected;
    spec_session fresh;
    const size_t depth = path_to(w, w->text + w->n, node);
    const spec_score_request request = {
        .context = w->text, .n_context = w->n + depth, .ret_row = &expected, .scratch = w->fresh};
    assert_works(spec_session_init(&fresh, w->model, &error));
    assert_works(spec_session_score(&fresh, &request, &error));
    if (memcmp(row, expected, VOCAB * sizeof *row) != 0)
        fail_msg("another row after %zu tokens and node %d", w->n, node);
    spec_session_free(&fresh);
}

static void score(walk *w, const double **row)
{
    const spec_score_request request = {.context = w->text,
                                        .n_context = w->n,
                                        .token = w->token,
                                        .opt_parent = w->parent,
                                        .n_nodes = w->n_nodes,
                                        .ret_row = row,
                                        .scratch = w->scratch};
    assert_works(spec_session_score(&w->session, &request, &error));
}

static const char *const specs[] = {
    "random?dim=32&layers=4&heads=4&kv_heads=2&ffn=32&vocab=23&context=400&attends=2&type=f32",
    "random?dim=64&layers=3&heads=2&kv_heads=1&experts=4&active=2&expert_ffn=32&vocab=23&"
    "context=400&attends=3&type=q8_0"};

TEST(rows_after_any_rollback_are_those_of_a_fresh_session)
{
    const int steps = (int)spec_test_samples(STEPS) / spec_test_stride(1);
    for (int s = 0; s < 2; s++) {
        OWNED(walk) w = walk_of(specs[s], 11 + (unsigned long)s);
        for (int step = 0; step < steps; step++) {
            const double *row[NODES + 1];
            move(&w);
            grow(&w);
            score(&w, row);
            const int node = pick(&w, w.n_nodes + 1) - 1;
            check_row(&w, row[node + 1], node);
            check_row(&w, row[w.n_nodes], w.n_nodes - 1);
        }
    }
}

/* The anchor nearest to the draft is at the text's last token, and comes from the text alone. */
TEST(the_deepest_draft_is_computed_as_its_text)
{
    OWNED(walk) w = walk_of(specs[0], 5);
    for (int t = 0; t < 60; t++) w.text[t] = pick(&w, VOCAB);
    for (w.n = 60; w.n < 60 + SPEC_DELTA_PERIOD; w.n++) {
        const double *row[NODES + 1];
        w.n_nodes = SPEC_DELTA_DEPTH;
        for (int i = 0; i < w.n_nodes; i++) {
            w.token[i] = pick(&w, VOCAB);
            w.parent[i] = i - 1;
        }
        score(&w, row);
        check_row(&w, row[w.n_nodes], w.n_nodes - 1); /* writes the draft behind the text */
    }
}

TEST(a_draft_of_too_many_levels_is_refused)
{
    enum { MANY = SPEC_DELTA_DEPTH + 1 };
    OWNED_MODEL *model = model_of("random?dim=32&layers=2&heads=2&ffn=32&vocab=23&attends=2", NULL);
    OWNED(spec_session) session;
    const double *row[MANY + 1];
    FREED double *scratch = malloc((MANY + 1) * VOCAB * sizeof *scratch);
    int token[MANY] = {0};
    spec_error error = {""};
    spec_score_request request = {.token = token, .ret_row = row, .scratch = scratch};
    assert_non_null(scratch);
    assert_works(spec_session_init(&session, model, &error));
    request.n_nodes = MANY;
    assert_int_equal(spec_session_score(&session, &request, &error), GSL_EINVAL);
    assert_string_equal(error.text, "a draft of 65 tokens is too long: a model with recurrent "
                                    "layers takes at most 64");
    request.n_nodes = MANY - 1;
    assert_works(spec_session_score(&session, &request, &error));
}
