/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measures.h"

#include "experiments/measures/block_drafters.h"
#include "experiments/measures/trajectory.h"
#include "sim/chance/rng.h"
#include "sim/sources.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OVERLAP, MOST, TAIL, N_VALUES, OFFSETS_MAX = 64 };

#define CELLS_MAX 0x1p29 /* numbers in the memory of a thread, 4 GB */

static const char *const names[SPEC_BLOCK_DRAFTERS] = {[SPEC_BLOCK_DRAFTER_BEST] = "best",
                                                       [SPEC_BLOCK_DRAFTER_MEAN] = "mean",
                                                       [SPEC_BLOCK_DRAFTER_MARKOV] = "markov",
                                                       [SPEC_BLOCK_DRAFTER_GREEDY] = "greedy",
                                                       [SPEC_BLOCK_DRAFTER_MODEL] = "draft"};

/* The memory of a thread, which it uses for one position after the other. */
typedef struct {
    spec_block_paths half[2]; /* rows chosen on one half are judged on the other */
    spec_block_drafters_work work;
    spec_session target, draft;
    int *text; /* (SPEC_TEXT_MAX + K) */
    gsl_rng *rng;
    bool ready;
} workspace;

typedef struct {
    const spec_model *target, *opt_draft;
    int K;
    size_t n; /* paths of a half */
    bool all; /* all possible paths; both halves are then the same */
    uint64_t seed;
    workspace *work; /* (SPEC_TRAJECTORY_BATCHES) one per worker */
} block_question;

static void workspace_free(workspace *work)
{
    for (int h = 0; h < 2; h++) spec_block_paths_free(&work->half[h]);
    spec_block_drafters_work_free(&work->work);
    spec_session_free(&work->target);
    spec_session_free(&work->draft);
    free(work->text);
    if (work->rng != NULL) gsl_rng_free(work->rng);
}

static int make_ready(workspace *work, const block_question *question, spec_error *error)
{
    const int V = question->target->vocab, K = question->K;
    int status = GSL_SUCCESS;
    if (work->ready) return status;
    for (int h = 0; h < (question->all ? 1 : 2); h++)
        SPEC_TRY(spec_block_paths_init(&work->half[h], V, K, question->n, error));
    SPEC_TRY(spec_block_drafters_work_init(&work->work, V, K, question->n, error));
    SPEC_TRY(spec_session_init(&work->target, question->target, error));
    if (question->opt_draft != NULL)
        SPEC_TRY(spec_session_init(&work->draft, question->opt_draft, error));
    work->text = malloc((SPEC_TEXT_MAX + (size_t)K) * sizeof *work->text);
    work->rng = spec_rng_alloc();
    if (work->text == NULL || work->rng == NULL) SPEC_TRY(spec_no_memory(error));
    work->ready = true;
done:
    return status;
}

/* ---- one place ------------------------------------------------------------------------------- */

/* Returns the text before the position, without its oldest tokens if K more would not fit the
 * windows. */
static spec_block_place place_of(workspace *work, const block_question *question,
                                 const spec_position *at)
{
    const spec_model *const model[] = {question->target, question->opt_draft};
    size_t n = at->n_context;
    for (int i = 0; i < 2; i++)
        if (model[i] != NULL && model[i]->window > 0 &&
            n + (size_t)question->K > (size_t)model[i]->window)
            n = (size_t)(model[i]->window - question->K);
    memcpy(work->text, at->context + (at->n_context - n), n * sizeof *work->text);
    return (spec_block_place){.session = &work->target, .text = work->text, .n = n};
}

static int fill_paths(workspace *work, const block_question *question, const spec_position *at,
                      const spec_block_place *place, spec_error *error)
{
    int status = GSL_SUCCESS;
    if (question->all) return spec_block_paths_list(&work->half[0], place, error);
    spec_rng_stream(work->rng, question->seed, at->number);
    spec_chance chance = spec_chance_sampled(work->rng);
    for (int h = 0; h < 2; h++)
        SPEC_TRY(spec_block_paths_sample(&work->half[h], place, &chance, error));
done:
    return status;
}

static int judge(spec_block_verdict *verdict, spec_block_drafter drafter, workspace *work, int half,
                 const block_question *question, const spec_block_place *place, spec_error *error)
{
    const spec_block_paths *choose = &work->half[half],
                           *other = &work->half[question->all ? half : 1 - half];
    switch (drafter) {
    case SPEC_BLOCK_DRAFTER_GREEDY:
        return spec_block_judge_greedy(verdict, other, place, &work->work, error);
    case SPEC_BLOCK_DRAFTER_MODEL:
        return spec_block_judge_model(verdict, &work->draft, other, place, &work->work, error);
    default:
        spec_block_judge_rows(verdict, drafter, choose, other, &work->work);
        return GSL_SUCCESS;
    }
}

/* Returns the index of a value: the first of an offset's N_VALUES. */
static size_t value_at(spec_block_drafter drafter, int offset, int K)
{
    return ((size_t)drafter * (size_t)K + (size_t)offset) * N_VALUES;
}

static int visit(double *value, const spec_position *at, const void *self, spec_error *error)
{
    const block_question *question = self;
    workspace *work = &question->work[at->worker];
    const int K = question->K, halves = question->all ? 1 : 2;
    double overlap[OFFSETS_MAX], most[OFFSETS_MAX], tail[OFFSETS_MAX], *first = NULL;
    spec_block_verdict verdict = {overlap, most, tail};
    int status = GSL_SUCCESS;
    SPEC_TRY(make_ready(work, question, error));
    spec_block_place place = place_of(work, question, at);
    place.row = at->target;
    if (place.n < at->n_context) {
        first = malloc((size_t)at->vocab * sizeof *first);
        if (first == NULL) SPEC_TRY(spec_no_memory(error));
        place.row = spec_session_row(&work->target, place.text, place.n, first, error);
        if (place.row == NULL) SPEC_TRY(GSL_EFAILED);
    }
    SPEC_TRY(fill_paths(work, question, at, &place, error));
    memset(value, 0, value_at(SPEC_BLOCK_DRAFTERS, 0, K) * sizeof *value);
    for (spec_block_drafter d = 0; d < SPEC_BLOCK_DRAFTERS; d++)
        for (int h = 0;
             h < halves && (d != SPEC_BLOCK_DRAFTER_MODEL || question->opt_draft != NULL); h++) {
            SPEC_TRY(judge(&verdict, d, work, h, question, &place, error));
            for (int i = 0; i < K; i++) {
                double *const to = value + value_at(d, i, K);
                to[OVERLAP] += overlap[i] / halves;
                to[MOST] += most[i] / halves;
                to[TAIL] += tail[i] / halves;
            }
        }
done:
    free(first);
    return status;
}

/* ---- the table ------------------------------------------------------------------------------- */

static int count_rows(uint64_t *ret_rows, const spec_point *point, const spec_measure *measure,
                      spec_error *error)
{
    int K;
    const int status = spec_point_int(&K, point, measure, "K", 1, OFFSETS_MAX, error);
    const bool model = spec_point_text(point, measure, "draft")[0] != '\0';
    *ret_rows = (uint64_t)(status == GSL_SUCCESS ? K * (SPEC_BLOCK_DRAFTERS - !model) : 0);
    return status;
}

/* Writes the rows of a drafter, one per offset. The probability that the first tokens of a draft
 * are all accepted is at most the overlap at any of their offsets. */
static int write_drafter(spec_table *table, spec_block_drafter drafter, const double *mean,
                         const double *se, int K, bool last, spec_error *error)
{
    double before = 1.0, accepted = 0.0, least = 1.0;
    for (int i = 0; i < K; i++) {
        const size_t at = value_at(drafter, i, K);
        const double tail = mean[at + TAIL], most = mean[at + MOST];
        accepted += tail;
        spec_table_text(table, "drafter", names[drafter]);
        spec_table_integer(table, "offset", i + 1);
        spec_table_number(table, "overlap", mean[at + OVERLAP]);
        spec_table_number(table, "overlap_se", se[at + OVERLAP]);
        spec_table_number(table, "tail", tail);
        spec_table_number(table, "tail_se", se[at + TAIL]);
        spec_table_number(table, "alpha_offset", tail / before);
        spec_table_number(table, "mean_n_accepted", accepted);
        if (!isnan(most)) {
            least = most < least ? most : least;
            spec_table_number(table, "overlap_most", most);
            spec_table_number(table, "overlap_most_se", se[at + MOST]);
            spec_table_number(table, "tail_most", least);
        }
        before = tail;
        if ((!last || i + 1 < K) && spec_table_append(table) != GSL_SUCCESS)
            return spec_no_memory(error);
    }
    return GSL_SUCCESS;
}

/* Checks that the rows of all paths, with their copies and steps, fit into memory. */
static int check_memory(const block_question *question, spec_error *error)
{
    const double rows = (question->all ? 1.0 : 2.0) * question->K + 4.0;
    const double cells = rows * (double)question->n * question->target->vocab;
    if (cells <= CELLS_MAX) return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL,
                     "paths: rows of %d tokens for %zu paths of %d take %.1f GB for each thread, "
                     "more than 4 GB; use fewer",
                     question->target->vocab, question->n, question->K,
                     cells * sizeof(double) * 0x1p-30);
}

/* Opens the models of a point; lists all paths if there are at most `listed`. */
static int open_question(block_question *question, size_t listed, const spec_point *point,
                         const spec_measure *measure, spec_error *error)
{
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_point_pair(&question->target, &question->opt_draft, point,
                             spec_point_text(point, measure, "target"),
                             spec_point_text(point, measure, "draft"), error));
    const int K = question->K;
    const spec_model *const model[] = {question->target, question->opt_draft};
    for (int i = 0; i < 2; i++)
        if (model[i] != NULL && model[i]->window > 0 && model[i]->window < K)
            SPEC_TRY(spec_fail(error, GSL_EINVAL, "K: at most the window, %d", model[i]->window));
    if (question->opt_draft != NULL && question->opt_draft->reach > 0 &&
        question->opt_draft->reach < K)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "K: at most the depth of the draft's rows, %d",
                           question->opt_draft->reach));
    const size_t all = spec_block_paths_all(question->target->vocab, K);
    question->all = all > 0 && all <= listed;
    if (question->all) question->n = all;
    SPEC_TRY(check_memory(question, error));
done:
    return status;
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    workspace work[SPEC_TRAJECTORY_BATCHES] = {{.ready = false}};
    block_question question = {.work = work,
                               .seed = spec_rng_named_seed(point->seed, "block paths")};
    spec_trajectory trajectory = {.visit = visit,
                                  .self = &question,
                                  .seed = point->seed,
                                  .opt_pool = spec_context_pool(point->opt_context),
                                  .opt_stop = point->stop,
                                  .opt_listener = point->opt_listener};
    double *mean = NULL;
    int paths, listed, positions, status = GSL_SUCCESS;
    SPEC_TRY(spec_point_int(&question.K, point, measure, "K", 1, OFFSETS_MAX, error));
    SPEC_TRY(spec_point_int(&paths, point, measure, "paths", 1, SPEC_BLOCK_PATHS_MAX, error));
    SPEC_TRY(spec_point_int(&listed, point, measure, "listed", 0, SPEC_BLOCK_PATHS_MAX, error));
    SPEC_TRY(spec_point_int(&positions, point, measure, "positions", 1, 1000000000, error));
    SPEC_TRY(spec_point_int(&trajectory.gap, point, measure, "gap", 1, 1000000, error));
    SPEC_TRY(spec_point_int(&trajectory.length, point, measure, "length", 0, 1000000000, error));
    SPEC_TRY(spec_point_read(point));
    question.n = (size_t)paths;
    SPEC_TRY(open_question(&question, (size_t)listed, point, measure, error));
    SPEC_TRY(spec_point_opened(point));
    const size_t n_values = value_at(SPEC_BLOCK_DRAFTERS, 0, question.K);
    if ((mean = calloc(2 * n_values, sizeof *mean)) == NULL) SPEC_TRY(spec_no_memory(error));
    trajectory.target = question.target;
    trajectory.positions = (uint64_t)positions;
    trajectory.n_values = (int)n_values;
    SPEC_TRY(spec_trajectory_means(mean, mean + n_values, &trajectory, error));
    const int drafters = SPEC_BLOCK_DRAFTERS - (question.opt_draft == NULL);
    for (int d = 0; d < drafters; d++)
        SPEC_TRY(write_drafter(table, (spec_block_drafter)d, mean, mean + n_values, question.K,
                               d + 1 == drafters, error));
done:
    for (int w = 0; w < SPEC_TRAJECTORY_BATCHES; w++) workspace_free(&work[w]);
    free(mean);
    return status;
}

static const char *const parameters[] = {
    "target", "draft=", "K=5", "paths=64", "listed=0", "positions=256", "gap=16", "length=0", NULL};
static const char *const columns[] = {
    "drafter", "offset",  "overlap",   "overlap_se",   "overlap_most",    "overlap_most_se",
    "tail",    "tail_se", "tail_most", "alpha_offset", "mean_n_accepted", NULL};
static const spec_headline headlines[] = {{.column = "tail"}, {.column = "overlap"}, {0}};
static const char *const keys[] = {"drafter", "offset", NULL};

const spec_measure spec_measure_block_draft = {
    .name = "block_draft",
    .summary = "the most that any parallel drafter of a target accepts, by offset in the round",
    .parameters = parameters,
    .columns = columns,
    .headlines = headlines,
    .keys = keys,
    .rows = count_rows,
    .run = run,
};
