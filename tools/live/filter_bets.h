/* SPDX-License-Identifier: GPL-3.0-or-later */
/* filter_bets: bets that a server applies a filter that nobody asked for.
 * An alternative is the scored distribution, cut to the tokens that a top-k, top-p or min-p keeps.
 * 2 % of the whole distribution is mixed in, so that a token that the filter would drop costs a bet
 * a factor of 50 rather than its whole capital. Each token multiplies an alternative's capital by
 * its likelihood ratio.
 */
#ifndef SPECLAB_FILTER_BETS_H
#define SPECLAB_FILTER_BETS_H

enum { SPEC_FILTER_BETS = 28 };

typedef struct {
    double log_e[SPEC_FILTER_BETS]; /* log of the capital */
    /* tokens that the filter drops: how many we expected, and how many came */
    double expected[SPEC_FILTER_BETS], seen[SPEC_FILTER_BETS];
} spec_filter_bets;

/* Bets on a token, cell `cell` of target (n_cells), whose last cell is the probability of all
 * tokens that are not in the list. A filter whose cut is not within the list makes no bet. */
void spec_filter_bets_add(spec_filter_bets *bets, const double *target, int n_cells, int cell);

/* Returns the log of the mean of all capitals, which is an e-value for a server that is right. */
double spec_filter_bets_log_e(const spec_filter_bets *bets);

/* Returns the filter with the largest capital, and writes its name, such as "top-k 8". */
int spec_filter_bets_best(char name[32], const spec_filter_bets *bets);

#endif
