/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares gradients with central differences, and values with second routes. */
#include "base/noise.h"
#include "models/row.h"
#include "models/train/losses.h"
#include "tests/support/support.h"

#include <math.h>

enum { V = 7, ROWS = 40 };

static double uniform(uint64_t *at)
{
    return (double)(spec_noise_word(7, (*at)++) >> 11) * 0x1p-53;
}

static void softmax(double *row, const double *logit)
{
    double sum = 0.0;
    for (int i = 0; i < V; i++) sum += row[i] = exp(logit[i]);
    for (int i = 0; i < V; i++) row[i] /= sum;
}

static void draw(double *logit, double *p, uint64_t *at)
{
    double other[V];
    for (int i = 0; i < V; i++) {
        logit[i] = 4.0 * uniform(at) - 2.0;
        other[i] = 4.0 * uniform(at) - 2.0;
    }
    softmax(p, other);
}

static double loss_at(const double *logit, const double *p, spec_losses_kind kind)
{
    double q[V], gradient[V];
    softmax(q, logit);
    return spec_losses_row(gradient, q, p, V, kind);
}

/* LK's weight is not differentiated, so its reference is fixed at the row's own weight. */
static double fixed_mixture(const double *logit, const double *p, double w)
{
    return w * loss_at(logit, p, SPEC_LOSSES_FKL) + (1.0 - w) * loss_at(logit, p, SPEC_LOSSES_TV);
}

TEST(gradients_are_central_differences)
{
    uint64_t at = 0;
    for (int kind = 0; kind < SPEC_LOSSES_KINDS; kind++)
        for (int row = 0; row < ROWS; row++) {
            double logit[V], p[V], q[V], gradient[V], sum = 0.0, largest = 0.0;
            draw(logit, p, &at);
            if (kind == SPEC_LOSSES_CE)
                for (int i = 0; i < V; i++) p[i] = i == row % V;
            softmax(q, logit);
            const double w = exp(-3.0 * spec_row_overlap(p, q, V));
            (void)spec_losses_row(gradient, q, p, V, (spec_losses_kind)kind);
            for (int i = 0; i < V; i++) largest = fmax(largest, fabs(gradient[i]));
            for (int i = 0; i < V; i++) {
                const double step = 1e-5, centre = logit[i];
                double value[2];
                for (int side = 0; side < 2; side++) {
                    logit[i] = centre + (side == 0 ? -step : step);
                    value[side] = kind == SPEC_LOSSES_LK
                                      ? fixed_mixture(logit, p, w)
                                      : loss_at(logit, p, (spec_losses_kind)kind);
                }
                logit[i] = centre;
                const double difference = (value[1] - value[0]) / (2.0 * step);
                if (fabs(difference - gradient[i]) > 1e-6 * largest)
                    fail_msg("%s, row %d, logit %d: %.12g, not %.12g", spec_losses_names[kind], row,
                             i, gradient[i], difference);
                sum += gradient[i];
            }
            assert_true(fabs(sum) < 1e-14);
        }
}

TEST(values_agree_with_second_routes)
{
    uint64_t at = 1000;
    for (int row = 0; row < ROWS; row++) {
        double logit[V], p[V], q[V], unused[V], cross = 0.0, entropy = 0.0;
        draw(logit, p, &at);
        softmax(q, logit);
        for (int i = 0; i < V; i++) {
            cross -= p[i] * log(q[i]);
            entropy -= p[i] * log(p[i]);
        }
        double alpha = 1.0;
        for (int i = 0; i < V; i++) alpha -= fabs(p[i] - q[i]) / 2.0;
        const double w = exp(-3.0 * alpha),
                     forward = spec_losses_row(unused, q, p, V, SPEC_LOSSES_FKL),
                     there = spec_losses_row(unused, q, p, V, SPEC_LOSSES_JSD),
                     back = spec_losses_row(unused, p, q, V, SPEC_LOSSES_JSD);
        assert_true(fabs(forward - (cross - entropy)) < 1e-14);
        assert_true(fabs(forward - spec_losses_row(unused, p, q, V, SPEC_LOSSES_RKL)) < 1e-14);
        assert_true(fabs(there - back) < 1e-14 && there > 0.0 && there < log(2.0));
        assert_true(fabs(spec_losses_row(unused, q, p, V, SPEC_LOSSES_TV) - (1.0 - alpha)) < 1e-14);
        assert_true(fabs(spec_losses_row(unused, q, p, V, SPEC_LOSSES_NLA) + log(alpha)) < 1e-14);
        assert_true(fabs(spec_losses_row(unused, q, p, V, SPEC_LOSSES_LK) -
                         (w * forward + (1.0 - w) * (1.0 - alpha))) < 1e-14);
    }
}

/* For rows without a common token, and for equal rows, the gradient is finite, and 0 if the rows
 * are equal. */
TEST(limits_are_finite)
{
    static const double p[2] = {1.0, 0.0}, q[2] = {0.0, 1.0};
    for (int kind = 0; kind < SPEC_LOSSES_KINDS; kind++) {
        static const double same[2] = {0.25, 0.75};
        double gradient[2];
        assert_true(isfinite(spec_losses_row(gradient, q, p, 2, (spec_losses_kind)kind)));
        assert_true(isfinite(gradient[0]) && isfinite(gradient[1]));
        assert_true(fabs(spec_losses_row(gradient, same, same, 2, (spec_losses_kind)kind)) < 1e-15);
        assert_true(fabs(gradient[0]) < 1e-15 && fabs(gradient[1]) < 1e-15);
        assert_non_null(spec_losses_names[kind]);
    }
    assert_null(spec_losses_names[SPEC_LOSSES_KINDS]);
}
