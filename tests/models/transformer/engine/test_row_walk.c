/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A random walk of a target's session and a draft's, with separate KV caches or a shared one. Texts
 * continue along trees and beside them, go back, and change. Each row must equal that of fresh
 * sessions: the target's from the text in one pass, the draft's from the context and the path to
 * the node. */
#include "models/model_open.h"
#include "models/transformer/engine/transformer.h"
#include "models/transformer/files/gguf_model.h"
#include "tests/models/transformer/engine/odd_checkpoint.h"
#include "tests/support/contexts.h"
#include "tests/support/model_of.h"
#include "tests/support/support.h"

#include <gsl/gsl_rng.h>
#include <string.h>
#include <unistd.h>

enum { VOCAB = 23, LONGEST = 48, NODES = 20, STEPS = 200 };

#define SHAPE "random?dim=32&layers=3&heads=4&kv_heads=2&ffn=32&vocab=23&context=80&seed=5&type="

typedef struct {
    gsl_rng *rng;
    spec_model *model[2]; /* the target, and a draft of its layers */
    spec_session session[2];
    bool shares;
    int text[LONGEST + NODES]; /* the rest is room for a path */
    size_t n;
    int token[NODES], parent[NODES], n_nodes;
    double *scratch, *fresh; /* (NODES+1, VOCAB) */
} walk;

static int pick(walk *w, int n)
{
    return (int)gsl_rng_uniform_int(w->rng, (unsigned long)n);
}

/* Lists the tokens on the path to a node; returns their number. */
static size_t path_to(const walk *w, int *path, int node)
{
    size_t depth = 0, i = 0;
    for (int at = node; at >= 0; at = w->parent[at]) depth++;
    for (int at = node; at >= 0; at = w->parent[at]) path[depth - ++i] = w->token[at];
    return depth;
}

/* Makes the next text: it continues along the last tree, or by any token, goes back, or is another
 * text. */
static void move(walk *w)
{
    if (w->n_nodes > 0 && pick(w, 3) > 0) w->n += path_to(w, w->text + w->n, pick(w, w->n_nodes));
    if (pick(w, 2) == 0) w->text[w->n++] = pick(w, VOCAB);
    if (pick(w, 6) == 0) w->n = (size_t)pick(w, (int)w->n + 1);
    if (pick(w, 12) == 0 && w->n > 0) w->text[pick(w, (int)w->n)] = pick(w, VOCAB);
    if (w->n > LONGEST - NODES) w->n = (size_t)pick(w, 10);
}

static void grow_tree(walk *w)
{
    w->n_nodes = pick(w, NODES + 1);
    const bool chain = pick(w, 3) == 0;
    for (int i = 0; i < w->n_nodes; i++) {
        w->token[i] = pick(w, VOCAB);
        w->parent[i] = chain ? i - 1 : pick(w, i + 1) - 1;
    }
}

/* The tokens are the same but the tree is another, or one token of the same tree differs: its
 * levels are not those of the last tree. */
static void alter_tree(walk *w)
{
    if (w->n_nodes == 0) return;
    const int i = pick(w, w->n_nodes);
    if (pick(w, 2) == 0)
        w->parent[i] = pick(w, i + 1) - 1;
    else
        w->token[i] = pick(w, VOCAB);
}

static void open_sessions(spec_session *session, spec_model *const *model, bool shares)
{
    for (int i = 0; i < 2; i++) assert_works(spec_session_init(&session[i], model[i], &error));
    if (shares) assert_true(spec_session_share(&session[1], &session[0]));
}

static void close_sessions(spec_session *session)
{
    for (int i = 1; i >= 0; i--) spec_session_free(&session[i]);
}

static void check_row(walk *w, int which, const double *row, int node)
{
    const double *expected[NODES + 1];
    spec_session fresh[2];
    const size_t depth = path_to(w, w->text + w->n, node),
                 context = which == 0 ? w->n + depth : w->n;
    const int n_nodes = which == 0 ? 0 : (int)depth;
    open_sessions(fresh, w->model, w->shares);
    assert_works(spec_session_score(&fresh[which],
                                    &(spec_score_request){.context = w->text,
                                                          .n_context = context,
                                                          .token = w->text + w->n,
                                                          .n_nodes = n_nodes,
                                                          .first = n_nodes,
                                                          .ret_row = expected,
                                                          .scratch = w->fresh},
                                    &error));
    if (memcmp(row, expected[n_nodes], VOCAB * sizeof *row) != 0) {
        fail_msg("%s: another row after %zu tokens and node %d", w->model[which]->spec, w->n, node);
    }
    close_sessions(fresh);
}

static void take_step(walk *w)
{
    const double *row[NODES + 1];
    move(w);
    for (int level = pick(w, 4); level >= 0; level--) { /* drafts, then the target */
        const int which = level > 0;
        const int first = pick(w, 3) == 0 ? pick(w, w->n_nodes + 1) : 0;
        if (pick(w, 2) == 0)
            grow_tree(w);
        else if (pick(w, 2) == 0)
            alter_tree(w);
        const int from = first <= w->n_nodes ? first : 0;
        assert_works(spec_session_score(&w->session[which],
                                        &(spec_score_request){.context = w->text,
                                                              .n_context = w->n,
                                                              .token = w->token,
                                                              .opt_parent = w->parent,
                                                              .n_nodes = w->n_nodes,
                                                              .first = from,
                                                              .ret_row = row,
                                                              .scratch = w->scratch},
                                        &error));
        const int node = from - 1 + pick(w, w->n_nodes + 1 - from);
        check_row(w, which, row[node + 1], node);
        check_row(w, which, row[w->n_nodes], w->n_nodes - 1);
    }
}

/* begins: every text begins with the begin-of-text token; otherwise only the empty context does. */
static void walk_about(walk *w, const char *spec, bool shares, bool begins)
{
    w->model[0] = model_of(spec, NULL);
    ((spec_transformer *)w->model[0])->own_checkpoint.adds_begin = begins;
    w->model[1] = model_of("layers?of=target&skip=0a.1f", w->model[0]);
    w->shares = shares;
    open_sessions(w->session, w->model, shares);
    w->n = 0;
    w->n_nodes = 0;
    for (uint64_t step = spec_test_samples(STEPS); step > 0; step--) take_step(w);
    close_sessions(w->session);
    for (int i = 1; i >= 0; i--) spec_model_close(w->model[i]);
}

static char path[] = "/tmp/speclab-walk-XXXXXX";

/* A model with windows of 5 tokens, as gemma3, in a file. */
static void write_windowed(void)
{
    const odd_form form = {{.dim = 32,
                            .n_layers = 3,
                            .n_heads = 4,
                            .n_kv_heads = 2,
                            .head_dim = 8,
                            .ffn_dim = 32,
                            .vocab = VOCAB,
                            .context = 80,
                            .norm_eps = 1e-5f,
                            .rope.base = 1e6,
                            .rope_pairs = SPEC_ROPE_HALVES,
                            .gate = SPEC_GATE_GELU,
                            .window = 5,
                            .window_rope.base = 1e4},
                           .tied = true,
                           .normed_heads = true,
                           .post_norms = true,
                           .window_period = 2};
    OWNED(spec_checkpoint) model;
    int kept;
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    make_odd_checkpoint(&model, &form, SPEC_TENSOR_F32);
    model.opt_architecture = spec_architecture_find((spec_piece){"gemma3", 6});
    model.begin_of_text = 1;
    model.adds_begin = true;
    assert_works(
        spec_gguf_model_write(&kept, &model, &(spec_gguf_model_vocabulary){0}, path, NULL, &error));
}

TEST(a_row_does_not_depend_on_earlier_calls, SLOW | STATISTICS)
{
    static const char *const types[] = {"f32", "q8_0", "bf16&temperature=0.4", "f32&attends=2"};
    char spec[200];
    FREED walk *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->rng = gsl_rng_alloc(gsl_rng_taus2);
    gsl_rng_set(w->rng, spec_test_seed());
    w->scratch = malloc((NODES + 1) * VOCAB * sizeof *w->scratch);
    w->fresh = malloc((NODES + 1) * VOCAB * sizeof *w->fresh);
    assert_non_null(w->scratch);
    assert_non_null(w->fresh);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int shares = 0; shares < 2; shares++)
            for (int begins = t == 0 ? 0 : 1; begins < 2; begins++) {
                snprintf(spec, sizeof spec, SHAPE "%s", types[t]);
                walk_about(w, spec, shares, begins);
            }
    write_windowed();
    snprintf(spec, sizeof spec, "gguf:%s?temperature=0.7", path);
    for (int shares = 0; shares < 2; shares++) walk_about(w, spec, shares, true);
    unlink(path);
    gsl_rng_free(w->rng);
    free(w->scratch);
    free(w->fresh);
}
