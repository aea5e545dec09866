/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/train/losses.h"

#include "models/row.h"

#include <math.h>
#include <stddef.h>

const char *const spec_losses_names[] = {"ce", "fkl", "rkl", "jsd", "tv", "nla", "lk", NULL};

static const double least = 0x1p-60;

/* Returns log(a/b), bounded if one of them vanishes. */
static double log_ratio(double a, double b)
{
    return log(fmax(a, least) / fmax(b, least));
}

/* KL(a||b), in nats. */
static double divergence(const double *a, const double *b, int n)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++)
        if (a[i] > 0.0) sum += a[i] * log_ratio(a[i], b[i]);
    return sum;
}

static double forward(double *gradient, const double *q, const double *p, int n)
{
    for (int i = 0; i < n; i++) gradient[i] = q[i] - p[i];
    return divergence(p, q, n);
}

static double reverse(double *gradient, const double *q, const double *p, int n)
{
    const double loss = divergence(q, p, n);
    for (int i = 0; i < n; i++) gradient[i] = q[i] * (log_ratio(q[i], p[i]) - loss);
    return loss;
}

/* `gradient` holds the mean row m until we overwrite it with the gradient. */
static double jensen_shannon(double *gradient, const double *q, const double *p, int n)
{
    double *const m = gradient;
    for (int i = 0; i < n; i++) m[i] = (p[i] + q[i]) / 2.0;
    const double of_p = divergence(p, m, n), of_q = divergence(q, m, n);
    for (int i = 0; i < n; i++) gradient[i] = q[i] / 2.0 * (log_ratio(q[i], m[i]) - of_q);
    return (of_p + of_q) / 2.0;
}

/* Only tokens with q_i < p_i change alpha to first order. */
static double total_variation(double *gradient, const double *q, const double *p, int n)
{
    double below = 0.0;
    for (int i = 0; i < n; i++)
        if (q[i] < p[i]) below += q[i];
    for (int i = 0; i < n; i++) gradient[i] = q[i] * (below - (q[i] < p[i] ? 1.0 : 0.0));
    return 1.0 - spec_row_overlap(p, q, n);
}

static double log_acceptance(double *gradient, const double *q, const double *p, int n)
{
    const double alpha = fmax(1.0 - total_variation(gradient, q, p, n), least);
    for (int i = 0; i < n; i++) gradient[i] /= alpha;
    return -log(alpha);
}

static double mixture(double *gradient, const double *q, const double *p, int n)
{
    const double variation = total_variation(gradient, q, p, n), w = exp(-3.0 * (1.0 - variation));
    for (int i = 0; i < n; i++) gradient[i] = w * (q[i] - p[i]) + (1.0 - w) * gradient[i];
    return w * divergence(p, q, n) + (1.0 - w) * variation;
}

double spec_losses_row(double *ret_gradient, const double *q, const double *p, int n,
                       spec_losses_kind kind)
{
    switch (kind) {
    case SPEC_LOSSES_RKL: return reverse(ret_gradient, q, p, n);
    case SPEC_LOSSES_JSD: return jensen_shannon(ret_gradient, q, p, n);
    case SPEC_LOSSES_TV: return total_variation(ret_gradient, q, p, n);
    case SPEC_LOSSES_NLA: return log_acceptance(ret_gradient, q, p, n);
    case SPEC_LOSSES_LK: return mixture(ret_gradient, q, p, n);
    default: return forward(ret_gradient, q, p, n);
    }
}
