/* plan_files: the two CSV files a plan may be given: accuracies of heads by rank, and what verification costs. Both are
 * results in form (base/table.h): a line of column names, then rows; docs/formats.md. The caller frees. */
#ifndef SPECLAB_PLAN_FILES_H
#define SPECLAB_PLAN_FILES_H

#include "speclab/status.h"

/* Most levels and ranks of a plan. */
enum { SPEC_PLAN_LEVELS_MAX = 64, SPEC_PLAN_RANKS_MAX = 64 };

/* A row for each head, a column for each rank, and perhaps a column `head` that is passed over. ret_accept (heads,
 * ranks). GSL_EINVAL for what is no chance, a row of more than 1 together, and more than the most. */
int spec_plan_read_accuracies(double **ret_accept, int *ret_heads, int *ret_ranks, const char *path, spec_error *error);

/* Columns `nodes`, rising, and `time`, in plain target calls. ret_verify (nodes+1): the time to verify 0 to `nodes`
 * draft tokens, linear between the rows; at 0 it is 1. GSL_EINVAL for times <= 0, nodes that do not rise, a row for 0
 * that is not 1 and a table that ends before `nodes`. */
int spec_plan_read_costs(double **ret_verify, int nodes, const char *path, spec_error *error);

#endif
