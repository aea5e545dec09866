/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the measure window_draft: rows against each other, bytes counted by hand, refusals. */
#include "tests/experiments/measures/run_measure.h"

#include "experiments/training_texts.h"
#include "models/transformer/engine/pass_work.h"
#include "sim/chance/rng.h"
#include "tests/support/model_of.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <math.h>

#define TARGET "random?dim=32&layers=3&heads=2&ffn=64&vocab=11&context=80&type=f32"

/* The first window ends within the context. */
TEST(a_window_of_the_whole_context_accepts_all)
{
    OWNED(spec_result) result;
    run(&result, "window_draft", 1,
        "target = \"" TARGET "\"; sink = 1; window = [5, 40]; "
        "context = 30; K = 3; texts = 3; tokens = 6;");
    assert_true(number(&result, 0, "alpha_mean") < 0.999);
    assert_true(number(&result, 0, "emitted") < 3.99);
    assert_true(number(&result, 1, "alpha_mean") > 1.0 - 1e-12);
    assert_true(number(&result, 1, "emitted") == 4.0 && number(&result, 1, "emitted_se") == 0.0);
    assert_true(number(&result, 1, "kv_share") == 1.0 && number(&result, 1, "c") == 1.0);
    assert_true(number(&result, 1, "best_K") == 0.0 && number(&result, 1, "best_speedup") == 1.0);
}

/* A draft that reads all of the context is the target only if it also has the target's sampling. */
TEST(a_draft_has_the_sampling_of_its_target)
{
    static const char *const sampling[] = {"temperature=0.6", "top_k=3", "top_p=0.7", "min_p=0.4",
                                           "top_k=5&top_p=0.7&filters=chained"};
    for (size_t i = 0; i < sizeof sampling / sizeof *sampling; i++) {
        OWNED(spec_result) result;
        char grid[200];
        snprintf(grid, sizeof grid,
                 "target = \"" TARGET "&%s\"; window = 40; context = 30; K = 2; texts = 2; "
                 "tokens = 6;",
                 sampling[i]);
        run(&result, "window_draft", 1, grid);
        assert_true(number(&result, 0, "alpha_mean") > 1.0 - 1e-12);
    }
}

/* Two routes to the acceptance of one draft token: the overlap of two rows, and the token that the
 * target sampled. Rows one position off differ by 0.05. */
TEST(tokens_are_accepted_as_often_as_rows_overlap)
{
    OWNED(spec_result) result;
    run(&result, "window_draft", 1,
        "target = \"" TARGET "\"; window = 2; sink = 1; context = 20; K = 1; "
        "texts = 2500; tokens = 1;");
    const double alpha = number(&result, 0, "alpha_mean"), emitted = number(&result, 0, "emitted"),
                 se = number(&result, 0, "emitted_se");
    print_message("overlap %.4f, accepted %.4f +- %.4f\n", alpha, emitted - 1.0, se);
    assert_true(se > 0.0 && se < 0.007);
    assert_within(emitted, 1.0 + alpha, 5.0 * se);
}

/* Draws the text of a point with one text. */
static void draw_text(int *token, int *next, int n, const spec_model *target, const char *data,
                      int context, uint64_t seed)
{
    spec_training_texts prompts = {0};
    OWNED(spec_training_texts) texts;
    const spec_training_sampling how = {.model = target,
                                        .begin = -1,
                                        .places = n,
                                        .count = 1,
                                        .prompt = data != NULL ? context : 0,
                                        .seed = spec_rng_named_seed(seed, "texts")};
    if (data != NULL)
        assert_works(spec_training_texts_load(
            &prompts, data, spec_transformer_of(target)->checkpoint->opt_tokenizer, -1, n, &error));
    assert_works(spec_training_texts_sample(&texts, &prompts, &how, NULL, &error));
    spec_training_texts_held_out(token, next, &texts, 0, 1);
    spec_training_texts_free(&prompts);
}

enum { TOKENS = 4, LONGEST = 2 };

/* Fills the probability that draft token d = 0, 1 of a round after each position is accepted. */
static void find_accept(double accept[TOKENS][LONGEST], const spec_model *target,
                        const spec_model *draft, const int *token, int context, bool shares)
{
    OWNED(spec_session) of_target, of_draft;
    const size_t rows = LONGEST * (size_t)target->vocab;
    FREED double *scratch = malloc(2 * rows * sizeof *scratch);
    assert_works(spec_session_init(&of_target, target, &error));
    assert_works(spec_session_init(&of_draft, draft, &error));
    if (shares) spec_session_share(&of_draft, &of_target);
    for (int t = 0; t < TOKENS; t++) {
        const double *target_row[LONGEST], *draft_row[LONGEST];
        const int *next = token + context + t;
        spec_score_request request = {.context = token,
                                      .n_context = (size_t)(context + t),
                                      .token = next,
                                      .n_nodes = LONGEST - 1,
                                      .ret_row = target_row,
                                      .scratch = scratch};
        assert_works(spec_session_score(&of_target, &request, &error));
        request.ret_row = draft_row;
        request.scratch += rows;
        assert_works(spec_session_score(&of_draft, &request, &error));
        for (int d = 0; d < LONGEST; d++)
            accept[t][d] = fmin(1.0, draft_row[d][next[d]] / target_row[d][next[d]]);
    }
}

/* Returns the tokens per round of K draft tokens, from the probability of a round at each position.
 */
static double tokens_per_round(double accept[TOKENS][LONGEST], int K)
{
    double begins[TOKENS + LONGEST + 1] = {1.0}, rounds = 0.0, tokens = 0.0;
    for (int t = 0; t < TOKENS; t++) {
        double all = begins[t];
        rounds += all;
        for (int d = 0; d <= K; d++) {
            const double accepted = d < K ? all * accept[t][d] : 0.0;
            begins[t + d + 1] += all - accepted;
            tokens += all;
            all = accepted;
        }
    }
    return tokens / rounds;
}

/* Returns the seed of the first point. */
static uint64_t seed_of(const char *grid)
{
    OWNED(spec_experiment) e;
    parse(&e, "window_draft", 1, grid);
    FREED char *identity = spec_grid_identity(&e.grid, 0, e.measure->columns);
    assert_non_null(identity);
    return spec_rng_named_seed(e.seed, identity);
}

/* Returns the best speed-up. */
static double check_rounds(const char *spec, const char *data, int window, int context)
{
    enum { MOST = 100 };
    char grid[700], own[64];
    int token[MOST], next[MOST];
    double accept[TOKENS][LONGEST], emitted[2];
    OWNED(spec_result) result;
    OWNED_MODEL *target = model_of(spec, NULL);
    snprintf(own, sizeof own, "layers?window=%d&sink=1", window);
    OWNED_MODEL *draft = model_of(own, target);
    snprintf(grid, sizeof grid,
             "target = \"%s\"; data = \"%s\"; window = %d; sink = 1; context = %d; K = 2; "
             "texts = 1; tokens = 4;",
             spec, data != NULL ? data : "own", window, context);
    run(&result, "window_draft", 1, grid);
    draw_text(token, next, context + TOKENS + LONGEST - 1, target, data, context, seed_of(grid));
    for (int shares = 0; shares <= 1; shares++) {
        find_accept(accept, target, draft, token, context, shares);
        emitted[shares] = tokens_per_round(accept, LONGEST);
    }
    print_message("%s, window %d: %.4f tokens per round, %.4f with its own cache\n", spec, window,
                  emitted[1], emitted[0]);
    assert_within(number(&result, 0, "emitted"), emitted[1], 1e-9);
    assert_true(fabs(emitted[0] - emitted[1]) > 1e-4);
    double best = 1.0;
    const double c = number(&result, 0, "c");
    for (int K = 1; K <= LONGEST; K++)
        best = fmax(best, tokens_per_round(accept, K) / (1.0 + K * c));
    assert_within(number(&result, 0, "best_speedup"), best, 1e-9);
    const int K = (int)number(&result, 0, "best_K");
    assert_within(K > 0 ? tokens_per_round(accept, K) / (1.0 + K * c) : 1.0, best, 1e-9);
    return best;
}

/* Second route: the same text, and the probability that a round begins at each position. */
TEST(rounds_share_the_cache_of_the_target)
{
    assert_true(check_rounds("random?dim=16&layers=3&heads=2&ffn=16&vocab=11&context=100&type=f32",
                             NULL, 20, 90) > 1.0);
}

TEST(a_context_may_come_from_a_file)
{
    char model[300], data[300];
    spec_test_data(model, sizeof model, "stories260K/stories260K.bin");
    spec_test_data(data, sizeof data, "text/tinystories.txt");
    check_rounds(model, data, 20, 60);
}

/* 2 heads of 16 with keys and values of 4 bytes, in 3 layers. */
TEST(bytes_are_weights_and_the_positions_that_are_read)
{
    OWNED(spec_result) result;
    OWNED_MODEL *target = model_of(TARGET, NULL);
    const double weights = spec_pass_work_of(spec_transformer_of(target)).weight_bytes, kv = 768.0;
    run(&result, "window_draft", 1,
        "target = \"" TARGET "\"; window = 5; sink = 3; context = 32; K = 2; "
        "texts = 2; tokens = 2;");
    assert_within(number(&result, 0, "kv_share"), 0.25, 1e-9);
    assert_within(number(&result, 0, "c"), (weights + 8.0 * kv) / (weights + 32.0 * kv), 1e-9);
}

TEST(wrong_parameters_are_named)
{
    static const char *const wrong[][2] = {
        {"target = \"zipf?V=11\"; window = 2; context = 9", "zipf?V=11 is not a transformer"},
        {"target = \"none.gguf\"; window = 2; context = 9", "target: "},
        {"target = \"" TARGET "\"; window = 0; context = 9", "window: 0 is not"},
        {"target = \"" TARGET "\"; window = 2; sink = -1; context = 9", "sink: -1 is not"},
        {"target = \"" TARGET "\"; window = 2; context = 60", "context: 60 and 35 tokens"},
        {"target = \"" TARGET "\"; window = 2; context = 0", "context: 0 is not"},
        {"target = \"" TARGET "\"; window = 2; context = 9; K = 17", "K: 17 is not"},
        {"target = \"" TARGET "\"; window = 2; context = 9; data = \"x\"", "no vocabulary"},
        {"target = \"" TARGET "&temperature=0\"; window = 2; context = 9", "at temperature 0"},
    };
    assert_grids_refused("window_draft", wrong, sizeof wrong / sizeof *wrong);
}
