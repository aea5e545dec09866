/* SPDX-License-Identifier: GPL-3.0-or-later */
/* saturation: an engine whose slots are always full, and the tokens per round that it reports.
 * Counted in steps, each slot is a renewal process, because the number of steps of a request does
 * not depend on the others. So all means are exact, however much requests differ. Pure functions,
 * NaN outside the domain. docs/formulas/serving.md#saturation. */
#ifndef SPECLAB_SATURATION_H
#define SPECLAB_SATURATION_H

/* Returns the mean time of a step, s.
 *
 *     base - (base - undrafted) / steps^slots + slots extra / steps
 *         docs/formulas/serving.md#saturation
 *
 *   base       time of a step in which requests decode, without what they add, s, > 0
 *   undrafted  time of a step with only prefills, in (0, base]; base if there are none
 *   slots      requests in each step, >= 1
 *   extra      mean time that a request adds to all steps of its life, >= 0
 *   steps      mean steps of a life, >= 1
 * Assumes an affine step. The second term also needs the slots to become independent, which they do
 * if the possible numbers of steps of a life have no common divisor. Checked by: the Markov chain
 * of slots. */
double spec_saturation_step(double base, double undrafted, double slots, double extra,
                            double steps);

/* Returns requests per second, slots / (steps step), where step is the mean time of a step.
 * Multiply by E[L] for tokens per second; without prompts this is slots E[L] / (E[N] step). */
double spec_saturation_rate(double slots, double steps, double step);

/* Returns the tokens per round over all rounds of a long run, which is what an engine counts.
 *
 *     length / rounds,   in the limit of long requests  1 / sum_r share_r / mean_r
 *
 * Slow requests have more rounds, so this is the harmonic mean of the means of the requests.
 *   share   (n) shares of requests, >= 0, summing to 1 within 1e-9
 *   mean    (n) their E[n_emitted], >= 1
 *   returns tokens per round; NaN for n < 1 */
double spec_saturation_tokens_per_round(const double *share, const double *mean, int n);

#endif
