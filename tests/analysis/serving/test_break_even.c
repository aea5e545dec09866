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

/* From data sheets: A100 80GB (2.039 TB/s) at 60 % of its FLOP/s, H100 SXM at 70 %; the values have
 * two digits. */
TEST(known_rooflines)
{
    const spec_hardware a100x8 = {.flops = 8 * 312e12 * 0.6, .bandwidth = 8 * 2.039e12},
                        h100x4 = {.flops = 4 * 989e12 * 0.7, .bandwidth = 4 * 3.35e12};
    const spec_transformer_shape
        llama2 = {.parameters = 6.738e9, .bytes_per_weight = 2, .kv_bytes = 524288},
        tiny = {.parameters = 1.1e9, .bytes_per_weight = 2, .kv_bytes = 22528},
        llama3 = {.parameters = 8.03e9, .bytes_per_weight = 2, .kv_bytes = 131072},
        large = {.parameters = 70.6e9, .bytes_per_weight = 2, .kv_bytes = 327680},
        half = {.parameters = 0.494e9, .bytes_per_weight = 2, .kv_bytes = 12288};
    static const struct {
        double s;
        double speedup[2]; /* B 32 and 128 */
    } mha[] = {{256, {1.49, 0.88}},  {512, {1.59, 1.09}},  {1024, {1.73, 1.37}},
               {2048, {1.89, 1.65}}, {8000, {2.12, 2.04}}, {32000, {2.21, 2.19}}},
      window[] = {
          {1000, {0.80, 0.63}}, {4000, {1.12, 1.14}}, {8000, {1.43, 1.58}}, {32000, {2.27, 2.48}}};
    for (int b = 0; b < 2; b++) {
        const double B = b == 0 ? 32.0 : 128.0;
        for (size_t i = 0; i < sizeof mha / sizeof *mha; i++) {
            const spec_break_even_machine m = {&a100x8, &llama2, &tiny, B, mha[i].s, mha[i].s};
            assert_within(spec_break_even_roofline(&m, 3, spec_capped_geometric_mean(0.7, 3)),
                          mha[i].speedup[b], 0.0055);
        }
        for (size_t i = 0; i < sizeof window / sizeof *window; i++) {
            const spec_break_even_machine m = {&a100x8, &llama3, &llama3, B, window[i].s, 512.0};
            assert_within(spec_break_even_roofline(&m, 3, spec_capped_geometric_mean(0.85, 3)),
                          window[i].speedup[b], 0.0055);
        }
    }
    static const struct {
        double B;
        double speedup;
    } batches[] = {{1, 2.70},   {32, 2.69},  {64, 1.79}, {96, 1.25},
                   {128, 0.97}, {192, 0.69}, {256, 0.65}};
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        const spec_break_even_machine m = {&h100x4, &large, &half, batches[i].B, 512.0, 512.0};
        assert_within(spec_break_even_roofline(&m, 4, spec_capped_geometric_mean(0.7, 4)),
                      batches[i].speedup, 0.0055);
    }

    /* If compute limits every pass, the machine is affine, with s* at its full peak. */
    const double flops = 8 * 312e12, bandwidth = a100x8.bandwidth;
    const spec_affine_step affine = {.token = 2.0 * llama2.parameters / flops,
                                     .draft_token = 2.0 * tiny.parameters / flops,
                                     .kv = llama2.kv_bytes / bandwidth};
    assert_prints(spec_break_even_context(&affine, 2, spec_capped_geometric_mean(0.7, 2),
                                          tiny.kv_bytes / bandwidth),
                  0, "173");
    assert_prints(spec_break_even_context(&affine, 4, spec_capped_geometric_mean(0.7, 4),
                                          tiny.kv_bytes / bandwidth),
                  0, "302");
    const spec_hardware peak = {.flops = flops, .bandwidth = bandwidth};
    const double s = spec_break_even_context(&affine, 2, spec_capped_geometric_mean(0.7, 2),
                                             tiny.kv_bytes / bandwidth);
    const spec_break_even_machine m = {&peak, &llama2, &tiny, 1e6, s, s};
    assert_near(spec_break_even_roofline(&m, 2, spec_capped_geometric_mean(0.7, 2)), 1.0, 1e-12);
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
    const spec_hardware slow = {.flops = 0.5, .bandwidth = 0.25};
    const spec_transformer_shape small = {.parameters = 0.5, .bytes_per_weight = 0.5};
    assert_same(spec_break_even_pass(&slow, &small, 0.25, 0.0), 1.0);
    for (int i = 0; i < 7; i++) {
        spec_hardware hardware = slow;
        spec_transformer_shape shape = small;
        double *const part[] = {&hardware.flops, &hardware.bandwidth, &shape.parameters,
                                &shape.bytes_per_weight, &shape.kv_bytes};
        if (i < 5) *part[i] = i < 4 ? 0.0 : -1.0;
        assert_nan(
            spec_break_even_pass(&hardware, &shape, i == 5 ? 0.0 : 0.25, i == 6 ? -1.0 : 0.0));
    }
    const spec_break_even_machine part_of_one = {&slow, &small, &small, 0.5, 0.0, 0.0},
                                  one = {&slow, &small, &small, 1.0, 0.0, 0.0};
    assert_nan(spec_break_even_roofline(&part_of_one, 1, 1.5));
    assert_nan(spec_break_even_roofline(&one, 1, 2.5));
    assert_true(spec_break_even_roofline(&one, 1, 2.0) > 0.0);
}
