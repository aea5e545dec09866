/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares the sums over paths, with every instruction set, with their definition. */
#include "models/transformer/kernels/path.h"

#include "tests/support/support.h"

#include <gsl/gsl_rng.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 40, WIDTHS = 4, LANES = 16 };

static float defined_dot(const float *a, const float *b, int width)
{
    float lane[LANES] = {0.0f};
    for (int d = 0; d < width; d++) lane[d % LANES] = fmaf(a[d], b[d], lane[d % LANES]);
    for (int apart = LANES / 2; apart > 0; apart /= 2)
        for (int l = 0; l < apart; l++) lane[l] += lane[l + apart];
    return lane[0];
}

static void draw(float *x, size_t n, gsl_rng *rng)
{
    for (size_t i = 0; i < n; i++) x[i] = (float)(2.0 * gsl_rng_uniform(rng) - 1.0);
}

TEST(sums_over_paths_have_the_same_bytes_everywhere)
{
    static const int widths[WIDTHS] = {16, 32, 48, 128};
    OWNED_RNG *rng = spec_test_rng(gsl_rng_taus2, 5);
    for (int i = 0; i <= (int)spec_cpu_best_isa(); i++)
        for (int w = 0; w < WIDTHS; w++)
            for (int n = 0; n <= ROWS; n += 13) {
                const int width = widths[w];
                const spec_path_kernels *kernels = spec_path_kernels_of((spec_isa)i);
                float rows[ROWS * 128], pair[2 * 128], weight[2 * SPEC_PATH_MAX],
                    score[2 * SPEC_PATH_MAX], sum[2 * 128], expected[2 * 128];
                int index[ROWS];
                draw(rows, ROWS * 128, rng);
                draw(pair, 2 * 128, rng);
                draw(weight, 2 * SPEC_PATH_MAX, rng);
                for (int t = 0; t < n; t++) index[t] = (7 * t + 3) % ROWS;
                kernels->dot(score, pair, width, rows, index, n);
                memcpy(sum, pair, sizeof sum);
                memcpy(expected, pair, sizeof expected);
                kernels->add(sum, weight, width, rows, index, n);
                for (int h = 0; h < 2; h++)
                    for (int t = 0; t < n; t++) {
                        const float *row = rows + index[t] * width;
                        assert_true(score[h * SPEC_PATH_MAX + t] ==
                                    defined_dot(pair + h * width, row, width));
                        for (int d = 0; d < width; d++)
                            expected[h * width + d] = fmaf(weight[h * SPEC_PATH_MAX + t], row[d],
                                                           expected[h * width + d]);
                    }
                assert_memory_equal(sum, expected, 2 * (size_t)width * sizeof *sum);
            }
}
