/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/battery.h"

#include "tests/support/support.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <math.h>

bool spec_battery_rejects(double p)
{
    return !(p > SPEC_TEST_P / 2.0 && p < 1.0 - SPEC_TEST_P / 2.0);
}

double spec_battery_chi_square(const uint64_t *counts, const double *probability, size_t cells)
{
    double n = 0.0, sum = 0.0;
    for (size_t i = 0; i < cells; i++) n += (double)counts[i];
    for (size_t i = 0; i < cells; i++) {
        const double expected = n * probability[i];
        sum += ((double)counts[i] - expected) * ((double)counts[i] - expected) / expected;
    }
    return gsl_cdf_chisq_Q(sum, (double)(cells - 1));
}

/* ---- frequencies ----------------------------------------------------------------------------- */

static double bits(const uint32_t *word, size_t n)
{
    double sum = 0.0;
    for (int bit = 0; bit < 32; bit++) {
        uint64_t ones = 0;
        for (size_t i = 0; i < n; i++) ones += word[i] >> bit & 1;
        const double z = (2.0 * (double)ones - (double)n) / sqrt((double)n);
        sum += z * z;
    }
    return gsl_cdf_chisq_Q(sum, 32.0);
}

/* Counts tuples of `dimension` words, `width` bits of each from bit `shift` on: all 2^(dimension *
 * width) are equally likely. */
static double tuples(const uint32_t *word, size_t n, int dimension, int width, int shift)
{
    enum { CELLS_MAX = 4096 };
    uint64_t counts[CELLS_MAX] = {0};
    double probability[CELLS_MAX];
    const size_t cells = (size_t)1 << (dimension * width);
    const uint32_t kept = ((uint32_t)1 << width) - 1;
    for (size_t i = 0; i + (size_t)dimension <= n; i += (size_t)dimension) {
        uint32_t cell = 0;
        for (int j = 0; j < dimension; j++)
            cell = cell << width | (word[i + (size_t)j] >> shift & kept);
        counts[cell]++;
    }
    for (size_t i = 0; i < cells; i++) probability[i] = 1.0 / (double)cells;
    return spec_battery_chi_square(counts, probability, cells);
}

static double high_bytes(const uint32_t *word, size_t n)
{
    return tuples(word, n, 1, 8, 24);
}

static double low_bytes(const uint32_t *word, size_t n)
{
    return tuples(word, n, 1, 8, 0);
}

static double pairs_high(const uint32_t *word, size_t n)
{
    return tuples(word, n, 2, 6, 26);
}

static double pairs_low(const uint32_t *word, size_t n)
{
    return tuples(word, n, 2, 6, 0);
}

static double triples_high(const uint32_t *word, size_t n)
{
    return tuples(word, n, 3, 4, 28);
}

/* ---- order ----------------------------------------------------------------------------------- */

static double gaps(const uint32_t *word, size_t n)
{
    enum { LONGEST = 32 };
    const double visit = 1.0 / 16.0;
    uint64_t counts[LONGEST + 1] = {0};
    double probability[LONGEST + 1];
    size_t gap = 0;
    for (size_t i = 0; i < n; i++) {
        if (word[i] >> 28 == 0) {
            counts[gap < LONGEST ? gap : LONGEST]++;
            gap = 0;
        } else {
            gap++;
        }
    }
    for (int i = 0; i < LONGEST; i++) probability[i] = visit * pow(1.0 - visit, i);
    probability[LONGEST] = pow(1.0 - visit, LONGEST);
    return spec_battery_chi_square(counts, probability, LONGEST + 1);
}

/* A run of length r has probability 1/r! - 1/(r+1)!; runs are independent if the word that ends a
 * run is skipped. */
static double runs(const uint32_t *word, size_t n)
{
    enum { LONGEST = 7 };
    uint64_t counts[LONGEST] = {0};
    double probability[LONGEST], factorial = 1.0;
    size_t length = 1;
    for (size_t i = 1; i < n; i++) {
        if (word[i] > word[i - 1]) {
            length++;
        } else {
            counts[(length < LONGEST ? length : LONGEST) - 1]++;
            length = 1;
            i++;
        }
    }
    for (int r = 1; r < LONGEST; r++) {
        probability[r - 1] = 1.0 / factorial - 1.0 / (factorial * (r + 1));
        factorial *= r + 1;
    }
    probability[LONGEST - 1] = 1.0 / factorial;
    return spec_battery_chi_square(counts, probability, LONGEST);
}

static double birthdays(const uint32_t *word, size_t n)
{
    enum { PEOPLE = 4096, SAMPLES = 128 };
    unsigned int day[PEOPLE], spacing[PEOPLE];
    unsigned int samples = 0, equal = 0;
    for (; samples < SAMPLES && (samples + 1) * (size_t)PEOPLE <= n; samples++) {
        for (size_t i = 0; i < PEOPLE; i++) day[i] = word[samples * (size_t)PEOPLE + i];
        gsl_sort_uint(day, 1, PEOPLE);
        for (size_t i = 0; i < PEOPLE; i++)
            spacing[i] = day[i] - (i > 0 ? day[i - 1] : day[PEOPLE - 1]);
        gsl_sort_uint(spacing, 1, PEOPLE);
        for (size_t i = 1; i < PEOPLE; i++) equal += spacing[i] == spacing[i - 1];
    }
    const double mean = (double)samples * 0x1p36 / 0x1p34; /* people^3 / (4 days) each */
    return gsl_cdf_poisson_Q(equal, mean);
}

/* ---- correlation ----------------------------------------------------------------------------- */

/* Returns z of the mean product of two standardised values; their mean and variance are known, not
 * fitted. */
static double product_z(const uint32_t *a, const uint32_t *b, size_t n,
                        double (*standard)(uint32_t))
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) sum += standard(a[i]) * standard(b[i]);
    return sum / sqrt((double)n);
}

static double standard_number(uint32_t word)
{
    return (word - 2147483647.5) / (0x1p32 / sqrt(12.0)); /* the variance is (2^64 - 1) / 12 */
}

static double standard_weight(uint32_t word)
{
    return (__builtin_popcount(word) - 16.0) / sqrt(8.0);
}

double spec_battery_correlation(const uint32_t *a, const uint32_t *b, size_t n)
{
    return gsl_cdf_ugaussian_Q(product_z(a, b, n, standard_number));
}

double spec_battery_weight_correlation(const uint32_t *a, const uint32_t *b, size_t n)
{
    return gsl_cdf_ugaussian_Q(product_z(a, b, n, standard_weight));
}

static double autocorrelation(const uint32_t *word, size_t n)
{
    return spec_battery_correlation(word, word + 1, n - 1);
}

const spec_battery_test spec_battery[] = {
    {"bits", bits},
    {"high_bytes", high_bytes},
    {"low_bytes", low_bytes},
    {"pairs_high", pairs_high},
    {"pairs_low", pairs_low},
    {"triples_high", triples_high},
    {"autocorrelation", autocorrelation},
    {"gaps", gaps},
    {"runs", runs},
    {"birthdays", birthdays},
    {NULL, NULL},
};
