/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/serving/static_batch.h"

#include "tests/support/beta_nodes.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <stdio.h>

/* At alpha = .8, K = 4 and 256 tokens, with 8, 32 and 128 requests: if all have one alpha, and if
 * alpha follows Beta(4,1) or Beta(16,4). */
TEST(known_losses)
{
    static const struct {
        double concentration;
        const char *loss[3];
    } rows[] = {{0.0, {"1.08", "1.12", "1.15"}},
                {5.0, {"1.61", "2.03", "2.37"}},
                {20.0, {"1.30", "1.49", "1.66"}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double alpha[BETA_NODES] = {0.8}, share[BETA_NODES] = {1.0};
        const int n = rows[i].concentration > 0.0 ? BETA_NODES : 1;
        if (n > 1) beta_nodes(alpha, share, 0.8, rows[i].concentration);
        OWNED(spec_rounds_law) law;
        assert_int_equal(spec_rounds_law_init(&law, 256), GSL_SUCCESS);
        for (int r = 0; r < n; r++)
            assert_int_equal(spec_rounds_law_add_alpha(&law, share[r], alpha[r], 4, 0.0, NULL, 256),
                             GSL_SUCCESS);
        for (int b = 0; b < 3; b++)
            assert_prints(spec_static_batch_rounds(&law, (const double[]){8, 32, 128}[b]) /
                              spec_rounds_law_mean(&law),
                          2, rows[i].loss[b]);
    }
}

/* Second route: the largest number of rounds, over all outcomes of three requests. */
TEST(it_is_the_mean_of_the_largest)
{
    enum { L = 9 };
    OWNED(spec_rounds_law) law;
    assert_int_equal(spec_rounds_law_init(&law, L), GSL_SUCCESS);
    assert_int_equal(spec_rounds_law_add_alpha(&law, 0.3, 0.4, 2, 0.0, NULL, L), GSL_SUCCESS);
    assert_int_equal(spec_rounds_law_add_alpha(&law, 0.7, 0.9, 2, 0.2, NULL, L), GSL_SUCCESS);
    double chance[L + 1] = {0.0}, largest = 0.0;
    for (int n = 1; n <= L; n++) chance[n] = law.longer[n - 1] - (n < L ? law.longer[n] : 0.0);
    for (int a = 1; a <= L; a++)
        for (int b = 1; b <= L; b++)
            for (int c = 1; c <= L; c++) {
                const int most = a > b ? (a > c ? a : c) : (b > c ? b : c);
                largest += chance[a] * chance[b] * chance[c] * most;
            }
    assert_near(spec_static_batch_rounds(&law, 3.0), largest, 1e-14);
    assert_near(spec_static_batch_rounds(&law, 1.0), spec_rounds_law_mean(&law), 1e-14);
}

TEST(equal_requests_lose_nothing)
{
    OWNED(spec_rounds_law) law;
    assert_int_equal(spec_rounds_law_init(&law, 64), GSL_SUCCESS);
    assert_int_equal(spec_rounds_law_add_alpha(&law, 1.0, 0.8, 0, 0.0, NULL, 64), GSL_SUCCESS);
    assert_same(spec_static_batch_rounds(&law, 128.0), 64.0);
    assert_nan(spec_static_batch_rounds(&law, 0.9));
    assert_nan(spec_static_batch_rounds(&law, NAN));
}
