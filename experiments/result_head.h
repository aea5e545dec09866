/* SPDX-License-Identifier: GPL-3.0-or-later */
/* result_head: the provenance and the columns of a run's result. */
#ifndef SPECLAB_RESULT_HEAD_H
#define SPECLAB_RESULT_HEAD_H

#include "experiments/experiment.h"

/* Makes the table of the result, and `work` for all columns of one point. ret_shown (ret_n_shown)
 * are the columns of `work` that the result shows; a part has further columns. The caller frees
 * ret_shown and both tables. Returns GSL_EINVAL for an unknown column. */
int spec_result_head_make(spec_table *ret_work, spec_table *ret_table, int **ret_shown,
                          int *ret_n_shown, const spec_experiment *e,
                          const spec_run_options *options, spec_error *error);

/* Returns the lines of provenance, which the caller frees; NULL if memory runs out. limit:
 * spec_run_options. */
char *spec_result_head_provenance(const spec_experiment *e, uint64_t limit, const spec_shard *shard,
                                  const spec_shard *batches);

#endif
