/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/stationary.h"

#include "analysis/law.h"
#include "speclab/status.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static size_t index_of(int row, int column, int S)
{
    return (size_t)row * (size_t)S + (size_t)column;
}

/* Marks with `pass` the states that can be reached from `from` (forward) or, if not forward, those
 * that can reach it. stack (S) is workspace. */
static void mark_reachable(int *mark, int pass, const double *matrix, int S, int from, bool forward,
                           int *stack)
{
    int depth = 0;
    mark[from] = pass;
    stack[depth++] = from;
    while (depth > 0) {
        int s = stack[--depth];
        for (int t = 0; t < S; t++) {
            if (mark[t] == pass || matrix[forward ? index_of(s, t, S) : index_of(t, s, S)] == 0.0)
                continue;
            mark[t] = pass;
            stack[depth++] = t;
        }
    }
}

/* Finds the only class of states that is never left: all states reachable from a state that can be
 * reached from every state. Returns its size; 0 if no such state exists, that is, if two classes
 * are never left. member (S); mark (S), zeroed, and stack (S) are workspace. */
static int closed_class(int *ret_member, const double *matrix, int S, int *mark, int *stack)
{
    enum { UNMARKED, FOREST, BACKWARD, FORWARD };
    /* We walk backwards from unmarked states. Only the last walk can have begun at a state that
     * every state reaches. */
    int candidate = 0, n = 0;
    for (int s = 0; s < S; s++) {
        if (mark[s] != UNMARKED) continue;
        candidate = s;
        mark_reachable(mark, FOREST, matrix, S, s, false, stack);
    }
    mark_reachable(mark, BACKWARD, matrix, S, candidate, false, stack);
    for (int s = 0; s < S; s++) {
        if (mark[s] != BACKWARD) return 0;
    }
    mark_reachable(mark, FORWARD, matrix, S, candidate, true, stack);
    for (int s = 0; s < S; s++) {
        if (mark[s] == FORWARD) ret_member[n++] = s;
    }
    return n;
}

/* Eliminates the states of an irreducible matrix (n,n) from the last to the first, then builds the
 * unnormalised law (n) from the first. Overwrites the matrix. Returns the sum of the law, which is
 * infinite or NaN if a probability underflowed. */
static double eliminate(double *ret_law, double *matrix, int n)
{
    for (int k = n - 1; k > 0; k--) {
        const double *last = matrix + index_of(k, 0, n);
        double leave = spec_law_sum(last, k);
        for (int i = 0; i < k; i++) {
            double *row = matrix + index_of(i, 0, n);
            row[k] /= leave; /* mean visits to k per visit to i, before any state below k is
                              * reached */
            for (int j = 0; j < k; j++) row[j] += row[k] * last[j];
        }
    }
    ret_law[0] = 1.0;
    for (int k = 1; k < n; k++) {
        ret_law[k] = 0.0;
        for (int i = 0; i < k; i++) ret_law[k] += ret_law[i] * matrix[index_of(i, k, n)];
    }
    return spec_law_sum(ret_law, n);
}

int spec_stationary_law(double *ret_law, const double *matrix, int S)
{
    if (S < 1) return GSL_EDOM;
    memset(ret_law, 0, (size_t)S * sizeof(double));
    for (int s = 0; s < S; s++) {
        if (!spec_law_is_whole(spec_law_sum(matrix + index_of(s, 0, S), S))) return GSL_EDOM;
    }

    int status, n;
    double total;
    double *within = calloc((size_t)S + 1, (size_t)S * sizeof *within),
           *law = NULL; /* (S,S), followed by law (S) */
    int *member = calloc(3, (size_t)S * sizeof *member),
        *mark = NULL; /* member, mark and stack, (S) each */
    SPEC_TRY(within == NULL ? GSL_ENOMEM : GSL_SUCCESS);
    SPEC_TRY(member == NULL ? GSL_ENOMEM : GSL_SUCCESS);
    law = within + index_of(S, 0, S);
    mark = member + S;

    n = closed_class(member, matrix, S, mark, mark + S);
    SPEC_TRY(n == 0 ? GSL_ESING : GSL_SUCCESS);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            within[index_of(i, j, n)] = matrix[index_of(member[i], member[j], S)];
    }
    total = eliminate(law, within, n);
    SPEC_TRY(isfinite(total) ? GSL_SUCCESS : GSL_ESING);
    for (int i = 0; i < n; i++) ret_law[member[i]] = law[i] / total;
done:
    free(within);
    free(member);
    return status;
}
