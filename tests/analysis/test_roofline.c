/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/roofline.h"
#include "analysis/speedup.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_randist.h>
#include <stdio.h>

static const spec_transformer_shape seven_billion = {.parameters = 7e9, .bytes_per_weight = 2.0};
static const spec_transformer_shape seventy_billion = {.parameters = 70e9, .bytes_per_weight = 2.0};
static const spec_transformer_shape odd = {
    .parameters = 2.385, .bytes_per_weight = 0.27, .layers = 3.0, .width = 5.0, .kv_bytes = 7.0};

/* The example of many tutorials: 7 B parameters in FP16 on an A100 decode at 1 FLOP per byte and
 * 0.6 % of the peak; a prompt of 1000 tokens at 1000 FLOP per byte and all of it. */
TEST(seven_billion_parameters_on_an_a100)
{
    const spec_hardware *a100 = spec_hardware_find("A100");
    assert_same(spec_roofline_pass_flops(&seven_billion, 1.0, 0.0), 14e9);
    assert_same(spec_roofline_pass_bytes(&seven_billion, 1.0, 0.0), 14e9);
    assert_same(spec_roofline_intensity(&seven_billion, 1.0, 0.0), 1.0);
    assert_prints(100.0 * spec_roofline_utilization(a100, 1.0), 1, "0.6");
    assert_same(spec_roofline_pass_flops(&seven_billion, 1000.0, 0.0), 14e12);
    assert_same(spec_roofline_intensity(&seven_billion, 1000.0, 0.0), 1000.0);
    assert_same(spec_roofline_utilization(a100, 1000.0), 1.0);
    assert_near(spec_roofline_pass_time(a100, &seven_billion, 1.0, 0.0), 7e-3,
                1e-15); /* "about 7 ms, whether 1 token or 5" */
    assert_near(spec_roofline_pass_time(a100, &seven_billion, 5.0, 0.0), 7e-3, 1e-15);
    assert_near(spec_roofline_intensity(&seven_billion, 5.0, 0.0), 5.0, 1e-15);
}

/* 70 B in FP16 are 140 GB: 14 tokens/s at 2 TB/s. "47 ms per token on an H100" is 3 TB/s; the data
 * sheet's 3.35 TB/s would give 42. */
TEST(seventy_billion_parameters)
{
    assert_same(spec_roofline_pass_bytes(&seventy_billion, 1.0, 0.0), 140e9);
    assert_prints(
        1.0 / spec_roofline_pass_time(spec_hardware_find("A100"), &seventy_billion, 1.0, 0.0), 0,
        "14");
    const spec_hardware three_terabytes = {.flops = 989e12, .bandwidth = 3e12};
    assert_prints(1e3 * spec_roofline_pass_time(&three_terabytes, &seventy_billion, 1.0, 0.0), 0,
                  "47");
    assert_prints(
        1e3 * spec_roofline_pass_time(spec_hardware_find("H100"), &seventy_billion, 1.0, 0.0), 0,
        "42");
    assert_prints(
        1e3 * spec_roofline_pass_time(spec_hardware_find("H200"), &seventy_billion, 1.0, 0.0), 0,
        "29");
}

/* Second route: count token by token. */
TEST(attention_and_cache_are_counted_token_by_token)
{
    for (int n = 1; n < 6; n++) {
        for (int context = 0; context < 4; context++) {
            double flops = 0.0, bytes = odd.parameters * odd.bytes_per_weight;
            for (int i = 1; i <= n; i++)
                flops += 2.0 * odd.parameters + 2.0 * 2.0 * 3.0 * 5.0 * (context + i);
            for (int i = 0; i < context; i++) bytes += 7.0; /* read */
            for (int i = 0; i < n; i++) bytes += 7.0;       /* written */
            assert_near(spec_roofline_pass_flops(&odd, n, context), flops, 1e-14);
            assert_near(spec_roofline_pass_bytes(&odd, n, context), bytes, 1e-14);
            assert_near(spec_roofline_intensity(&odd, n, context), flops / bytes, 1e-14);
        }
    }
}

TEST(time_is_the_larger_of_two)
{
    const spec_hardware slow_memory = {.flops = 1e9, .bandwidth = 2.385};
    const spec_hardware slow_compute = {.flops = 0.27, .bandwidth = 1e9};
    assert_near(spec_roofline_pass_time(&slow_memory, &odd, 2.0, 3.0),
                spec_roofline_pass_bytes(&odd, 2.0, 3.0) / 2.385, 1e-15);
    assert_near(spec_roofline_pass_time(&slow_compute, &odd, 2.0, 3.0),
                spec_roofline_pass_flops(&odd, 2.0, 3.0) / 0.27, 1e-15);
    const spec_hardware even = {.flops = 8.0, .bandwidth = 2.0};
    assert_same(spec_roofline_utilization(&even, 1.0), 0.25);
    assert_same(spec_roofline_utilization(&even, 4.0), 1.0);
    assert_same(spec_roofline_utilization(&even, 5.0), 1.0);
    assert_same(spec_roofline_utilization(&even, 0.0), 0.0);
}

TEST(compute_takes_over_at_the_ridge)
{
    const spec_hardware *a100 = spec_hardware_find("A100");
    double ridge = spec_roofline_ridge_tokens(a100, 2.0);
    assert_same(ridge, 156.0);
    assert_same(spec_roofline_ridge_tokens(a100, 0.5), 39.0);
    double memory = spec_roofline_pass_time(a100, &seven_billion, 1.0, 0.0);
    assert_near(spec_roofline_pass_time(a100, &seven_billion, ridge, 0.0), memory, 1e-14);
    assert_near(spec_roofline_pass_time(a100, &seven_billion, 2.0 * ridge, 0.0), 2.0 * memory,
                1e-14);
    assert_near(
        spec_roofline_utilization(a100, spec_roofline_intensity(&seven_billion, ridge, 0.0)), 1.0,
        1e-14);
}

/* Second route: the exact law of the number of distinct experts, token after token. A token that
 * finds d experts taken adds j new ones with the hypergeometric probability. */
TEST(experts_are_those_of_the_exact_law)
{
    static const int cases[][2] = {{8, 2}, {64, 8}, {32, 4}, {7, 1}, {5, 5}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const unsigned E = (unsigned)cases[c][0], k = (unsigned)cases[c][1];
        double law[65] = {1.0}, next[65];
        for (int n = 0; n <= 20; n++) {
            double mean = 0.0;
            for (unsigned d = 0; d <= E; d++) mean += d * law[d];
            assert_near(spec_roofline_experts(E, k, n), mean, 1e-12);
            for (unsigned d = 0; d <= E; d++) next[d] = 0.0;
            for (unsigned d = 0; d <= E; d++)
                for (unsigned j = 0; j <= k && d + j <= E; j++)
                    next[d + j] += law[d] * gsl_ran_hypergeometric_pdf(j, E - d, d, k);
            for (unsigned d = 0; d <= E; d++) law[d] = next[d];
        }
    }
    assert_nan(spec_roofline_experts(8.0, 9.0, 1.0));
    assert_nan(spec_roofline_experts(8.0, 0.0, 1.0));
    assert_nan(spec_roofline_experts(8.0, 2.0, -1.0));
    assert_nan(spec_roofline_experts(NAN, 2.0, 1.0));
}

/* Second route: the context at which the best K first exceeds 0, by bisection. */
TEST(a_window_gains_from_the_context_where_a_draft_token_pays)
{
    static const double alphas[] = {0.27, 0.6, 0.9, 0.999}, kv[] = {0.3, 131072.0},
                        reads[] = {0.0, 5.0, 516.0};
    const double weights = 2.385e9;
    for (int i = 0; i < 4 * 2 * 3; i++) {
        const double alpha = alphas[i % 4], kv_bytes = kv[i / 4 % 2], read = reads[i / 8];
        double low = read, high = 1e13;
        for (int step = 0; step < 200; step++) {
            const double context = 0.5 * (low + high),
                         c = spec_roofline_window_cost(weights, kv_bytes, read, context);
            *(spec_speedup_best_K(alpha, c) > 0.0 ? &high : &low) = context;
        }
        assert_near(spec_roofline_window_context(alpha, weights, kv_bytes, read), high, 1e-9);
    }
    assert_same(spec_roofline_window_context(1.0, weights, 2.0, 516.0), 516.0);
    assert_same(spec_roofline_window_context(0.0, weights, 2.0, 516.0), INFINITY);
    assert_same(spec_roofline_window_context(1.0, weights, 0.0, 516.0), INFINITY);
    assert_same(spec_roofline_window_cost(weights, 2.0, 516.0, 516.0), 1.0);
    assert_same(spec_roofline_window_cost(weights, 2.0, 516.0, 3.0), 1.0);
    assert_same(spec_roofline_window_cost(6.0, 2.0, 1.0, 5.0), 0.5);
    for (int bad = 0; bad < 4; bad++) {
        double x[] = {0.5, 2.0, 3.0, 4.0};
        x[bad] = bad == 1 ? 0.0 : -0.1;
        assert_nan(spec_roofline_window_context(x[0], x[1], x[2], x[3]));
        assert_nan(
            spec_roofline_window_cost(x[bad == 0 ? 0 : 1], x[2], x[3], bad == 0 ? x[0] : 9.0));
    }
    assert_nan(spec_roofline_window_context(1.1, 2.0, 3.0, 4.0));
    assert_nan(spec_roofline_window_cost(2.0, 3.0, 4.0, INFINITY));
}

TEST(outside_the_domain_is_nan)
{
    const double bad[] = {-1e-300, NAN, INFINITY, 0.0};
    const spec_hardware fine = {.flops = 8.0, .bandwidth = 2.0};
    for (int i = 0; i < 4; i++) {
        /* 0 is a valid amount, but not a valid size; bad[] ends with it */
        for (int field = 0; field < 7; field++) {
            if (i == 3 && field >= 3) continue;
            spec_transformer_shape shape = odd;
            double n_tokens = 2.0, context = 3.0;
            double *const at[] = {&shape.parameters, &shape.bytes_per_weight, &n_tokens,
                                  &context,          &shape.layers,           &shape.width,
                                  &shape.kv_bytes};
            *at[field] = bad[i];
            assert_nan(spec_roofline_pass_flops(&shape, n_tokens, context));
            assert_nan(spec_roofline_pass_bytes(&shape, n_tokens, context));
            assert_nan(spec_roofline_intensity(&shape, n_tokens, context));
            assert_nan(spec_roofline_pass_time(&fine, &shape, n_tokens, context));
        }
        const spec_hardware no_flops = {.flops = bad[i], .bandwidth = 2.0};
        const spec_hardware no_bandwidth = {.flops = 8.0, .bandwidth = bad[i]};
        const spec_hardware *const broken[] = {&no_flops, &no_bandwidth};
        for (int j = 0; j < 2; j++) {
            assert_nan(spec_roofline_pass_time(broken[j], &odd, 2.0, 3.0));
            assert_nan(spec_roofline_utilization(broken[j], 1.0));
            assert_nan(spec_roofline_ridge_tokens(broken[j], 2.0));
        }
        if (i < 3) assert_nan(spec_roofline_utilization(&fine, bad[i]));
        assert_nan(spec_roofline_ridge_tokens(&fine, bad[i]));
    }
    spec_transformer_shape bare = {.parameters = 1.0, .bytes_per_weight = 2.0};
    assert_same(spec_roofline_pass_flops(&bare, 1.0, 0.0), 2.0);
    assert_same(spec_roofline_pass_bytes(&bare, 1.0, 0.0), 2.0);
}
