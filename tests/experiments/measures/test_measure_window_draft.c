/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The measure window_draft: rows against each other, bytes counted by hand, refusals. */
#include "tests/experiments/measures/run_measure.h"

#include "models/transformer/engine/pass_work.h"
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
