/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/serving/rounds_law.h"

#include "analysis/capped_geometric.h"
#include "analysis/law.h"

#include <gsl/gsl_minmax.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A chance so small that it changes no sum over rounds and tokens. */
#define NEGLIGIBLE 1e-30

int spec_rounds_law_init(spec_rounds_law *law, int n)
{
    memset(law, 0, sizeof *law);
    if (n < 0) return GSL_EDOM;
    size_t size = (size_t)GSL_MAX(n, 1);
    law->longer = calloc(size * 3, sizeof(double));
    if (law->longer == NULL) return GSL_ENOMEM;
    law->n = n;
    law->tokens = law->longer + size;
    law->tokens2 = law->tokens + size;
    return GSL_SUCCESS;
}

void spec_rounds_law_free(spec_rounds_law *law)
{
    free(law->longer);
    memset(law, 0, sizeof *law);
}

static bool tail_is_valid(const double *opt_tail, int L)
{
    for (int s = 0; opt_tail != NULL && s < L; s++)
        if (!(opt_tail[s] >= 0.0 && opt_tail[s] <= (s > 0 ? opt_tail[s - 1] : 1.0))) return false;
    return true;
}

/* The distribution of the number of tokens before a round, over requests that have this round:
 * P(S_j = s) for s = lo..hi, 0 elsewhere. If `stay` > 0, there is a row for each number of tokens
 * in the last round: row i - 1 for i tokens. */
typedef struct {
    int L, m, lo, hi;
    double *at, *next;        /* (L) */
    double *rows, *next_rows; /* (m,L), or NULL */
} sums;

/* Moves to the sums after one more round. */
static void advance(sums *t, const double *round, double stay)
{
    const int L = t->L, reach = GSL_MIN(t->hi + t->m, L - 1);
    const size_t width = (size_t)(reach - t->lo + 1) * sizeof(double);
    memset(t->next + t->lo, 0, width);
    for (int i = 1; i <= t->m; i++) {
        const double drawn = (1.0 - stay) * round[i - 1];
        const int last = GSL_MIN(t->hi, L - 1 - i);
        if (t->rows == NULL) {
            for (int s = t->lo; s <= last; s++) t->next[s + i] += drawn * t->at[s];
            continue;
        }
        const double *row = t->rows + (size_t)(i - 1) * (size_t)L;
        double *next = t->next_rows + (size_t)(i - 1) * (size_t)L;
        memset(next + t->lo, 0, width);
        for (int s = t->lo; s <= last; s++) {
            next[s + i] = drawn * t->at[s] + stay * row[s];
            t->next[s + i] += next[s + i];
        }
    }
    double *swap = t->at;
    t->at = t->next;
    t->next = swap;
    swap = t->rows;
    t->rows = t->next_rows;
    t->next_rows = swap;
    t->hi = reach;
    while (t->lo <= t->hi && t->at[t->lo] < NEGLIGIBLE) t->lo++;
    while (t->lo <= t->hi && t->at[t->hi] < NEGLIGIBLE) t->hi--;
}

int spec_rounds_law_add(spec_rounds_law *law, double share, const double *round, int m, double stay,
                        const double *opt_tail, int L)
{
    if (!(share >= 0.0 && share <= 1.0 && stay >= 0.0 && stay <= 1.0) || L < 0 || L > law->n ||
        !tail_is_valid(opt_tail, L) || !spec_law_is_whole(spec_law_sum(round, m)))
        return GSL_EDOM;
    if (L == 0) return GSL_SUCCESS;

    const size_t rows = stay > 0.0 ? (size_t)m : 0;
    double *work = calloc(2 * (rows + 1), (size_t)L * sizeof *work);
    if (work == NULL) return GSL_ENOMEM;
    sums t = {.L = L, .m = m, .at = work, .next = work + L};
    if (rows > 0) {
        t.rows = work + 2 * (size_t)L;
        t.next_rows = t.rows + rows * (size_t)L;
    }
    t.at[0] = 1.0;
    for (int j = 0; t.lo <= t.hi; j++) {
        double sum = 0.0, sum1 = 0.0, sum2 = 0.0;
        for (int s = t.lo; s <= t.hi; s++) {
            const double chance = opt_tail != NULL ? t.at[s] * opt_tail[s] : t.at[s];
            sum += chance;
            sum1 += s * chance;
            sum2 += (double)s * s * chance;
        }
        law->longer[j] += share * sum;
        law->tokens[j] += share * sum1;
        law->tokens2[j] += share * sum2;
        /* The first round has none before it to repeat. */
        advance(&t, round, j > 0 ? stay : 0.0);
    }
    free(work);
    return GSL_SUCCESS;
}

int spec_rounds_law_add_alpha(spec_rounds_law *law, double share, double alpha, int K, double stay,
                              const double *opt_tail, int L)
{
    if (K < 0) return GSL_EDOM;
    int m = K + 1; /* for alpha outside [0,1] all chances are NaN */
    double *round = malloc((size_t)m * sizeof *round);
    if (round == NULL) return GSL_ENOMEM;
    for (int k = 0; k <= K; k++) round[k] = spec_capped_geometric_probability(alpha, K, k);
    int status = spec_rounds_law_add(law, share, round, m, stay, opt_tail, L);
    free(round);
    return status;
}

double spec_rounds_law_mean(const spec_rounds_law *law)
{
    double sum = 0.0;
    for (int j = law->n; j-- > 0;) sum += law->longer[j];
    return sum;
}

double spec_rounds_law_square(const spec_rounds_law *law)
{
    double sum = 0.0;
    for (int j = law->n; j-- > 0;) sum += (2.0 * j + 1.0) * law->longer[j];
    return sum;
}

double spec_rounds_law_contexts(const spec_rounds_law *law)
{
    double sum = 0.0;
    for (int j = law->n; j-- > 0;) sum += law->tokens[j];
    return sum;
}
