/* SPDX-License-Identifier: GPL-3.0-or-later */
/* saturation: an engine whose slots are always full, and tokens per round as its counters see them.
 * Slots are renewal processes that count steps; a request lives as many steps whatever the others
 * do. So all means are exact, for requests that differ in any way. Pure functions, NaN outside the
 * domain. docs/formulas.md#saturation. */
#ifndef SPECLAB_SATURATION_H
#define SPECLAB_SATURATION_H

/* Mean time of a step, s.
 *
 *     base - (base - undrafted) / steps^slots + slots extra / steps    docs/formulas.md#saturation
 *
 *   base       time of a step in which requests decode, beside what they add, s, > 0
 *   undrafted  that of a step with prefills alone, in (0, base]; base without prefills
 *   slots      requests in each step, >= 1
 *   extra      mean time that a request adds to all steps of its life, >= 0
 *   steps      mean steps of a life, >= 1
 * Assumes an affine step, and lives whose numbers of steps have no common divisor, so that slots
 * become independent: the second term needs it. Checked by: the Markov chain of slots. */
double spec_saturation_step(double base, double undrafted, double slots, double extra,
                            double steps);

/* Requests per second: slots / (steps step), for that mean time of a step. Times E[L], tokens per
 * second: without prompts slots E[L] / (E[N] step). */
double spec_saturation_rate(double slots, double steps, double step);

/* Tokens per round over all rounds of a long run, which is what an engine counts.
 *
 *     length / rounds,   in the limit of long requests  1 / sum_r share_r / mean_r
 *
 * Slow requests have more rounds, so it is the harmonic mean of the requests' own means.
 *   share   (n) of requests, >= 0, summing to 1 within 1e-9
 *   mean    (n) E[n_emitted] of these, >= 1
 *   returns tokens per round; NaN for n < 1 */
double spec_saturation_tokens_per_round(const double *share, const double *mean, int n);

#endif
