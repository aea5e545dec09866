/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/train/losses.h"

#include <math.h>
#include <stddef.h>

const char *const spec_losses_names[] = {"ce", "fkl", "rkl", "jsd", "tv", "nla", "lk", NULL};

static const double least = 0x1p-60;

/* log(a/b), bounded where one of them vanishes. */
static double log_ratio(double a, double b)
{
    return log(fmax(a, least) / fmax(b, least));
}

static double forward(double *gradient, const double *q, const double *p, int n)
{
    double loss = 0.0;
    for (int i = 0; i < n; i++) {
        if (p[i] > 0.0) loss += p[i] * log_ratio(p[i], q[i]);
        gradient[i] = q[i] - p[i];
    }
    return loss;
}

static double reverse(double *gradient, const double *q, const double *p, int n)
{
    double loss = 0.0;
    for (int i = 0; i < n; i++) loss += q[i] * log_ratio(q[i], p[i]);
    for (int i = 0; i < n; i++) gradient[i] = q[i] * (log_ratio(q[i], p[i]) - loss);
    return loss;
}

static double jensen_shannon(double *gradient, const double *q, const double *p, int n)
{
    double of_p = 0.0, of_q = 0.0;
    for (int i = 0; i < n; i++) {
        const double m = (p[i] + q[i]) / 2.0;
        of_p += p[i] * log_ratio(p[i], m);
        of_q += q[i] * log_ratio(q[i], m);
    }
    for (int i = 0; i < n; i++)
        gradient[i] = q[i] / 2.0 * (log_ratio(q[i], (p[i] + q[i]) / 2.0) - of_q);
    return (of_p + of_q) / 2.0;
}

/* Only tokens with q_i < p_i change alpha to first order. */
static double total_variation(double *gradient, const double *q, const double *p, int n)
{
    double alpha = 0.0, below = 0.0;
    for (int i = 0; i < n; i++) {
        alpha += fmin(p[i], q[i]);
        if (q[i] < p[i]) below += q[i];
    }
    for (int i = 0; i < n; i++) gradient[i] = q[i] * (below - (q[i] < p[i] ? 1.0 : 0.0));
    return 1.0 - alpha;
}

static double log_acceptance(double *gradient, const double *q, const double *p, int n)
{
    const double alpha = fmax(1.0 - total_variation(gradient, q, p, n), least);
    for (int i = 0; i < n; i++) gradient[i] /= alpha;
    return -log(alpha);
}

static double mixture(double *gradient, const double *q, const double *p, int n)
{
    double divergence = 0.0, alpha = 0.0, below = 0.0;
    for (int i = 0; i < n; i++) {
        if (p[i] > 0.0) divergence += p[i] * log_ratio(p[i], q[i]);
        alpha += fmin(p[i], q[i]);
        if (q[i] < p[i]) below += q[i];
    }
    const double w = exp(-3.0 * alpha);
    for (int i = 0; i < n; i++)
        gradient[i] = w * (q[i] - p[i]) + (1.0 - w) * q[i] * (below - (q[i] < p[i] ? 1.0 : 0.0));
    return w * divergence + (1.0 - w) * (1.0 - alpha);
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
