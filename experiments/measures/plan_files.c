#include "experiments/measures/plan_files.h"

#include "base/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const double sum_slack = 1e-9; /* of chances that exclude each other */

/* A whole table: a last line without its end, which a result would drop as cut off, is a mistake in a file by hand. */
static int read_table(spec_table *table, const char *path, spec_error *error)
{
    struct stat file;
    long good;
    int status = spec_table_read_csv(table, path, &good, error);
    if (status != GSL_SUCCESS) return status;
    if (stat(path, &file) == 0 && S_ISREG(file.st_mode) && (long)file.st_size != good)
        status = spec_fail(error, GSL_EINVAL, "%s: its last line has no line end", path);
    else if (table->n_rows == 0) status = spec_fail(error, GSL_EINVAL, "%s: there are no rows", path);
    if (status != GSL_SUCCESS) spec_table_free(table);
    return status;
}

int spec_plan_read_accuracies(double **ret_accept, int *ret_heads, int *ret_ranks, const char *path, spec_error *error)
{
    spec_table table = {0};
    double *accept = NULL;
    int status = GSL_SUCCESS;
    *ret_accept = NULL;
    *ret_heads = *ret_ranks = 0;
    SPEC_TRY(read_table(&table, path, error));
    const int head = spec_table_column(&table, "head"), ranks = table.n_columns - (head >= 0);
    if (table.n_rows > SPEC_PLAN_LEVELS_MAX || ranks > SPEC_PLAN_RANKS_MAX || ranks < 1) {
        status = spec_fail(error, GSL_EINVAL, "%s: %zu heads of %d ranks: at most %d of 1 to %d", path, table.n_rows,
                           ranks, SPEC_PLAN_LEVELS_MAX, SPEC_PLAN_RANKS_MAX);
        goto done;
    }
    accept = malloc(table.n_rows * (size_t)ranks * sizeof *accept);
    if (accept == NULL) SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory"));
    for (size_t row = 0, i = 0; row < table.n_rows; row++) {
        double sum = 0.0;
        for (int c = 0; c < table.n_columns; c++) {
            if (c == head) continue;
            const double chance = spec_cell_number(spec_table_cell(&table, row, c));
            if (!(chance >= 0.0 && chance <= 1.0))
                SPEC_TRY(spec_fail(error, GSL_EINVAL, "%s: row %zu, '%.40s': not a chance in [0, 1]", path, row + 1,
                                   table.column[c]));
            sum += accept[i++] = chance;
        }
        if (sum > 1.0 + sum_slack)
            SPEC_TRY(spec_fail(error, GSL_EINVAL, "%s: row %zu: the chances sum to %.10g, and one token is right",
                               path, row + 1, sum));
    }
    *ret_accept = accept;
    *ret_heads = (int)table.n_rows;
    *ret_ranks = ranks;
    accept = NULL;
done:
    free(accept);
    spec_table_free(&table);
    return status;
}

int spec_plan_read_costs(double **ret_verify, int nodes, const char *path, spec_error *error)
{
    spec_table table = {0};
    double *verify = NULL, time_before = 1.0, nodes_before = 0.0;
    int known = 0, status = GSL_SUCCESS; /* verify[0..known] */
    *ret_verify = NULL;
    SPEC_TRY(read_table(&table, path, error));
    const int at = spec_table_column(&table, "nodes"), cost = spec_table_column(&table, "time");
    if (at < 0 || cost < 0) SPEC_TRY(spec_fail(error, GSL_EINVAL, "%s: it has no columns 'nodes' and 'time'", path));
    verify = malloc(((size_t)nodes + 1) * sizeof *verify);
    if (verify == NULL) SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory"));
    verify[0] = 1.0;
    for (size_t row = 0; row < table.n_rows; row++) {
        const double n = spec_cell_number(spec_table_cell(&table, row, at));
        const double time = spec_cell_number(spec_table_cell(&table, row, cost));
        if (!(time > 0.0) || isinf(time) || !(n >= 0.0 && n <= 1e9) || n != floor(n))
            SPEC_TRY(spec_fail(error, GSL_EINVAL, "%s: row %zu: a number of nodes and a time above 0 are wanted", path,
                               row + 1));
        if (row == 0 && n == 0.0 && time != 1.0)
            SPEC_TRY(spec_fail(error, GSL_EINVAL, "%s: to verify no tokens takes 1 plain target call, not %g: divide "
                                                  "all times by it", path, time));
        if (n <= nodes_before && !(row == 0 && n == 0.0))
            SPEC_TRY(spec_fail(error, GSL_EINVAL, "%s: row %zu: the nodes do not rise", path, row + 1));
        for (; known < nodes && known + 1 <= n; known++)
            verify[known + 1] = time_before + (time - time_before) * (known + 1 - nodes_before) / (n - nodes_before);
        nodes_before = n;
        time_before = time;
    }
    if (known < nodes)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "%s: it ends at %d nodes, before the budget of %d", path, known, nodes));
    *ret_verify = verify;
    verify = NULL;
done:
    free(verify);
    spec_table_free(&table);
    return status;
}
