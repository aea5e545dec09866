/* SPDX-License-Identifier: GPL-3.0-or-later */
/* battery: statistical tests of 32-bit random words, on GSL; each returns a p-value.
 * The p-value is that of the upper tail: near 1 if the words are too even, and uniform for a good
 * generator. Degrees of freedom are those of the law; nothing is fitted.
 * tests/sim/chance/test_lanes.c shows for each test a generator that it rejects. */
#ifndef SPECLAB_TESTS_BATTERY_H
#define SPECLAB_TESTS_BATTERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    const char *name;
    double (*p)(const uint32_t *word, size_t n);
} spec_battery_test;

/* Tests of one sequence; ends with a NULL name.
 *   bits              each of the 32 bits is 1 half of the time                 chi-square, df 32
 *   high_bytes        bits 24..31 are uniform                                               df 255
 *   low_bytes         bits 0..7 are uniform                                                 df 255
 *   pairs_high, _low  (high 6, or low 6, bits of) two neighbours, without overlap           df 4095
 *   triples_high      (high 4 bits of) three neighbours, without overlap                    df 4095
 *   autocorrelation   of words one apart                                                    normal
 *   gaps              between words below 2^28: geometric, 0..31 and longer               df 32
 *   runs              lengths of ascending runs, a word skipped after each
 *                     [Knuth97] 3.3.2 G                                                     df 6
 *   birthdays         equal spacings of 4096 sorted words [Marsaglia02]: Poisson, mean 4
 *                     at most 128 samples */
extern const spec_battery_test spec_battery[];

/* Tests of two sequences side by side: their correlation, and that of their population counts,
 * which is invariant under rotations. */
double spec_battery_correlation(const uint32_t *a, const uint32_t *b, size_t n);
double spec_battery_weight_correlation(const uint32_t *a, const uint32_t *b, size_t n);

/* Compares counts (cells) with their probabilities: chi-square, df = cells - 1. */
double spec_battery_chi_square(const uint64_t *counts, const double *probability, size_t cells);

/* Returns whether p is too close to 0 or 1 for the suite's threshold. */
bool spec_battery_rejects(double p);

#endif
