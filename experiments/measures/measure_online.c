/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/stop_flag.h"
#include "experiments/measures/measures.h"

#include "analysis/statistics/moments.h"
#include "base/noise.h"
#include "experiments/training_texts.h"
#include "models/row.h"
#include "models/train/draft_learner.h"
#include "models/transformer/engine/logits.h"
#include "models/transformer/engine/transformer.h"
#include "sim/online_draft.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A draft learns along a stream of windows: first from one text, then from another, then from the
 * first again. We judge each batch before the draft learns from it. */

enum { PHASES = 3, STATIC = -1 };
static const char *const phase_names[PHASES] = {"first", "second", "first again"};

typedef struct {
    spec_draft_learner_plan plan;
    int learns; /* spec_online_positions, or STATIC */
    /* positions of a window before the first one that is judged and learnt */
    int prompt;
    int batches[PHASES], part; /* batches in each phase; batches in each row of the table */
    const char *text[2];
} settings;

typedef struct {
    settings of;
    const spec_point *point;
    spec_training_texts text[2];
    spec_training_model target;
    spec_graph graph; /* the target's */
    spec_graph_node *logits;
    spec_draft_learner learner, fixed; /* fixed: never learns */
    double *row;                       /* (3, V) the target's, the learner's and the fixed one's */
    /* over the windows of a part; `learnt` is the share of positions that the draft learnt from */
    spec_moments alpha, gain, learnt;
} stream;

/* ---- settings -------------------------------------------------------------------------------- */

/* Reads a parameter and finds its value among `names`. */
static int read_name(int *ret, const spec_point *point, const spec_measure *measure,
                     const char *parameter, const char *const *names, spec_error *error)
{
    const char *value = spec_point_text(point, measure, parameter);
    char list[80] = "";
    for (*ret = 0; names[*ret] != NULL; (*ret)++) {
        if (strcmp(value, names[*ret]) == 0) return GSL_SUCCESS;
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? ", " : "", names[*ret]);
    }
    return spec_fail(error, GSL_EINVAL, "%s: '%.60s' is not one of %s", parameter, value, list);
}

static int read_batches(settings *of, const spec_point *point, const spec_measure *measure,
                        spec_error *error)
{
    static const char *const names[PHASES] = {"before", "during", "after"};
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_point_int(&of->part, point, measure, "part", 1, 1000, error));
    for (int i = 0; i < PHASES; i++) {
        SPEC_TRY(spec_point_int(&of->batches[i], point, measure, names[i], 1, 100000, error));
        if (of->batches[i] % of->part != 0)
            SPEC_TRY(spec_fail(error, GSL_EINVAL,
                               "%s: %d batches cannot be divided into parts of %d", names[i],
                               of->batches[i], of->part));
    }
done:
    return status;
}

static int read_settings(settings *of, const spec_point *point, const spec_measure *measure,
                         spec_error *error)
{
    static const char *const modes[] = {"static", "all", "rejected", NULL};
    int status = GSL_SUCCESS, loss;
    *of = (settings){0};
    SPEC_TRY(read_name(&of->learns, point, measure, "learns", modes, error));
    SPEC_TRY(read_name(&loss, point, measure, "loss", spec_losses_names, error));
    of->learns--;
    of->plan.loss = (spec_losses_kind)loss;
    SPEC_TRY(spec_point_double(&of->plan.rate, point, measure, "rate", 1e-9, 1.0, error));
    SPEC_TRY(spec_point_int(&of->plan.texts, point, measure, "windows", 1, 4096, error));
    SPEC_TRY(
        spec_point_int(&of->plan.places, point, measure, "positions", 2, SPEC_CONTEXT_MAX, error));
    SPEC_TRY(spec_point_int(&of->prompt, point, measure, "prompt", 0, of->plan.places - 1, error));
    SPEC_TRY(read_batches(of, point, measure, error));
    of->text[0] = spec_point_text(point, measure, "first");
    of->text[1] = spec_point_text(point, measure, "second");
done:
    return status;
}

/* ---- models and texts ------------------------------------------------------------------------ */

/* Finds the checkpoint of a transformer. Its temperature must be 1, so that its rows come straight
 * from its logits. */
static int checkpoint_of(const spec_checkpoint **ret, const spec_model *opt_model,
                         const char *parameter, spec_error *error)
{
    const spec_transformer *model = opt_model != NULL ? spec_transformer_of(opt_model) : NULL;
    if (model == NULL || &model->head != opt_model || model->temperature != 1.0)
        return spec_fail(error, GSL_EINVAL,
                         "%s: give a transformer without sampling parameters, as the texts are "
                         "given",
                         parameter);
    *ret = model->checkpoint;
    return GSL_SUCCESS;
}

static int open_target(stream *s, const spec_checkpoint *target, spec_thread_pool *opt_pool,
                       spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_draft_learner_plan *plan = &s->of.plan;
    spec_training_nodes *nodes = malloc(sizeof *nodes);
    if (nodes == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(spec_training_model_load(&s->target, target, plan->places, true, error));
    SPEC_TRY(spec_graph_init(&s->graph, spec_cpu_isa(), opt_pool, error));
    spec_training_model_build(nodes, &s->target, &s->graph, s->learner.token, NULL, plan->texts,
                              plan->places);
    s->logits = nodes->logits;
    SPEC_TRY(spec_graph_allocate(&s->graph, false, error));
done:
    free(nodes);
    return status;
}

static int open_stream(stream *s, const spec_model *target, const spec_model *draft,
                       spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_checkpoint *of_target = NULL, *of_draft = NULL;
    spec_thread_pool *pool = spec_context_pool(s->point->opt_context);
    SPEC_TRY(checkpoint_of(&of_target, target, "target", error));
    SPEC_TRY(checkpoint_of(&of_draft, draft, "draft", error));
    if (of_target->opt_tokenizer == NULL)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "target: the model has no words to read a text"));
    for (int i = 0; i < 2; i++)
        SPEC_TRY(spec_training_texts_load(&s->text[i], s->of.text[i], of_target->opt_tokenizer,
                                          of_target->adds_begin ? of_target->begin_of_text : -1,
                                          s->of.plan.places, error));
    SPEC_TRY(spec_draft_learner_init(&s->learner, &s->of.plan, of_draft, pool, error));
    SPEC_TRY(spec_draft_learner_init(&s->fixed, &s->of.plan, of_draft, pool, error));
    SPEC_TRY(open_target(s, of_target, pool, error));
    if ((s->row = malloc(3 * (size_t)s->logits->cols * sizeof *s->row)) == NULL)
        SPEC_TRY(spec_no_memory(error));
done:
    return status;
}

static void close_stream(stream *s)
{
    for (int i = 0; i < 2; i++) spec_training_texts_free(&s->text[i]);
    spec_draft_learner_free(&s->learner);
    spec_draft_learner_free(&s->fixed);
    spec_graph_free(&s->graph);
    spec_training_model_free(&s->target);
    free(s->row);
}

/* ---- a batch --------------------------------------------------------------------------------- */

/* Reads the three rows after a position. */
static int read_rows(stream *s, int place, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_graph_node *const node[] = {s->logits, s->learner.logits, s->fixed.logits};
    const int vocab = s->logits->cols;
    for (int i = 0; i < 3; i++) {
        double *row = s->row + (size_t)i * (size_t)vocab;
        SPEC_TRY(spec_logits_rows(&row, spec_graph_row(node[i]->value, place, vocab), 1.0, 1, vocab,
                                  s->graph.kernels, NULL, error));
    }
done:
    return status;
}

/* Returns whether the draft learns from this position. With probability 1 - min(1, draft / target),
 * a draft token was rejected here and replaced by this token of the text; `u` decides whether it
 * was. */
static bool learns_place(const stream *s, int place, double u)
{
    const int token = s->learner.next[place], vocab = s->logits->cols;
    if (s->of.learns != SPEC_ONLINE_REJECTED) return s->of.learns == SPEC_ONLINE_ALL;
    return u * s->row[token] >= s->row[vocab + token];
}

/* Judges a window, and marks the positions that the draft will learn. */
static int judge_window(stream *s, int window, uint64_t key, spec_error *error)
{
    int status = GSL_SUCCESS;
    const int places = s->of.plan.places, vocab = s->logits->cols;
    double alpha = 0.0, fixed = 0.0;
    for (int t = 0; t < places; t++) {
        const int place = window * places + t;
        s->learner.learns[place] = false;
        if (t < s->of.prompt) continue;
        SPEC_TRY(read_rows(s, place, error));
        alpha += spec_row_overlap(s->row, s->row + vocab, vocab);
        fixed += spec_row_overlap(s->row, s->row + 2 * (size_t)vocab, vocab);
        const double u = (double)(spec_noise_word(key, (uint64_t)place) >> 11) * 0x1p-53;
        s->learner.learns[place] = learns_place(s, place, u);
        spec_moments_add(&s->learnt, s->learner.learns[place]);
    }
    const double n = places - s->of.prompt;
    spec_moments_add(&s->alpha, alpha / n);
    spec_moments_add(&s->gain, (alpha - fixed) / n);
done:
    return status;
}

/* Runs a batch. Its windows depend only on the seed and its number, so all learning methods read
 * the same windows. */
static int run_batch(stream *s, int batch, int phase, spec_error *error)
{
    int status = GSL_SUCCESS;
    const settings *of = &s->of;
    const size_t rows = (size_t)of->plan.texts * (size_t)of->plan.places;
    const uint64_t key = spec_noise_key(s->point->seed, (const int[]){batch, 1}, 2, -1);
    double loss;
    SPEC_TRY(spec_stop_check(s->point->stop, error));
    spec_training_texts_batch(s->learner.token, s->learner.next, &s->text[phase == 1],
                              of->plan.texts, s->point->seed, batch);
    memcpy(s->fixed.token, s->learner.token, rows * sizeof *s->fixed.token);
    spec_graph_forward(&s->graph);
    spec_draft_learner_forward(&s->learner);
    spec_draft_learner_forward(&s->fixed);
    for (int w = 0; w < of->plan.texts; w++) SPEC_TRY(judge_window(s, w, key, error));
    if (of->learns == STATIC) goto done;
    if (s->learner.target.value != NULL)
        memcpy(s->learner.target.value, s->logits->value,
               rows * (size_t)s->logits->cols * sizeof *s->logits->value);
    SPEC_TRY(spec_draft_learner_step(&s->learner, &loss, error));
done:
    return status;
}

/* ---- the table ------------------------------------------------------------------------------- */

static void write_part(spec_table *table, const stream *s, int batch, int phase,
                       const spec_measure *measure)
{
    static const char *const copied[] = {"learns", "loss", "rate"};
    for (int i = 0; i < 3; i++)
        spec_table_text(table, copied[i], spec_point_text(s->point, measure, copied[i]));
    const double se = spec_moments_standard_error(&s->gain);
    const bool learns = s->of.learns != STATIC;
    spec_table_text(table, "phase", phase_names[phase]);
    spec_table_integer(table, "batch", batch);
    spec_table_number(table, "alpha_mean", s->alpha.mean);
    spec_table_number(table, "alpha_mean_se", spec_moments_standard_error(&s->alpha));
    spec_table_number(table, "learnt", s->learnt.mean);
    spec_table_number(table, "alpha_gain", learns ? s->gain.mean : NAN);
    spec_table_number(table, "alpha_gain_se", learns ? se : NAN);
    spec_table_number(table, "forgetting", learns && phase == 2 ? -s->gain.mean : NAN);
    spec_table_number(table, "forgetting_se", learns && phase == 2 ? se : NAN);
}

static int run_phases(spec_table *table, stream *s, const spec_measure *measure, spec_error *error)
{
    int status = GSL_SUCCESS, batch = 0, all = 0;
    const settings *of = &s->of;
    for (int phase = 0; phase < PHASES; phase++) all += of->batches[phase];
    for (int phase = 0; phase < PHASES; phase++)
        for (int i = 1; i <= of->batches[phase]; i++) {
            SPEC_TRY(run_batch(s, batch++, phase, error));
            spec_listener_tell(s->point->opt_listener, (double)batch / all);
            if (i % of->part != 0) continue;
            write_part(table, s, batch, phase, measure);
            s->alpha = s->gain = s->learnt = (spec_moments){0};
            if (batch < all && spec_table_append(table) != GSL_SUCCESS)
                SPEC_TRY(spec_no_memory(error));
        }
done:
    return status;
}

static int count_rows(uint64_t *ret_rows, const spec_point *point, const spec_measure *measure,
                      spec_error *error)
{
    settings of = {0};
    const int status = read_batches(&of, point, measure, error);
    *ret_rows = 0;
    if (status == GSL_SUCCESS)
        *ret_rows = (uint64_t)((of.batches[0] + of.batches[1] + of.batches[2]) / of.part);
    return status;
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_model *target, *draft;
    stream s = {.point = point};
    SPEC_TRY(read_settings(&s.of, point, measure, error));
    SPEC_TRY(spec_point_read(point));
    SPEC_TRY(spec_point_pair(&target, &draft, point, spec_point_text(point, measure, "target"),
                             spec_point_text(point, measure, "draft"), error));
    SPEC_TRY(spec_point_opened(point));
    SPEC_TRY(open_stream(&s, target, draft, error));
    SPEC_TRY(run_phases(table, &s, measure, error));
done:
    close_stream(&s);
    return status;
}

static const char *const parameters[] = {"target",        "draft",     "first",      "second",
                                         "learns=all",    "loss=jsd",  "rate=0.001", "windows=8",
                                         "positions=256", "prompt=48", "before=12",  "during=40",
                                         "after=12",      "part=4",    NULL};
static const char *const columns[] = {
    "learns",     "loss",          "rate",   "phase",      "batch",
    "alpha_mean", "alpha_mean_se", "learnt", "alpha_gain", "alpha_gain_se",
    "forgetting", "forgetting_se", NULL};
static const spec_headline headlines[] = {
    {.column = "alpha_mean"}, {.column = "alpha_gain"}, {.column = "forgetting"}, {0}};
static const char *const keys[] = {"phase", "batch", NULL};

const spec_measure spec_measure_online = {
    .name = "online",
    .summary = "the overlap of a draft that learns while it serves, before a change of topic, "
               "after it, and after the change back",
    .parameters = parameters,
    .columns = columns,
    .headlines = headlines,
    .keys = keys,
    .rows = count_rows,
    .run = run,
};
