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

/* Mark the states that can be reached from `from` (forward), or from which it can be reached. stack (S). */
static void mark_reachable(bool *mark, const double *matrix, int S, int from, bool forward, int *stack)
{
    int depth = 0;
    mark[from] = true;
    stack[depth++] = from;
    while (depth > 0) {
        int s = stack[--depth];
        for (int t = 0; t < S; t++) {
            if (mark[t] || matrix[forward ? index_of(s, t, S) : index_of(t, s, S)] == 0.0) continue;
            mark[t] = true;
            stack[depth++] = t;
        }
    }
}

/* The class of states that is never left: those reachable from a state that all states reach. GSL_ESING where there is
 * no such state, that is, where two classes are never left. member (S). */
static int closed_class(int *ret_n, int *ret_member, const double *matrix, int S, bool *mark, int *stack)
{
    /* Walking backwards from unmarked states in turn, only the last walk can have begun at a state that all states
     * reach. */
    int candidate = 0;
    memset(mark, 0, (size_t)S * sizeof *mark);
    for (int s = 0; s < S; s++) {
        if (mark[s]) continue;
        candidate = s;
        mark_reachable(mark, matrix, S, s, false, stack);
    }
    memset(mark, 0, (size_t)S * sizeof *mark);
    mark_reachable(mark, matrix, S, candidate, false, stack);
    for (int s = 0; s < S; s++) {
        if (!mark[s]) return GSL_ESING;
    }

    memset(mark, 0, (size_t)S * sizeof *mark);
    mark_reachable(mark, matrix, S, candidate, true, stack);
    int n = 0;
    for (int s = 0; s < S; s++) {
        if (mark[s]) ret_member[n++] = s;
    }
    *ret_n = n;
    return GSL_SUCCESS;
}

/* Eliminate the states of an irreducible matrix (n,n) from the last to the first, then build the law up again; the
 * matrix is used up. */
static int eliminate(double *ret_law, double *matrix, int n)
{
    for (int k = n - 1; k > 0; k--) {
        const double *last = matrix + index_of(k, 0, n);
        double leave = spec_law_sum(last, k);
        for (int i = 0; i < k; i++) {
            double *row = matrix + index_of(i, 0, n);
            row[k] /= leave; /* mean visits to k for each visit to i, before any state below k */
            for (int j = 0; j < k; j++) row[j] += row[k] * last[j];
        }
    }
    double total = ret_law[0] = 1.0;
    for (int k = 1; k < n; k++) {
        ret_law[k] = 0.0;
        for (int i = 0; i < k; i++) ret_law[k] += ret_law[i] * matrix[index_of(i, k, n)];
        total += ret_law[k];
    }
    for (int k = 0; k < n; k++) ret_law[k] /= total;
    return isfinite(total) ? GSL_SUCCESS : GSL_ESING;
}

int spec_stationary_law(double *ret_law, const double *matrix, int S)
{
    if (S < 1) return GSL_EDOM;
    memset(ret_law, 0, (size_t)S * sizeof(double));
    for (int s = 0; s < S; s++) {
        if (!spec_law_is_whole(spec_law_sum(matrix + index_of(s, 0, S), S))) return GSL_EDOM;
    }

    int status = GSL_SUCCESS, n = 0;
    bool *mark = calloc((size_t)S, sizeof *mark);
    int *stack = calloc((size_t)S, sizeof *stack), *member = calloc((size_t)S, sizeof *member);
    double *within = calloc((size_t)S * (size_t)S, sizeof *within), *law = calloc((size_t)S, sizeof *law);
    if (mark == NULL || stack == NULL || member == NULL || within == NULL || law == NULL) status = GSL_ENOMEM;
    SPEC_TRY(status);

    SPEC_TRY(closed_class(&n, member, matrix, S, mark, stack));
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) within[index_of(i, j, n)] = matrix[index_of(member[i], member[j], S)];
    }
    SPEC_TRY(eliminate(law, within, n));
    for (int i = 0; i < n; i++) ret_law[member[i]] = law[i];
done:
    free(mark);
    free(stack);
    free(member);
    free(within);
    free(law);
    return status;
}
