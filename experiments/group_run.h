/* SPDX-License-Identifier: GPL-3.0-or-later */
/* group_run: who computes the groups of a run's points, and where their results go.
 * Results come from threads, a team or a file. They are added up to give the row of the point, or
 * written as a part. */
#ifndef SPECLAB_GROUP_RUN_H
#define SPECLAB_GROUP_RUN_H

#include "experiments/group_file.h"
#include "experiments/measures/measure.h"
#include "experiments/team.h"

typedef struct {
    bool counts;              /* compute nothing; only store the number of groups in `counted` */
    uint64_t counted;
    const spec_team *opt_team;
    spec_task task;           /* in a member: the group to compute next */
    bool more;                /* there is such a task */
    spec_shard shard;         /* the run's points */
    spec_group_writer writer; /* writer.part.of = 0: add the results */
    spec_group_reader reader; /* without a path: compute them */
} spec_group_run;

/* Implements spec_point_groups. Returns GSL_CONTINUE if the results are not added up here. Returns
 * GSL_EINVAL for a point with fewer groups than parts. */
int spec_group_run_point(void *run, const spec_groups *groups, const spec_point *point,
                         spec_error *error);

/* Returns the point of a member's task, as the run counts its points. */
uint64_t spec_group_run_task_point(const spec_task *task);

#endif
