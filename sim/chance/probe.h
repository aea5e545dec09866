/* SPDX-License-Identifier: GPL-3.0-or-later */
/* probe: estimates how many branches an enumeration has, from random paths through its decisions.
 * A path takes each of the d positive branches of a decision with chance 1/d. The mean of the
 * product of these d along the path is the number of branches [Knuth75]. The product has a long
 * tail, so the standard error of its mean says little; instead we bet against the claim that the
 * mean is at most a limit, which is valid for any tail [Ville39]. */
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
    double limit;   /* the limit on branches */
    double product; /* product for the current path so far */
    uint64_t n;     /* finished paths, and the mean of their products: the estimate */
    double mean;
    double log_bet[SPEC_PROBE_BETS]; /* log of the wealth of each bet */
} spec_probe;

void spec_probe_init(spec_probe *probe, gsl_rng *rng, double limit);
void spec_probe_end_path(spec_probe *probe);

/* Returns the log of the evidence that there are more branches than the limit. If there are not,
 * the chance that it ever reaches log(x) is at most 1/x, for any tail. It is the mean, over bets of
 * lambda = 1/2, 1/4, ... 2^-16, of the wealth
 *
 *     product over paths of 1 + lambda (X / limit - 1)
 *
 * whose mean after the next path is at most its present value if E[X] <= limit. Checked by: a limit
 * at the exact count, over many streams (tests/sim/chance/test_probe.c). */
double spec_probe_log_e(const spec_probe *probe);

#endif
