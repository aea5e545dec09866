/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/serving/break_even.h"

#include "analysis/capped_geometric.h"
#include "analysis/speedup.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <stdio.h>

/* SpecDecode-Bench's fit of an H100 with Llama-3.1-8B and EAGLE; the values were computed from
 * rounded costs. */
static const spec_affine_step fit = {
    .step = 7.093e-3, .token = 2.10103129e-5, .kv = 3.92645679e-8, .draft_round = 2.13526e-3};

TEST(known_batches_and_contexts)
{
    static const struct {
        double alpha;
        double batch[3], context[3];
    } rows[] = {{0.5, {134, 91, 56}, {535, 1300, 2227}},
                {0.6, {252, 162, 101}, {357, 830, 1399}},
                {0.7, {449, 283, 181}, {229, 512, 843}},
                {0.8, {842, 532, 349}, {134, 287, 460}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int k = 0; k < 3; k++) {
            const int K = (const int[]){1, 3, 5}[k];
            const double emitted = spec_capped_geometric_mean(rows[i].alpha, K);
            double from, to;
            spec_break_even_batch(&from, &to, &fit, K, emitted, 0.0);
            assert_same(from, 0.0);
            assert_within(to, rows[i].batch[k], 0.6);
            assert_within(spec_break_even_context(&fit, K, emitted, 0.0), rows[i].context[k], 0.6);
            /* Second route: at the break-even both ways take the same time per token. */
            assert_near(spec_break_even_speedup(&fit, K, emitted, to, 0.0), 1.0, 1e-13);
            const double s = spec_break_even_context(&fit, K, emitted, 0.0);
            assert_near(spec_break_even_speedup(&fit, K, emitted, 1e12, s), 1.0, 1e-6);
        }
}

/* At 1 to 1e5 requests the sign of the gain is as the interval says. */
TEST(the_interval_has_the_batches_that_gain)
{
    int below = 0, all = 0, none = 0, above = 0;
    for (int K = 1; K <= 5; K += 2)
        for (int a = 0; a <= 10; a++)
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) {
                    spec_affine_step cost = fit;
                    cost.draft_round = (const double[]){0.0, 2e-3, 9e-3, 40e-3}[i];
                    cost.draft_token = 1e-5 * i;
                    const double s = (const double[]){0.0, 200.0, 1000.0, 9000.0}[j];
                    const double emitted = spec_capped_geometric_mean(a / 10.0, K);
                    double from, to;
                    spec_break_even_batch(&from, &to, &cost, K, emitted, s);
                    below += from == 0.0 && to > 0.0 && isfinite(to);
                    all += from == 0.0 && to == INFINITY;
                    none += to == 0.0;
                    above += from > 0.0;
                    for (double B = 1.0; B < 1e5; B *= 1.37) {
                        const double gain = spec_break_even_speedup(&cost, K, emitted, B, s);
                        if (fabs(gain - 1.0) < 1e-12) continue;
                        assert_int_equal(gain > 1.0, B > from && B < to);
                    }
                }
    assert_true(below > 20 && all > 20 && none > 20 && above > 20);
}

TEST(costs_of_one_text_give_its_speedup)
{
    const spec_affine_step all = {.step = 0.7,
                                  .token = 0.05,
                                  .kv = 0.001,
                                  .draft_round = 0.2,
                                  .draft_pass = 0.1,
                                  .draft_token = 0.03};
    assert_near(spec_break_even_speedup(&all, 2, 1.9, 3.0, 40.0),
                1.9 * (0.7 + 0.15 + 0.12) / (0.7 + 0.4 + 0.45 + 0.18 + 0.12), 1e-14);
    /* Under A3 a pass takes 1 however many tokens it has, and a draft call takes c. */
    const spec_affine_step cost = {.step = 1.0, .draft_pass = 0.1};
    for (int K = 1; K <= 6; K++)
        assert_near(spec_break_even_speedup(&cost, K, spec_capped_geometric_mean(0.7, K), 1.0, 0.0),
                    spec_speedup(0.7, K, 0.1), 1e-14);
}

/* Llama-2-7B with TinyLlama on 8 A100 80GB at the peaks of the data sheet, where arithmetic limits
 * every pass and all keys and values are read. */
TEST(known_contexts_of_a_data_sheet)
{
    const double flops = 8 * 312e12, bandwidth = 8 * 2.039e12;
    const spec_affine_step affine = {.token = 2.0 * 6.738e9 / flops,
                                     .draft_token = 2.0 * 1.1e9 / flops,
                                     .kv = 524288 / bandwidth};
    for (int K = 2; K <= 4; K += 2)
        assert_prints(spec_break_even_context(&affine, K, spec_capped_geometric_mean(0.7, K),
                                              22528 / bandwidth),
                      0, K == 2 ? "173" : "302");
}

TEST(outside_the_domain_is_nan)
{
    double from, to;
    const double wrong[] = {0.999, 2.001, NAN};
    for (int i = 0; i < 3; i++) {
        assert_nan(spec_break_even_speedup(&fit, 1, wrong[i], 4.0, 0.0));
        spec_break_even_batch(&from, &to, &fit, 1, wrong[i], 0.0);
        assert_nan(from);
        assert_nan(to);
        assert_nan(spec_break_even_context(&fit, 1, wrong[i], 0.0));
    }
    assert_nan(spec_break_even_speedup(&fit, 0, 1.0, 4.0, 0.0));
    assert_nan(spec_break_even_speedup(&fit, 1, 1.5, 0.5, 0.0));
    assert_nan(spec_break_even_speedup(&fit, 1, 1.5, 4.0, -1.0));
    spec_break_even_batch(&from, &to, &fit, 1, 1.5, -1.0);
    assert_nan(to);
    assert_nan(spec_break_even_context(&fit, 1, 1.5, -1.0));
    assert_same(spec_break_even_context(&fit, 1, 1.0, 0.0), INFINITY);
    assert_same(spec_break_even_context(&fit, 1, 1.5, fit.kv), INFINITY);
}
