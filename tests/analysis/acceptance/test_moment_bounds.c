/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/acceptance/moment_bounds.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <math.h>

/* llama.cpp's pull request 24536: 87 rounds at K = 3, of which 70 55 42 accepted each depth. */
TEST(a_log_of_llama_cpp_has_these_bounds)
{
    const double m[] = {70.0 / 87.0, 55.0 / 87.0, 42.0 / 87.0};
    const double run = 1.0 + 167.0 / 87.0;
    for (int K = 0; K <= 3; K++) {
        double tokens = 1.0;
        for (int j = 0; j < K; j++) tokens += m[j];
        const spec_bounds same = spec_moment_bounds_free(m, 3, K);
        assert_same(same.low, same.high);
        assert_near(same.low, tokens, 1e-15);
        assert_same(spec_moment_bounds_constant(m, 3, K), same.low);
    }
    const spec_bounds four = spec_moment_bounds_free(m, 3, 4),
                      six = spec_moment_bounds_free(m, 3, 6);
    assert_prints(four.low, 2, "2.92");
    assert_prints(four.high, 2, "3.40");
    assert_prints(six.low, 2, "2.92");
    assert_prints(six.high, 2, "4.37");
    const double ratio = 42.0 / 55.0;
    assert_near(spec_moment_bounds_constant(m, 3, 4), run + 42.0 / 87.0 * ratio, 1e-15);
    assert_near(spec_moment_bounds_constant(m, 3, 6),
                run + 42.0 / 87.0 * (ratio + ratio * ratio + ratio * ratio * ratio), 1e-15);
}

TEST(values_outside_the_domain_have_no_bounds)
{
    const double good[] = {0.7, 0.5}, bad[3][2] = {{1.1, 0.5}, {0.7, -0.1}, {NAN, 0.5}};
    for (int i = 0; i < 3; i++) {
        assert_nan(spec_moment_bounds_free(bad[i], 2, 4).low);
        assert_nan(spec_moment_bounds_free(bad[i], 2, 4).high);
        assert_nan(spec_moment_bounds_constant(bad[i], 2, 4));
    }
    assert_nan(spec_moment_bounds_free(good, -1, 4).low);
    assert_nan(spec_moment_bounds_free(good, 2, -1).low);
    /* Nothing was run: every draft token may be accepted, or none. */
    const spec_bounds none = spec_moment_bounds_free(NULL, 0, 4);
    assert_same(none.low, 1.0);
    assert_same(none.high, 5.0);
    assert_same(spec_moment_bounds_constant(NULL, 0, 0), 1.0);
    assert_nan(spec_moment_bounds_constant(NULL, 0, 1));
    const double zero[] = {0.7, 0.0};
    assert_near(spec_moment_bounds_constant(zero, 2, 9), 1.7, 1e-15);
    const double zeros[] = {0.0, 0.0};
    assert_same(spec_moment_bounds_constant(zeros, 2, 9), 1.0);
}
