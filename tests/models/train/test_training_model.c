/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model in training computes the rows of the engine, and reads and writes its files. */
#include "models/model_open.h"
#include "models/train/training_model.h"
#include "models/transformer/engine/logits.h"
#include "models/transformer/engine/transformer.h"
#include "models/transformer/files/gguf_model.h"
#include "tests/support/contexts.h"
#include "tests/support/folder.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS = 2, PLACES = 40 };

/* Computes the rows of two texts by the graph, (TEXTS, PLACES, V); the caller frees them. */
static double *rows_of(const spec_training_model *model, const int *token)
{
    spec_graph graph;
    FREED spec_training_nodes *nodes = malloc(sizeof *nodes);
    const int vocab = model->checkpoint.shape.vocab;
    const size_t n = TEXTS * PLACES;
    double *row = malloc(n * (size_t)vocab * sizeof *row);
    assert_true(nodes != NULL && row != NULL);
    assert_works(spec_graph_init(&graph, spec_cpu_isa(), NULL, &error));
    spec_training_model_build(nodes, model, &graph, token, NULL, TEXTS, PLACES);
    assert_works(spec_graph_allocate(&graph, false, &error));
    spec_graph_forward(&graph);
    for (size_t r = 0; r < n; r++) {
        double *at = row + r * (size_t)vocab;
        assert_works(spec_logits_rows(&at, nodes->logits->value + r * (size_t)vocab, 1.0, 1, vocab,
                                      graph.kernels, NULL, &error));
    }
    spec_graph_free(&graph);
    return row;
}

static double largest_difference(const char *spec)
{
    OWNED_MODEL *model;
    spec_error error;
    OWNED(spec_training_model) copy;
    spec_session session;
    int token[TEXTS * PLACES];
    double worst = 0.0;
    assert_works(spec_model_open(&model, spec, NULL, spec_test_context(1), &error));
    const spec_checkpoint *checkpoint = spec_transformer_of(model)->checkpoint;
    assert_works(spec_training_model_load(&copy, checkpoint, PLACES, true, &error));
    for (int i = 0; i < TEXTS * PLACES; i++) /* the engine adds the begin token itself */
        token[i] = i % PLACES == 0 && checkpoint->adds_begin ? checkpoint->begin_of_text
                                                             : (3 + i * i) % model->vocab;
    double *rows = rows_of(&copy, token), *room = malloc((size_t)model->vocab * sizeof *room);
    assert_non_null(room);
    assert_works(spec_session_init(&session, model, &error));
    for (int text = 0; text < TEXTS; text++)
        for (int t = 0; t < PLACES; t += 3) {
            const int skip = checkpoint->adds_begin ? 1 : 0,
                      *context = token + text * PLACES + skip;
            const size_t n = (size_t)(t + 1 - skip);
            const double *row = spec_session_row(&session, context, n, room, &error),
                         *own = rows + (size_t)(text * PLACES + t) * (size_t)model->vocab;
            assert_non_null(row);
            for (int i = 0; i < model->vocab; i++) worst = fmax(worst, fabs(row[i] - own[i]));
        }
    spec_session_free(&session);
    free(rows);
    free(room);
    return worst;
}

TEST(its_rows_are_the_engine_s)
{
    assert_true(largest_difference("random?dim=48&layers=3&heads=6&kv_heads=2&ffn=80&vocab=99&"
                                   "context=64&type=f32") < 1e-5);
    assert_true(largest_difference("random?dim=32&layers=2&heads=2&ffn=64&vocab=50&context=64&"
                                   "type=bf16&kv=f32") < 1e-5);
}

TEST(its_rows_are_those_of_a_trained_model)
{
    char path[512];
    spec_test_data(path, sizeof path, "babyllama/target.bin");
    assert_true(largest_difference(path) < 1e-5);
}

/* A model that is drawn, written and read again has the same weights, and the same seed draws the
 * same model. */
TEST(a_drawn_model_is_written_and_read)
{
    spec_training_model drawn, other;
    spec_model *model;
    int kept;
    for (int has_bias = 0; has_bias < 2; has_bias++) {
        const spec_training_shape shape = {
            .shape = {.dim = 24,
                      .n_layers = 2,
                      .n_heads = 4,
                      .n_kv_heads = 2,
                      .head_dim = 6,
                      .ffn_dim = 40,
                      .vocab = 30,
                      .context = 64,
                      .norm_eps = 1e-5f,
                      .rope.base = 10000.0,
                      .rope_pairs = has_bias ? SPEC_ROPE_HALVES : SPEC_ROPE_ADJACENT},
            .is_tied = has_bias == 0,
            .has_bias = has_bias != 0};
        assert_works(spec_training_model_draw(&drawn, &shape, PLACES, 7, &error));
        for (int i = 0; has_bias && i < 2; i++)
            for (int k = 0; k < 48; k++)
                spec_parameters_value(&drawn.parameters, drawn.layer[i].qkv_bias)[k] =
                    (float)(k % 7) / 8.0f;
        assert_works(spec_gguf_model_write(&kept, &drawn.checkpoint,
                                           &(spec_gguf_model_vocabulary){0}, "drawn.gguf", NULL,
                                           &error));
        assert_works(
            spec_model_open(&model, "gguf:drawn.gguf", NULL, spec_test_context(1), &error));
        assert_works(spec_training_model_load(&other, spec_transformer_of(model)->checkpoint,
                                              PLACES, true, &error));
        assert_int_equal(drawn.parameters.numbers, other.parameters.numbers);
        assert_memory_equal(drawn.parameters.value, other.parameters.value,
                            drawn.parameters.numbers * sizeof(float));
        spec_training_model_free(&other);
        spec_model_close(model);
        assert_true(largest_difference("gguf:drawn.gguf") < 1e-5);
        if (has_bias == 0) {
            assert_works(spec_training_model_draw(&other, &shape, PLACES, 7, &error));
            assert_memory_equal(drawn.parameters.value, other.parameters.value,
                                drawn.parameters.numbers * sizeof(float));
            spec_training_model_free(&other);
        }
        spec_training_model_free(&drawn);
    }
}

TEST(texts_beyond_the_context_are_refused)
{
    OWNED_MODEL *model;
    spec_training_model copy;
    assert_works(spec_model_open(&model,
                                 "random?dim=32&layers=1&heads=2&ffn=64&vocab=50&"
                                 "context=16",
                                 NULL, spec_test_context(1), &error));
    assert_fails(
        spec_training_model_load(&copy, spec_transformer_of(model)->checkpoint, 17, true, &error),
        GSL_EDOM, "texts of 17 tokens exceed the model's context of 16");
}

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave);
