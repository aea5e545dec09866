/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the measure `online`: its rows, what each way of learning reads, and what it gains. */
#include "base/noise.h"
#include "models/train/training_model.h"
#include "models/transformer/files/gguf_model.h"
#include "models/transformer/tokenizer/byte_vocabulary.h"
#include "tests/experiments/measures/run_measure.h"
#include "tests/support/folder.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <math.h>

#define GRID                                                                                       \
    "target = \"target.gguf\"; draft = \"%s\"; first = \"a.txt\"; second = \"%s\"; windows = "     \
    "4; positions = 24; prompt = 4; before = 2; during = %d; after = 4; part = 2; rate = %g; "     \
    "learns = \"%s\"; "

/* A model of bytes with sharp rows. */
static void write_model(const char *path, uint64_t seed)
{
    const spec_shape shape = {.dim = 16,
                              .n_layers = 1,
                              .n_heads = 2,
                              .n_kv_heads = 2,
                              .head_dim = 8,
                              .ffn_dim = 24,
                              .vocab = SPEC_BYTE_TOKENS,
                              .context = 64,
                              .norm_eps = 1e-5f,
                              .rope.base = 10000.0};
    OWNED(spec_training_model) model;
    spec_byte_vocabulary bytes;
    int kept;
    assert_works(spec_training_model_draw(
        &model, &(spec_training_shape){.shape = shape, .is_tied = true}, 64, seed, &error));
    float *embedding = spec_parameters_value(&model.parameters, model.embedding);
    for (int i = 0; i < SPEC_BYTE_TOKENS * 16; i++) embedding[i] *= 30.0f;
    model.checkpoint.begin_of_text = SPEC_BYTE_BEGIN;
    model.checkpoint.adds_begin = true;
    spec_byte_vocabulary_fill(&bytes);
    assert_works(spec_gguf_model_write(&kept, &model.checkpoint,
                                       &(spec_gguf_model_vocabulary){.opt_data = &bytes.data}, path,
                                       NULL, &error));
}

static int enter(void **state)
{
    if (spec_folder_enter(state) != 0) return -1;
    write_model("target.gguf", 1);
    write_model("draft.gguf", 2);
    static const char *const files[] = {"a.txt", "b.txt", "same.txt"};
    for (int i = 0; i < 3; i++) {
        FILE *out = fopen(files[i], "w");
        for (uint64_t k = 0; k < 600; k++) {
            const int number = (int)(spec_noise_word(3, k) % 50);
            if (i == 0) fprintf(out, "the cat %d ", number);
            if (i == 1) fprintf(out, "%d, %x; ", number, (unsigned)k);
            if (i == 2) fputs("aa", out);
        }
        if (fclose(out) != 0) return -1;
    }
    return 0;
}

static void run_online(spec_result *result, const char *draft, int during, double rate,
                       const char *learns)
{
    char grid[400];
    snprintf(grid, sizeof grid, GRID, draft, "b.txt", during, rate, learns);
    run(result, "online", 1, grid);
}

TEST(a_row_is_a_part_of_a_phase)
{
    static const char *const phases[] = {"first", "second", "second", "first again", "first again"};
    OWNED(spec_result) fixed, all;
    run_online(&fixed, "draft.gguf", 4, 0.01, "static");
    run_online(&all, "draft.gguf", 4, 0.01, "all");
    assert_int_equal(fixed.table.n_rows, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(text(&fixed, i, "phase"), phases[i]);
        assert_same(number(&fixed, i, "batch"), 2.0 * (double)(i + 1));
        assert_same(number(&fixed, i, "learnt"), 0.0);
        assert_nan(number(&fixed, i, "alpha_gain"));
        assert_same(number(&all, i, "learnt"), 1.0);
        /* both read the same windows */
        assert_within(number(&all, i, "alpha_gain"),
                      number(&all, i, "alpha_mean") - number(&fixed, i, "alpha_mean"), 1e-9);
        assert_same(number(&all, i, "forgetting"), i < 3 ? NAN : -number(&all, i, "alpha_gain"));
    }
}

/* All windows of a text of one letter are the same, so their overlap has no spread. */
TEST(the_second_phase_alone_reads_the_second_text)
{
    OWNED(spec_result) result;
    char grid[400];
    snprintf(grid, sizeof grid, GRID, "draft.gguf", "same.txt", 4, 0.01, "static");
    run(&result, "online", 1, grid);
    for (size_t i = 0; i < 5; i++) {
        const bool is_second = strcmp(text(&result, i, "phase"), "second") == 0;
        assert_int_equal(number(&result, i, "alpha_mean_se") < 1e-9, is_second);
    }
}

/* The gain exceeds 5 standard errors. A draft that never steps gains nothing. */
TEST(the_draft_learns_what_is_marked)
{
    static const char *const ways[] = {"all", "rejected"};
    for (int way = 0; way < 2; way++) {
        OWNED(spec_result) result;
        run_online(&result, "draft.gguf", 40, 0.01, ways[way]);
        const double gain = number(&result, 20, "alpha_gain"),
                     se = number(&result, 20, "alpha_gain_se");
        print_message("%-8s gains %.3f, %.1f standard errors\n", ways[way], gain, gain / se);
        assert_string_equal(text(&result, 20, "phase"), "second");
        assert_true(gain > 5.0 * se);
    }
}

/* If the draft equals the target nothing is rejected, so there is nothing to learn. */
TEST(a_draft_that_is_the_target_is_never_rejected)
{
    OWNED(spec_result) result;
    run_online(&result, "target.gguf", 2, 0.01, "rejected");
    for (size_t i = 0; i < result.table.n_rows; i++) {
        assert_within(number(&result, i, "alpha_mean"), 1.0, 1e-9);
        assert_same(number(&result, i, "learnt"), 0.0);
        assert_same(number(&result, i, "alpha_gain"), 0.0);
    }
}

TEST(threads_change_no_number)
{
    spec_result result[2];
    for (int i = 0; i < 2; i++) {
        OWNED(spec_experiment) e;
        char source[500], grid[400];
        snprintf(grid, sizeof grid, GRID, "draft.gguf", "b.txt", 4, 0.01, "rejected");
        snprintf(source, sizeof source, "measure = \"online\"; grid = { %s };", grid);
        assert_works(spec_experiment_parse(&e, "test.cfg", source, strlen(source), NULL, &error));
        const spec_run_options options = {.opt_context = spec_test_context(1 + 2 * i)};
        assert_works(spec_experiment_run(&result[i], &e, &options, &error));
    }
    for (size_t i = 0; i < result[0].table.n_rows; i++)
        for (int c = 0; c < result[0].table.n_columns; c++)
            assert_same(spec_cell_number(spec_table_cell(&result[0].table, i, c)),
                        spec_cell_number(spec_table_cell(&result[1].table, i, c)));
    for (int i = 0; i < 2; i++) spec_result_free(&result[i]);
}

#define MODELS "target = \"target.gguf\"; draft = \"draft.gguf\"; "
#define TEXTS "first = \"a.txt\"; second = \"b.txt\"; positions = 16; prompt = 2; "

TEST(wrong_settings_are_refused)
{
    static const char *const wrong[][2] = {
        {MODELS "first = \"a.txt\"", "online needs 'second'"},
        {MODELS TEXTS "learns = \"some\"", "learns: 'some' is not one of static, all, rejected"},
        {MODELS TEXTS "loss = \"mse\"", "loss: 'mse' is not one of ce, fkl, "},
        {MODELS TEXTS "during = 5; part = 2",
         "during: 5 batches cannot be divided into parts of 2"},
        {MODELS TEXTS "before = 3", "before: 3 batches cannot be divided into parts of 4"},
        {MODELS "first = \"a.txt\"; second = \"b.txt\"; positions = 65",
         "texts of 65 tokens exceed the model's context of 64"},
        {MODELS "first = \"a.txt\"; second = \"c.txt\"; positions = 16; prompt = 2", "c.txt"},
        {"target = \"target.gguf\"; draft = \"ngram:a.txt\"; " TEXTS, ""},
        {"target = \"target.gguf\"; draft = \"draft.gguf?top_k=3\"; " TEXTS,
         "draft: give a transformer without sampling parameters"},
        {"target = \"target.gguf?temperature=0.5\"; draft = \"draft.gguf\"; " TEXTS,
         "target: give a transformer without sampling parameters"},
    };
    assert_grids_refused("online", wrong, sizeof wrong / sizeof *wrong);
}

SUITE(.setup = enter, .teardown = spec_folder_leave);
