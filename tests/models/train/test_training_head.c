/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A head in training computes the rows of its session at every depth, and begins as it should. */
#include "models/heads/head_file.h"
#include "models/model_open.h"
#include "models/train/training_head_graph.h"
#include "models/transformer/engine/logits.h"
#include "models/transformer/engine/transformer.h"
#include "tests/support/contexts.h"
#include "tests/support/drawn_head.h"
#include "tests/support/folder.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS = 2, PLACES = 24, K = 4, ANCHORS = PLACES - K };

static const char plain_target[] =
    "random?dim=16&layers=4&heads=4&kv_heads=2&ffn=24&vocab=19&context=40&type=f32";

/* A target; a head with random weights, in `head.gguf` and in training; and the graphs of both. */
typedef struct {
    spec_model *target;
    spec_training_model frozen;
    spec_training_head head;
    spec_training_nodes *target_nodes;
    spec_graph target_graph, graph;
    spec_training_head_nodes nodes;
    int token[TEXTS * PLACES], next[TEXTS * PLACES];
} case_of;

static void open_case(case_of *c, const char *target, spec_head_kind kind, int options, int trained)
{
    spec_head drawn;
    int kept;
    *c = (case_of){0};
    assert_works(spec_model_open(&c->target, target, NULL, spec_test_context(1), &error));
    const spec_checkpoint *checkpoint = spec_transformer_of(c->target)->checkpoint;
    drawn_head(&drawn, &(drawn_head_config){kind, K, 0, options, 7}, checkpoint);
    drawn.fingerprint = spec_head_file_fingerprint(checkpoint);
    assert_works(spec_head_file_write(&kept, &drawn, "head.gguf", &error));
    assert_works(spec_training_model_load(&c->frozen, checkpoint, PLACES, true, &error));
    assert_works(spec_training_head_load(&c->head, &drawn, &error));
    spec_head_free(&drawn);
    for (int i = 0; i < TEXTS * PLACES; i++) {
        c->token[i] = i % PLACES == 0 && checkpoint->adds_begin ? checkpoint->begin_of_text
                                                                : (3 + i * i) % c->target->vocab;
        c->next[i] = (3 + (i + 1) * (i + 1)) % c->target->vocab;
    }
    c->target_nodes = calloc(1, sizeof *c->target_nodes);
    assert_non_null(c->target_nodes);
    assert_works(spec_graph_init(&c->target_graph, spec_cpu_isa(), NULL, &error));
    spec_training_model_build(c->target_nodes, &c->frozen, &c->target_graph, c->token, NULL, TEXTS,
                              PLACES);
    assert_works(spec_graph_allocate(&c->target_graph, false, &error));
    assert_works(spec_graph_init(&c->graph, spec_cpu_isa(), NULL, &error));
    spec_training_head_graph_build(&c->nodes, &c->graph,
                                   &(spec_training_head_task){.head = &c->head,
                                                              .target = &c->frozen,
                                                              .target_nodes = c->target_nodes,
                                                              .token = c->token,
                                                              .next = c->next,
                                                              .texts = TEXTS,
                                                              .places = PLACES,
                                                              .depths = K,
                                                              .trained = trained,
                                                              .loss = SPEC_LOSSES_FKL});
    assert_works(spec_graph_allocate(&c->graph, true, &error));
    spec_graph_forward(&c->target_graph);
}

static void case_of_free(case_of *c)
{
    spec_graph_free(&c->graph);
    spec_graph_free(&c->target_graph);
    spec_training_head_free(&c->head);
    spec_training_model_free(&c->frozen);
    free(c->target_nodes);
    spec_model_close(c->target);
}

/* Returns the largest difference between rows of the graph and rows of the session. */
static double largest_difference(case_of *c, spec_head_kind kind)
{
    char spec[64];
    spec_model *model;
    spec_session session;
    const int vocab = c->target->vocab,
              skip = spec_transformer_of(c->target)->checkpoint->adds_begin ? 1 : 0;
    double *own = malloc((size_t)vocab * sizeof *own),
           *scratch = malloc((size_t)K * (size_t)vocab * sizeof *scratch), worst = 0.0;
    assert_true(own != NULL && scratch != NULL);
    snprintf(spec, sizeof spec, "%s:head.gguf", spec_head_kind_names[kind]);
    assert_works(spec_model_open(&model, spec, c->target, spec_test_context(1), &error));
    assert_works(spec_session_init(&session, model, &error));
    spec_graph_forward(&c->graph);
    for (int text = 0; text < TEXTS; text++)
        for (int t = 0; t < ANCHORS; t += 3) {
            const int *x = c->token + text * PLACES;
            const double *row[K];
            const spec_score_request request = {.context = x + skip,
                                                .n_context = (size_t)(t + 2 - skip),
                                                .token = x + t + 2,
                                                .n_nodes = K - 1,
                                                .ret_row = row,
                                                .scratch = scratch};
            assert_works(spec_session_score(&session, &request, &error));
            for (int d = 0; d < K; d++) {
                const float *logits =
                    spec_graph_row(c->nodes.logits[d]->value, text * ANCHORS + t, vocab);
                assert_works(
                    spec_logits_rows(&own, logits, 1.0, 1, vocab, c->graph.kernels, NULL, &error));
                for (int i = 0; i < vocab; i++) worst = fmax(worst, fabs(row[d][i] - own[i]));
            }
        }
    spec_session_free(&session);
    spec_model_close(model);
    free(own);
    free(scratch);
    return worst;
}

static void compare_with_sessions(const char *target)
{
    for (int i = 0; i < 2 * SPEC_HEAD_KINDS; i++) {
        const spec_head_kind kind = (spec_head_kind)(i / 2);
        OWNED(case_of) c;
        open_case(&c, target, kind, i % 2 != 0, K);
        const double worst = largest_difference(&c, kind);
        if (!(worst < 1e-5)) fail_msg("%s: rows differ by %g", spec_head_kind_names[kind], worst);
    }
    const int options[] = {DRAWN_FC_NORM, DRAWN_NO_OUTPUT | DRAWN_DESCENDING};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        OWNED(case_of) c;
        open_case(&c, target, SPEC_HEAD_EAGLE3, options[i], K);
        const double worst = largest_difference(&c, SPEC_HEAD_EAGLE3);
        if (!(worst < 1e-5)) fail_msg("options %d: rows differ by %g", options[i], worst);
    }
}

/* Taps that are off by one, or positions of later steps, would show. */
TEST(its_rows_are_those_of_the_session)
{
    compare_with_sessions(plain_target);
}

TEST(its_rows_are_those_of_the_session_of_a_trained_target)
{
    char trained[512];
    spec_test_data(trained, sizeof trained, "babyllama/target.bin");
    compare_with_sessions(trained);
}

/* The negative control of the test above: a head that reads another layer has other rows. */
TEST(another_tap_has_other_rows)
{
    for (int kind = SPEC_HEAD_EAGLE; kind < SPEC_HEAD_KINDS; kind++) {
        OWNED(case_of) c;
        open_case(&c, plain_target, (spec_head_kind)kind, false, K);
        const int L = c.frozen.checkpoint.shape.n_layers;
        spec_graph_node *swap = c.target_nodes->hidden[L];
        spec_graph_node copy = *swap;
        copy.value = c.target_nodes->hidden[L - 1]->value;
        const spec_graph_node kept = *swap;
        *swap = copy; /* inputs read the value through the node in each pass */
        assert_true(largest_difference(&c, (spec_head_kind)kind) > 1e-3);
        *swap = kept;
    }
}

/* Depths after the trained ones have no loss and no gradient, but the same logits. */
TEST(depths_that_are_not_trained_serve_evaluation)
{
    case_of all, some;
    open_case(&all, plain_target, SPEC_HEAD_EAGLE, false, K);
    open_case(&some, plain_target, SPEC_HEAD_EAGLE, false, 1);
    assert_int_equal(all.nodes.n_losses, 2 * K);
    assert_int_equal(some.nodes.n_losses, 2);
    spec_graph_forward(&all.graph);
    spec_graph_forward(&some.graph);
    for (int d = 0; d < K; d++) {
        const spec_graph_node *a = all.nodes.logits[d], *b = some.nodes.logits[d];
        assert_memory_equal(a->value, b->value,
                            (size_t)a->rows * (size_t)a->cols * sizeof *a->value);
        assert_int_equal(b->needs_gradient, d == 0);
    }
    case_of_free(&all);
    case_of_free(&some);
}

/* At every depth a new Medusa head gives the target's row of the position before. */
TEST(a_new_medusa_head_repeats_the_target)
{
    OWNED(case_of) c;
    open_case(&c, plain_target, SPEC_HEAD_MEDUSA, false, K);
    const spec_head_shape shape =
        spec_training_head_shape(SPEC_HEAD_MEDUSA, &c.frozen.checkpoint.shape, K);
    OWNED(spec_training_head) drawn;
    assert_works(spec_training_head_draw(&drawn, &shape, &c.frozen, 5, &error));
    memcpy(c.head.parameters.value, drawn.parameters.value,
           drawn.parameters.numbers * sizeof(float));
    spec_graph_forward(&c.graph);
    for (int d = 0; d < K; d++)
        for (int text = 0; text < TEXTS; text++)
            for (int t = 0; t < ANCHORS; t++) {
                const int vocab = c.target->vocab;
                const float *own =
                                spec_graph_row(c.nodes.logits[d]->value, text * ANCHORS + t, vocab),
                            *of_target = spec_graph_row(c.target_nodes->logits->value,
                                                        text * PLACES + t, vocab);
                for (int i = 0; i < vocab; i++) assert_true(own[i] == of_target[i]);
            }
}

TEST(every_head_is_drawn_and_loaded_with_the_same_weights)
{
    for (int kind = 0; kind < SPEC_HEAD_KINDS; kind++) {
        OWNED(case_of) c;
        spec_training_head drawn, loaded;
        open_case(&c, plain_target, (spec_head_kind)kind, false, K);
        const spec_head_shape shape =
            spec_training_head_shape((spec_head_kind)kind, &c.frozen.checkpoint.shape, K);
        assert_works(spec_training_head_draw(&drawn, &shape, &c.frozen, 5, &error));
        assert_works(spec_training_head_load(&loaded, &drawn.head, &error));
        assert_int_equal(drawn.parameters.numbers, loaded.parameters.numbers);
        assert_memory_equal(drawn.parameters.value, loaded.parameters.value,
                            drawn.parameters.numbers * sizeof(float));
        spec_training_head_free(&drawn);
        spec_training_head_free(&loaded);
    }
}

TEST(a_reduced_vocabulary_is_refused)
{
    int token[3] = {0, 4, 2};
    const spec_head head = {.shape = {.draft_vocab = 3, .shape = {.vocab = 9}}, .opt_token = token};
    spec_training_head loaded;
    assert_fails(spec_training_head_load(&loaded, &head, &error), GSL_EINVAL,
                 "a head of a reduced vocabulary, 3 of 9 tokens, cannot be trained");
}

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave);
