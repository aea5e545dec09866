/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Layers that a text skips have no effect on it, and exits compute the rows of `layers?exit=`. Each
 * step trains the exits whose turn it is. */
#include "models/model_open.h"
#include "models/train/training_exits.h"
#include "models/transformer/engine/logits.h"
#include "models/transformer/engine/transformer.h"
#include "tests/support/contexts.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS = 3, PLACES = 12, LAYERS = 5, ROWS = TEXTS * PLACES };

static const spec_training_exits_plan published = {.dropout = 0.1, .scale = 0.2, .rotation = 4};

typedef struct {
    spec_model *target;
    spec_training_model model;
    spec_graph graph;
    spec_training_exits exits;
    int token[ROWS];
} case_of;

static const spec_checkpoint *checkpoint_of(const case_of *c)
{
    return spec_transformer_of(c->target)->checkpoint;
}

static void open_case(case_of *c, const spec_training_exits_plan *plan)
{
    FREED spec_training_nodes *nodes = malloc(sizeof *nodes);
    *c = (case_of){0};
    assert_non_null(nodes);
    assert_works(spec_model_open(&c->target,
                                 "random?dim=32&layers=5&heads=2&ffn=64&vocab=20&context=32&"
                                 "type=f32&seed=3",
                                 NULL, spec_test_context(1), &error));
    for (int i = 0; i < ROWS; i++) /* the engine adds the begin token itself */
        c->token[i] = i % PLACES == 0 && checkpoint_of(c)->adds_begin
                          ? checkpoint_of(c)->begin_of_text
                          : (3 + i * i) % c->target->vocab;
    assert_works(spec_training_model_load(&c->model, checkpoint_of(c), PLACES, false, &error));
    assert_works(spec_graph_init(&c->graph, spec_cpu_isa(), NULL, &error));
    assert_works(spec_training_exits_init(&c->exits, plan, LAYERS, TEXTS, &error));
    spec_training_model_build(nodes, &c->model, &c->graph, c->token, c->exits.keep, TEXTS, PLACES);
    spec_training_exits_build(&c->exits, &c->graph, &c->model, nodes,
                              &(spec_graph_target){.kind = SPEC_LOSSES_CE, .opt_token = c->token});
    assert_works(spec_graph_allocate(&c->graph, true, &error));
    spec_training_exits_begin_evaluation(&c->exits, &c->graph);
}

static void case_of_free(case_of *c)
{
    spec_training_exits_free(&c->exits);
    spec_graph_free(&c->graph);
    spec_training_model_free(&c->model);
    spec_model_close(c->target);
}

/* Computes the logits of the tokens with a model of the checkpoint that lacks a layer; the caller
 * frees them. */
static float *logits_without(const case_of *c, int layer)
{
    spec_graph graph;
    spec_training_model model;
    FREED spec_training_nodes *nodes = malloc(sizeof *nodes);
    spec_checkpoint less = *checkpoint_of(c);
    spec_checkpoint_layer left[LAYERS];
    const size_t n = (size_t)ROWS * (size_t)c->target->vocab;
    float *logits = malloc(n * sizeof *logits);
    assert_true(nodes != NULL && logits != NULL);
    for (int i = 0, at = 0; i < LAYERS; i++)
        if (i != layer) left[at++] = less.layer[i];
    less.layer = left;
    less.shape.n_layers = LAYERS - 1;
    assert_works(spec_training_model_load(&model, &less, PLACES, true, &error));
    assert_works(spec_graph_init(&graph, spec_cpu_isa(), NULL, &error));
    spec_training_model_build(nodes, &model, &graph, c->token, NULL, TEXTS, PLACES);
    assert_works(spec_graph_allocate(&graph, false, &error));
    spec_graph_forward(&graph);
    memcpy(logits, nodes->logits->value, n * sizeof *logits);
    spec_graph_free(&graph);
    spec_training_model_free(&model);
    return logits;
}

TEST(a_skipped_layer_equals_the_model_without_it)
{
    OWNED(case_of) c;
    open_case(&c, &published);
    const size_t of_text = (size_t)PLACES * (size_t)c.target->vocab;
    FREED float *const whole = malloc(TEXTS * of_text * sizeof *whole);
    assert_non_null(whole);
    spec_graph_forward(&c.graph);
    memcpy(whole, c.exits.logits[LAYERS]->value, TEXTS * of_text * sizeof *whole);
    for (int layer = 0; layer < LAYERS; layer++) {
        FREED float *const less = logits_without(&c, layer);
        spec_training_exits_begin_evaluation(&c.exits, &c.graph);
        c.exits.keep[layer * TEXTS + 1] = false;
        spec_graph_forward(&c.graph);
        for (size_t text = 0; text < TEXTS; text++)
            assert_memory_equal(c.exits.logits[LAYERS]->value + text * of_text,
                                (text == 1 ? less : whole) + text * of_text,
                                of_text * sizeof *less);
    }
}

TEST(an_evaluation_computes_no_losses)
{
    OWNED(case_of) c;
    open_case(&c, &published);
    spec_graph_evaluate(&c.graph);
    for (int l = 1; l <= LAYERS; l++) assert_true(spec_graph_loss_value(c.exits.loss[l]) == 0.0);
    spec_graph_forward(&c.graph);
    for (int l = 1; l <= LAYERS; l++) assert_true(spec_graph_loss_value(c.exits.loss[l]) > 0.0);
}

TEST(rows_of_exits_are_those_of_the_draft_layers)
{
    OWNED(case_of) c;
    spec_error error;
    double worst = 0.0;
    open_case(&c, &published);
    spec_graph_forward(&c.graph);
    const int vocab = c.target->vocab, skip = checkpoint_of(&c)->adds_begin ? 1 : 0;
    double row[2][20], *own = row[0];
    assert_int_equal(vocab, 20);
    assert_null(c.exits.logits[0]); /* no exit before the first layer */
    for (int l = 1; l <= LAYERS; l++) {
        char spec[64];
        OWNED_MODEL *draft;
        OWNED(spec_session) session;
        snprintf(spec, sizeof spec, "layers?of=target&exit=%d", l);
        assert_works(spec_model_open(&draft, spec, c.target, spec_test_context(1), &error));
        assert_works(spec_session_init(&session, draft, &error));
        for (int r = 0; r < ROWS; r++) {
            const int text = r / PLACES, t = r % PLACES;
            const double *is = spec_session_row(&session, c.token + text * PLACES + skip,
                                                (size_t)(t + 1 - skip), row[1], &error);
            assert_non_null(is);
            assert_works(spec_logits_rows(&own, spec_graph_row(c.exits.logits[l]->value, r, vocab),
                                          1.0, 1, vocab, c.graph.kernels, NULL, &error));
            for (int i = 0; i < vocab; i++) worst = fmax(worst, fabs(own[i] - is[i]));
        }
    }
    assert_true(worst < 1e-5);
}

/* At scale 0.2 the weights of exits 1..5 are 0.1 (0 in the paper), 0.2, 0.6, 1.2 and 4 + 1.2. */
TEST(probabilities_and_weights_are_the_published_ones)
{
    static const double weight[] = {0.1, 0.2, 0.6, 1.2, 5.2};
    for (int l = 1; l <= LAYERS; l++)
        assert_true(fabs(spec_training_exits_weight(&published, l, LAYERS) - weight[l - 1]) <
                    1e-15);
    for (int l = 0; l < LAYERS; l++)
        assert_true(fabs(spec_training_exits_dropout(&published, l, LAYERS) -
                         0.1 * (pow(2.0, l / 4.0) - 1.0)) < 1e-15);
}

static bool is_on(const case_of *c, int exit)
{
    return !c->graph.operation[c->exits.first[exit]].is_off;
}

TEST(each_exit_has_its_turn_and_weights_sum_to_1)
{
    for (int rotation = 1; rotation <= 6; rotation++) {
        const spec_training_exits_plan plan = {.dropout = 0.1, .scale = 0.2, .rotation = rotation};
        case_of c;
        int turns[LAYERS] = {0};
        open_case(&c, &plan);
        for (long step = 0; step < rotation; step++) {
            double sum = 0.0, loss = 0.0;
            spec_training_exits_begin_step(&c.exits, &c.graph, 5, step);
            spec_graph_forward_trained(&c.graph);
            for (int l = 1; l <= LAYERS; l++) {
                if (l < LAYERS) assert_true(is_on(&c, l) == ((step + l) % rotation == 0));
                if (l < LAYERS && !is_on(&c, l)) continue;
                if (l < LAYERS) turns[l]++;
                sum += c.exits.loss[l]->target.weight;
                loss += spec_graph_loss_value(c.exits.loss[l]);
            }
            assert_true(fabs(sum - 1.0) < 1e-15);
            assert_true(fabs(loss - spec_training_exits_loss(&c.exits)) < 1e-12 && loss > 0.0);
        }
        for (int l = 1; l < LAYERS; l++) assert_int_equal(turns[l], 1);
        case_of_free(&c);
    }
}

/* In 4000 steps of 3 texts a frequency of 0.3 has a standard error of 0.0042. */
TEST(layers_are_dropped_as_often_as_planned)
{
    const spec_training_exits_plan plan = {.dropout = 0.3, .scale = 0.2, .rotation = 4};
    enum { STEPS = 4000 };
    OWNED(case_of) c;
    int dropped[LAYERS] = {0}, same = 0;
    bool before[LAYERS * TEXTS];
    open_case(&c, &plan);
    for (long step = 0; step < STEPS; step++) {
        spec_training_exits_begin_step(&c.exits, &c.graph, 5, step);
        for (int i = 0; i < LAYERS * TEXTS; i++) dropped[i / TEXTS] += !c.exits.keep[i];
        same += step > 0 && memcmp(before, c.exits.keep, sizeof before) == 0;
        memcpy(before, c.exits.keep, sizeof before);
        spec_training_exits_begin_step(&c.exits, &c.graph, 5, step);
        assert_memory_equal(before, c.exits.keep, sizeof before);
    }
    assert_int_equal(dropped[0], 0);
    assert_true(same < STEPS / 2);
    for (int l = 1; l < LAYERS; l++) {
        const double p = spec_training_exits_dropout(&plan, l, LAYERS), n = STEPS * TEXTS,
                     z = (dropped[l] - n * p) / sqrt(n * p * (1.0 - p));
        if (!(fabs(z) < 4.9)) fail_msg("layer %d is dropped %d times: z = %g", l, dropped[l], z);
    }
}
