/* SPDX-License-Identifier: GPL-3.0-or-later */
/* probe: estimates how many branches an enumeration has, from random paths through its decisions.
 * A path takes each of the d positive branches of a decision with chance 1/d. The product of the d
 * along the path has the number of branches as its mean [Knuth75]. Its law has a long tail, so
 * standard errors of its mean say little; bets that the mean is at most a limit hold for any tail
 * [Ville39]. */
#ifndef SPECLAB_PROBE_H
#define SPECLAB_PROBE_H

#include "sim/chance/chance.h"

enum { SPEC_PROBE_BETS = 16 };

/* Usage:
 *     spec_probe_init(&probe, rng, limit);
 *     for (...) { ... code that asks &probe.chance ...; spec_probe_end_path(&probe); }
 *     probe.mean, spec_probe_log_e(&probe)
 *
 * The probe must not be moved, because its chance points at it. It borrows the generator. */
typedef struct {
    spec_chance chance;
    double limit;   /* branches */
    double product; /* of the current path so far */
    uint64_t n;     /* finished paths, and the mean of their products: the estimate */
    double mean;
    double log_bet[SPEC_PROBE_BETS]; /* wealth of each bet */
} spec_probe;

void spec_probe_init(spec_probe *probe, gsl_rng *rng, double limit);
void spec_probe_end_path(spec_probe *probe);

/* Evidence that there are more branches than the limit. If there are not, it ever reaches log(x)
 * with a chance of at most 1/x, for any tail. The mean over bets of lambda = 1/2, 1/4, ... 2^-16 of
 * the wealth
 *
 *     product over paths of 1 + lambda (X / limit - 1)
 *
 * whose mean at the next path is at most its present value if E[X] <= limit. Checked by: a limit at
 * the exact count, over many streams (tests/sim/chance/test_probe.c). */
double spec_probe_log_e(const spec_probe *probe);

#endif
