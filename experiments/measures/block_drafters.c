/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/block_drafters.h"

#include "models/row.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int spec_block_drafters_work_init(spec_block_drafters_work *work, int V, int K, size_t n,
                                  spec_error *error)
{
    const size_t v = (size_t)V, k = (size_t)K;
    *work = (spec_block_drafters_work){.step = malloc(n * v * sizeof *work->step),
                                       .copied = malloc(n * v * sizeof *work->copied),
                                       .row = malloc(v * sizeof *work->row),
                                       .unseen = malloc(v * sizeof *work->unseen),
                                       .member = malloc(n * sizeof *work->member),
                                       .scratch = malloc(k * v * sizeof *work->scratch),
                                       .scored = malloc(k * sizeof *work->scored)};
    bool all = work->step != NULL && work->copied != NULL && work->row != NULL &&
               work->unseen != NULL && work->member != NULL && work->scratch != NULL &&
               work->scored != NULL;
    for (int side = 0; side < 2; side++) {
        double **const array[] = {&work->overlap[side], &work->kept[side], &work->reach[side]};
        for (int i = 0; i < 3; i++) all &= (*array[i] = malloc(n * sizeof **array[i])) != NULL;
    }
    if (all) return GSL_SUCCESS;
    spec_block_drafters_work_free(work);
    return spec_no_memory(error);
}

void spec_block_drafters_work_free(spec_block_drafters_work *work)
{
    free(work->step);
    free(work->copied);
    free(work->row);
    free(work->unseen);
    free(work->member);
    free(work->scratch);
    free(work->scored);
    for (int side = 0; side < 2; side++) {
        free(work->overlap[side]);
        free(work->kept[side]);
        free(work->reach[side]);
    }
    *work = (spec_block_drafters_work){0};
}

/* ---- paths ----------------------------------------------------------------------------------- */

static const double *row_at(const spec_block_paths *paths, int offset, size_t s)
{
    return paths->row + ((size_t)offset * paths->n + s) * (size_t)paths->V;
}

static int token_at(const spec_block_paths *paths, int offset, size_t s)
{
    return paths->token[s * (size_t)paths->K + (size_t)offset];
}

/* Returns min(1, draft/target) for a token that the target drew; 1 if none was drawn. */
static double kept_of(const double *target, const double *draft, int token)
{
    if (token < 0 || draft[token] >= target[token]) return 1.0;
    return draft[token] / target[token];
}

static void start(spec_block_drafters_work *work, int side, const spec_block_paths *paths)
{
    memcpy(work->reach[side], paths->weight, paths->n * sizeof *work->reach[side]);
}

static void go_on(spec_block_drafters_work *work, int side, const spec_block_paths *paths)
{
    for (size_t s = 0; s < paths->n; s++) work->reach[side][s] *= work->kept[side][s];
}

/* Compares the drafter's row at this offset with the target's row on a path. */
static void compare(spec_block_drafters_work *work, int side, const spec_block_paths *paths,
                    int offset, size_t s, const double *row)
{
    const double *target = row_at(paths, offset, s);
    work->overlap[side][s] = spec_row_overlap(target, row, paths->V);
    work->kept[side][s] = kept_of(target, row, token_at(paths, offset, s));
}

static double mean_overlap(const double *weight, const spec_block_drafters_work *work, int side,
                           size_t n)
{
    double sum = 0.0;
    for (size_t s = 0; s < n; s++) sum += weight[s] * work->overlap[side][s];
    return sum;
}

/* ---- rows that are chosen -------------------------------------------------------------------- */

/* Returns the token that a Markov row of this offset depends on, or 0 for rows that depend on
 * none. */
static int group_of(const spec_block_paths *paths, spec_block_drafter drafter, int offset, size_t s)
{
    return drafter == SPEC_BLOCK_DRAFTER_MARKOV && offset > 0 ? token_at(paths, offset - 1, s) : 0;
}

enum { EVERY_GROUP = -1 };

/* Chooses a row for the paths of a group with these weights, and computes its score on them.
 * Returns false if no path of the group has a weight. */
static bool choose_row(double *ret_row, double *ret_worth, spec_block_drafter drafter, int offset,
                       int group, const spec_block_paths *paths, const double *weight,
                       spec_block_drafters_work *work)
{
    const size_t V = (size_t)paths->V;
    double level;
    spec_block_row_set rows = {.target = work->copied, .weight = work->member, .V = V};
    *ret_worth = 0.0;
    for (size_t s = 0; s < paths->n; s++) {
        const bool in = group == EVERY_GROUP || group_of(paths, drafter, offset, s) == group;
        if (!in || weight[s] <= 0.0) continue;
        work->member[rows.S] = weight[s];
        memcpy(work->copied + V * rows.S++, row_at(paths, offset, s), V * sizeof *work->copied);
    }
    if (rows.S == 0) return false;
    if (drafter == SPEC_BLOCK_DRAFTER_MEAN) {
        spec_block_row_mean(ret_row, &rows);
        *ret_worth = spec_block_row_worth(&rows, ret_row);
    } else
        *ret_worth = spec_block_row_best(ret_row, &level, &rows, work->step);
    return true;
}

/* Chooses the rows of an offset by `weight`, one per group, and compares all paths with them. A
 * group in which no path has a weight gets the row chosen for all paths. Returns the score on the
 * paths that were used to choose. */
static double choose_rows(spec_block_drafter drafter, int offset, const spec_block_paths *choose,
                          const double *weight, const spec_block_paths *judge,
                          spec_block_drafters_work *work)
{
    const int groups = drafter == SPEC_BLOCK_DRAFTER_MARKOV && offset > 0 ? choose->V : 1;
    const spec_block_paths *const side[] = {choose, judge};
    double worth = 0.0, here;
    bool known = false; /* whether the row for all paths is known */
    for (int g = 0; g < groups; g++) {
        const bool any = choose_row(work->row, &here, drafter, offset, g, choose, weight, work);
        worth += here;
        for (int i = 0; i < 2; i++)
            for (size_t s = 0; s < side[i]->n; s++) {
                if (group_of(side[i], drafter, offset, s) != g) continue;
                if (!any && !known)
                    known = choose_row(work->unseen, &here, drafter, offset, EVERY_GROUP, choose,
                                       choose->weight, work);
                compare(work, i, side[i], offset, s, any ? work->row : work->unseen);
            }
    }
    return worth;
}

void spec_block_judge_rows(spec_block_verdict *verdict, spec_block_drafter drafter,
                           const spec_block_paths *choose, const spec_block_paths *judge,
                           spec_block_drafters_work *work)
{
    start(work, 0, choose);
    start(work, 1, judge);
    for (int i = 0; i < judge->K; i++) {
        const double worth = choose_rows(drafter, i, choose, choose->weight, judge, work);
        verdict->most[i] = drafter == SPEC_BLOCK_DRAFTER_MEAN ? NAN : worth;
        verdict->overlap[i] = mean_overlap(judge->weight, work, 1, judge->n);
        if (drafter != SPEC_BLOCK_DRAFTER_MEAN)
            choose_rows(drafter, i, choose, work->reach[0], judge, work);
        verdict->tail[i] = mean_overlap(work->reach[1], work, 1, judge->n);
        go_on(work, 0, choose);
        go_on(work, 1, judge);
    }
}

/* ---- rows that are given --------------------------------------------------------------------- */

int spec_block_judge_greedy(spec_block_verdict *verdict, const spec_block_paths *judge,
                            const spec_block_place *place, spec_block_drafters_work *work,
                            spec_error *error)
{
    const double *row = place->row;
    double tail = 1.0;
    for (int i = 0; i < judge->K; i++) {
        if (i > 0)
            row = spec_session_row(place->session, place->text, place->n + (size_t)i, work->row,
                                   error);
        if (row == NULL) return GSL_EFAILED;
        const int best = spec_row_argmax(row, judge->V);
        verdict->overlap[i] = 0.0;
        for (size_t s = 0; s < judge->n; s++)
            verdict->overlap[i] += judge->weight[s] * row_at(judge, i, s)[best];
        verdict->most[i] = NAN;
        verdict->tail[i] = tail *= row[best];
        place->text[place->n + (size_t)i] = best;
    }
    return GSL_SUCCESS;
}

int spec_block_judge_model(spec_block_verdict *verdict, spec_session *draft,
                           const spec_block_paths *judge, const spec_block_place *place,
                           spec_block_drafters_work *work, spec_error *error)
{
    const size_t K = (size_t)judge->K;
    int status = GSL_SUCCESS;
    for (int i = 0; i < judge->K; i++) {
        verdict->overlap[i] = verdict->tail[i] = 0.0;
        verdict->most[i] = NAN;
    }
    for (size_t s = 0; s < judge->n; s++) {
        const spec_score_request request = {.context = place->text,
                                            .n_context = place->n,
                                            .token = judge->token + s * K,
                                            .n_nodes = judge->K - 1,
                                            .ret_row = work->scored,
                                            .scratch = work->scratch};
        double reach = judge->weight[s];
        SPEC_TRY(spec_session_score(draft, &request, error));
        for (int i = 0; i < judge->K; i++) {
            compare(work, 1, judge, i, s, work->scored[i]);
            verdict->overlap[i] += judge->weight[s] * work->overlap[1][s];
            verdict->tail[i] += reach * work->overlap[1][s];
            reach *= work->kept[1][s];
        }
    }
done:
    return status;
}
