/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/experiments/measures/run_measure.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

enum { DIM = 16, LAYERS = 2, FFN = 24, V = 12, K = 3 };

#define SMALL                                                                                      \
    "target = \"random?dim=16&layers=2&heads=2&ffn=24&vocab=12&context=64&type=f32\"; "            \
    "window = 48; batch = 4; own_texts = 24; judge_texts = 8; rate = 0.01; K = 3; "

/* A random target's rows are nearly even; in a few steps a head learns how uneven they are. */
TEST(more_steps_raise_acceptance)
{
    OWNED(spec_result) result;
    run(&result, "train", 0, SMALL "method = [\"eagle3\", \"distill\"]; steps = [1, 80];");
    assert_int_equal(result.table.n_rows, 4);
    for (size_t i = 0; i < 4; i++) {
        const double tokens = number(&result, i, "tokens_T1"),
                     alpha = number(&result, i, "alpha_1_T1");
        assert_true(tokens > 1.0 && tokens < K + 1 && alpha > 0.0 && alpha < 1.0);
        assert_true(isnan(number(&result, i, "alpha_4_T1")));
        assert_true(number(&result, i, "tree60_T0") >= number(&result, i, "tree8_T0"));
    }
    for (size_t method = 0; method < 4; method += 2) {
        const size_t few = method, many = method + 1;
        assert_true(number(&result, many, "alpha_1_T1") > number(&result, few, "alpha_1_T1"));
        assert_true(number(&result, many, "bits_per_token") <
                    number(&result, few, "bits_per_token"));
    }
}

/* Counted by hand: K blocks with their outputs, over the target's layers and output. */
TEST(c_is_the_share_of_weights)
{
    OWNED(spec_result) result;
    const double of_depth = DIM * DIM + DIM + V * DIM,
                 of_target = LAYERS * (4.0 * DIM * DIM + 3.0 * FFN * DIM) + V * DIM;
    run(&result, "train", 0, SMALL "method = \"medusa\"; steps = 1;");
    assert_near(number(&result, 0, "c"), of_depth / of_target, 1e-8);
    const double most = number(&result, 0, "tokens_T1") / (1.0 + K * of_depth / of_target);
    assert_true(number(&result, 0, "speedup_T1") >= fmax(1.0, most) - 1e-8);
}

TEST(wrong_settings_are_refused)
{
    static const char *const wrong[][2] = {
        {SMALL "method = \"eagle9\";", "not 'eagle9'"},
        {SMALL "method = \"lm\";", "lm has no K"},
        {SMALL "method = \"layerskip\";",
         "method: layerskip trains no draft apart from its target"},
        {SMALL "method = \"medusa\"; loss = \"kl\";", "loss: 'kl' is not ce"},
        {SMALL "method = \"medusa\"; ttt = 2;", "medusa has no ttt"},
        {"method = \"medusa\";", "train needs 'target'"},
        {"method = \"medusa\"; target = \"zipf?V=9\";", "target: zipf?V=9 is not a transformer"},
    };
    assert_grids_refused("train", wrong, sizeof wrong / sizeof wrong[0]);
}
