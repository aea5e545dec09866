/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/group_run.h"

#include <stdlib.h>
#include <string.h>

/* ---- the leader of a team -------------------------------------------------------------------- */

/* Groups that the team computes. */
typedef struct {
    const spec_group_run *run;
    const spec_groups *groups;
    const spec_point *point;
} remote;

/* Returns the number of the point within the run's shard. */
static uint64_t place_of(const spec_shard *shard, uint64_t index)
{
    return shard->of > 0 ? index / shard->of : index;
}

static int take_remote(void *self, char **ret_text, uint64_t group, spec_error *error)
{
    const remote *r = self;
    const spec_team *team = r->run->opt_team;
    const spec_shard *part = &r->run->writer.part;
    const spec_task task = {1 + place_of(&r->run->shard, r->point->index), place_of(part, group)};
    size_t size;
    return team->take(team->self, ret_text, &size, &task, spec_shard_size(part, r->groups->n),
                      r->point->stop, error);
}

static int add_remote(void *self, const char *text, spec_error *error)
{
    const remote *r = self;
    return r->groups->add(r->groups->self, text, error);
}

/* ---- a member -------------------------------------------------------------------------------- */

uint64_t spec_group_run_task_point(const spec_task *task)
{
    return task->list == 0 ? task->item : task->list - 1;
}

/* Computes groups of this point until the leader deals out groups of another one. */
static int compute_for_leader(spec_group_run *run, const spec_groups *groups, spec_error *error)
{
    const spec_team *team = run->opt_team;
    const uint64_t list = run->task.list;
    while (run->more && run->task.list == list) {
        char *text = NULL;
        const uint64_t group = spec_shard_index(&run->writer.part, run->task.item);
        const int status = groups->compute(groups->self, &text, group, error);
        if (status != GSL_SUCCESS) return status;
        team->give(team->self, text, strlen(text));
        free(text);
        run->more = team->next(team->self, &run->task);
    }
    return GSL_CONTINUE;
}

/* ---- a point --------------------------------------------------------------------------------- */

int spec_group_run_point(void *self, const spec_groups *groups, const spec_point *point,
                         spec_error *error)
{
    spec_group_run *run = self;
    const spec_shard *part = &run->writer.part;
    const uint64_t points = spec_grid_size(point->grid);
    remote r = {run, groups, point};
    spec_groups all = *groups;
    if (part->of > groups->n)
        return spec_fail(error, GSL_EINVAL,
                         "--batches %llu/%llu: this point has %llu batch%s; use at most that many "
                         "parts",
                         (unsigned long long)part->number, (unsigned long long)part->of,
                         (unsigned long long)groups->n, groups->n == 1 ? "" : "es");
    if (run->counts) {
        run->counted = groups->n;
        return GSL_CONTINUE;
    }
    if (run->reader.path != NULL)
        return spec_group_reader_run(&run->reader, groups, point->index, points, error);
    if (run->opt_team != NULL && !run->opt_team->leads)
        return compute_for_leader(run, groups, error);
    if (run->opt_team != NULL) {
        all.opt_pool = NULL; /* the leader fetches one result at a time */
        all.self = &r;
        all.compute = take_remote;
        all.add = add_remote;
    }
    if (part->of == 0) return spec_groups_add_all(&all, error);
    const int status = spec_group_writer_run(&run->writer, &all, point->index, points, error);
    return status == GSL_SUCCESS ? GSL_CONTINUE : status;
}
