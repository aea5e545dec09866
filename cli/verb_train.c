/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/output.h"
#include "cli/train_args.h"
#include "cli/verb.h"

#include "base/clock.h"
#include "base/noise.h"
#include "base/progress.h"
#include "experiments/train/training_state.h"
#include "models/model_open.h"
#include "models/transformer/engine/transformer.h"
#include "models/transformer/files/gguf_model.h"
#include "models/transformer/tokenizer/byte_vocabulary.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the run -----------------------------------------------------------------------------------
 */

typedef struct {
    const spec_train_args *args;
    const char *verb;
    bool distils;
    spec_model *target, *start;
    const spec_checkpoint *vocabulary_of; /* the target's, or `bytes` */
    spec_checkpoint bytes;
    spec_byte_vocabulary byte_data;
    spec_training_texts learn, judge[2];
    spec_training training;
    char settings[2048], state[PATH_MAX];
    spec_table table;
    double loss;
    long losses;
} run;

/* A transformer of the user, or an error that begins with the option. */
static int open_model(spec_model **ret_model, const spec_checkpoint **ret_checkpoint,
                      const char *spec, const char *option, spec_context *context,
                      spec_error *error)
{
    spec_error reason = {""};
    const int status = spec_model_open(ret_model, spec, NULL, context, &reason);
    if (status != GSL_SUCCESS) return spec_fail(error, status, "--%s: %s", option, reason.text);
    const spec_transformer *transformer = spec_transformer_of(*ret_model);
    if (transformer == NULL || (*ret_model)->one_hot)
        return spec_fail(error, GSL_EINVAL,
                         "--%s: %.200s is not a transformer with its own distributions; give a "
                         "checkpoint of llama2.c or a GGUF file",
                         option, spec);
    *ret_checkpoint = transformer->checkpoint;
    return GSL_SUCCESS;
}

static int or_default(int given, int otherwise)
{
    return given > 0 ? given : otherwise;
}

static spec_training_shape shape_of(const run *r)
{
    const spec_train_args *args = r->args;
    const spec_shape *target = &r->vocabulary_of->shape;
    spec_shape s = {.vocab = target->vocab, .norm_eps = 1e-5f, .rope_base = 10000.0};
    s.context = r->target != NULL ? target->context : or_default(args->window, 256);
    s.dim = or_default(args->dim, r->distils ? target->dim / 2 : 128);
    s.n_layers = or_default(args->layers, 2);
    s.n_heads = or_default(args->heads, s.dim < 32 ? 1 : s.dim / 16);
    s.n_kv_heads = or_default(args->kv_heads, s.n_heads);
    s.head_dim = s.dim / s.n_heads;
    s.ffn_dim = or_default(args->ffn, (s.dim * 8 / 3 + 15) / 16 * 16);
    return (spec_training_shape){.shape = s, .is_tied = true};
}

static int check_shape(const spec_shape *s, spec_error *error)
{
    if (s->dim % s->n_heads != 0 || s->n_heads % s->n_kv_heads != 0 || s->head_dim % 2 != 0 ||
        s->head_dim > SPEC_HEAD_DIM_MAX)
        return spec_fail(error, GSL_EINVAL,
                         "--heads: %d heads, %d of them of keys, do not share a width of %d; heads "
                         "have an even width of at most %d",
                         s->n_heads, s->n_kv_heads, s->dim, (int)SPEC_HEAD_DIM_MAX);
    return GSL_SUCCESS;
}

enum { PROMPT = 32, WALK_K = 5 };

/* Texts to learn from, and texts of the target that judge the draft. */
static int make_texts(run *r, int places, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_train_args *args = r->args;
    spec_thread_pool *pool = args->common.context->pool;
    const spec_checkpoint *c = r->vocabulary_of;
    const int begin = c->adds_begin ? c->begin_of_text : -1;
    spec_training_sampling how = {.model = r->target,
                                  .begin = begin,
                                  .places = places,
                                  .count = (size_t)or_default(args->own_texts, 1536),
                                  .seed = spec_noise_mix(args->common.seed)};
    spec_progress_phase("sampling texts");
    if (strcmp(args->data, "own") == 0) {
        if (!r->distils)
            SPEC_TRY(spec_fail(error, GSL_EINVAL, "--data own: lm has no target to sample from"));
        SPEC_TRY(spec_training_texts_sample(&r->learn, NULL, &how, pool, error));
    } else if (c->opt_tokenizer == NULL) {
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "--target: the model has no vocabulary to read %.200s", args->data));
    } else {
        SPEC_TRY(spec_training_texts_load(&r->learn, args->data, c->opt_tokenizer, begin, places,
                                          error));
    }
    if (r->learn.n_unknown > 0)
        spec_usage_say(r->verb,
                       "%.200s: %zu of %zu tokens are for characters outside the vocabulary, the "
                       "first in line %ld; windows with them are left out",
                       args->data, r->learn.n_unknown, r->learn.n, r->learn.unknown_line);
    if (!r->distils) goto done;
    how.count = (size_t)or_default(args->judges, 32);
    how.seed = spec_noise_mix(how.seed);
    how.prompt = r->learn.stride == 1 ? PROMPT : 0;
    SPEC_TRY(spec_training_texts_sample(&r->judge[1], &r->learn, &how, pool, error));
    how.prompt = PROMPT;
    how.greedy = true;
    SPEC_TRY(spec_training_texts_sample(
        &r->judge[0], r->learn.stride == 1 ? &r->learn : &r->judge[1], &how, pool, error));
done:
    spec_progress_phase(NULL);
    return status;
}

static uint64_t hash(const void *data, size_t bytes)
{
    uint64_t sum = bytes;
    for (size_t i = 0; i < bytes; i++) sum = spec_noise_mix(sum ^ ((const unsigned char *)data)[i]);
    return sum;
}

/* All that the trained weights depend on. */
static void describe(run *r, const spec_training_plan *plan)
{
    const spec_train_args *args = r->args;
    const spec_shape *s = &r->training.model.checkpoint.shape;
    const spec_parameters *target = &r->training.target.parameters,
                          *start = &r->training.model.parameters;
    char length[48];
    if (args->minutes > 0.0)
        snprintf(length, sizeof length, "minutes=%.10g", args->minutes);
    else
        snprintf(length, sizeof length, "steps=%ld", plan->steps);
    snprintf(r->settings, sizeof r->settings,
             "method=%s\nloss=%s\n%s\nrate=%.10g\nbatch=%d\nwindow=%d\nseed=%llu\nlayers=%d\n"
             "dim=%d\nheads=%d\nkv-heads=%d\nffn=%d\ntarget=%016llx\ndraft=%016llx\n"
             "data=%016llx\n",
             args->method, spec_losses_names[plan->loss], length, plan->rate, plan->texts,
             plan->places, (unsigned long long)args->common.seed, s->n_layers, s->dim, s->n_heads,
             s->n_kv_heads, s->ffn_dim,
             (unsigned long long)hash(target->value, target->numbers * sizeof *target->value),
             (unsigned long long)hash(start->value, start->numbers * sizeof *start->value),
             (unsigned long long)hash(r->learn.token, r->learn.n * sizeof *r->learn.token));
}

/* ---- the curve ---------------------------------------------------------------------------------
 */

static int init_table(spec_table *table, bool walks)
{
    static const char *const columns[] = {
        "step",       "loss",       "bits_per_token", "tokens_T1",  "tokens_T0",
        "alpha_1_T1", "alpha_2_T1", "alpha_3_T1",     "alpha_4_T1", "alpha_5_T1",
        "alpha_1_T0", "alpha_2_T0", "alpha_3_T0",     "alpha_4_T0", "alpha_5_T0"};
    return spec_table_init(table, columns, walks ? (int)(sizeof columns / sizeof columns[0]) : 3);
}

static int judge(run *r, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_training_score score;
    SPEC_TRY(spec_training_evaluate(&r->training, &score, error));
    spec_table_integer(&r->table, "step", r->training.step);
    spec_table_number(&r->table, "loss", r->losses > 0 ? r->loss / (double)r->losses : (double)NAN);
    spec_table_number(&r->table, "bits_per_token", score.bits);
    r->loss = 0.0;
    r->losses = 0;
    for (int i = 0; i < 2 && r->distils; i++) {
        char column[32];
        snprintf(column, sizeof column, "tokens_T%d", i);
        spec_table_number(&r->table, column,
                          spec_exact_walk_tokens_per_round(&score.walk[i], WALK_K));
        for (int d = 1; d <= WALK_K; d++) {
            snprintf(column, sizeof column, "alpha_%d_T%d", d, i);
            spec_table_number(&r->table, column, spec_exact_walk_alpha(&score.walk[i], d));
        }
    }
    if (spec_table_append(&r->table) != GSL_SUCCESS) spec_usage_no_memory(r->verb);
done:
    return status;
}

/* The last row of the curve, for the progress line. */
static void note(char *text, size_t size, const run *r, double loss)
{
    const spec_table *t = &r->table;
    const size_t last = t->n_rows - 1;
    int at = snprintf(text, size, "loss %.3f", loss);
    if (t->n_rows == 0 || at < 0 || (size_t)at >= size) return;
    if (!r->distils) {
        snprintf(text + at, size - (size_t)at, ", %.3f bits",
                 spec_cell_number(spec_table_cell(t, last, 2)));
        return;
    }
    at += snprintf(text + at, size - (size_t)at, ", alpha");
    for (int d = 0; d < WALK_K; d++)
        at += snprintf(text + at, size - (size_t)at, " %.2f",
                       spec_cell_number(spec_table_cell(t, last, 5 + d)));
    snprintf(text + at, size - (size_t)at, ", %.2f tokens per round",
             spec_cell_number(spec_table_cell(t, last, 3)));
}

enum { ROWS = 10 };

/* Steps until the end, a row of the curve at each tenth, the state from time to time. */
static int train(run *r, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_training *t = &r->training;
    double saved = spec_clock_monotonic();
    if (t->step == 0) SPEC_TRY(judge(r, error));
    while (t->step < t->plan.steps) {
        double loss;
        char line[SPEC_PROGRESS_NOTE];
        SPEC_TRY(spec_training_step(t, &loss, error));
        r->loss += loss;
        r->losses++;
        if (t->step * ROWS / t->plan.steps != (t->step - 1) * ROWS / t->plan.steps)
            SPEC_TRY(judge(r, error));
        note(line, sizeof line, r, loss);
        spec_progress_report((double)t->step, (double)t->plan.steps, "steps", line);
        const bool stops = spec_options_stop != 0;
        if (stops || spec_clock_monotonic() - saved > r->args->save) {
            SPEC_TRY(spec_training_state_write(t, r->settings, r->state, error));
            saved = spec_clock_monotonic();
        }
        if (stops && t->step < t->plan.steps)
            SPEC_TRY(spec_fail(error, GSL_EFAILED,
                               "interrupted after %ld of %ld steps; --resume continues", t->step,
                               t->plan.steps));
    }
done:
    return status;
}

static int set_up(run *r, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_train_args *args = r->args;
    const spec_checkpoint *start = NULL;
    spec_context *context = args->common.context;
    if (args->target != NULL)
        SPEC_TRY(open_model(&r->target, &r->vocabulary_of, args->target, "target", context, error));
    else {
        spec_byte_vocabulary_fill(&r->byte_data);
        r->bytes.shape.vocab = SPEC_BYTE_TOKENS;
        r->bytes.begin_of_text = SPEC_BYTE_BEGIN;
        r->bytes.adds_begin = true;
        r->bytes.end_of_text = SPEC_BYTE_END;
        SPEC_TRY(spec_checkpoint_tokenizer(&r->bytes, &r->byte_data.data, "bytes", error));
        r->vocabulary_of = &r->bytes;
    }
    if (args->start != NULL)
        SPEC_TRY(open_model(&r->start, &start, args->start, "draft", context, error));
    spec_training_plan plan = {.opt_target = r->distils ? r->vocabulary_of : NULL,
                               .opt_start = start,
                               .shape = shape_of(r),
                               .loss = args->loss >= 0 ? (spec_losses_kind)args->loss
                                       : r->distils    ? SPEC_LOSSES_JSD
                                                       : SPEC_LOSSES_CE,
                               .texts = or_default(args->batch, 8),
                               .K = WALK_K,
                               .prompt = PROMPT,
                               .steps = args->steps > 0 ? args->steps : 600,
                               .rate = args->rate > 0.0 ? args->rate
                                       : start != NULL  ? 0.001
                                                        : 0.003,
                               .seed = args->common.seed};
    if (!r->distils && plan.loss != SPEC_LOSSES_CE)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "--loss %s needs the rows of a target: use distill",
                           spec_losses_names[plan.loss]));
    plan.places =
        or_default(args->window, plan.shape.shape.context < 256 ? plan.shape.shape.context : 256);
    if (plan.places < PROMPT + WALK_K || plan.places > plan.shape.shape.context)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "--window: %d is not from %d to the context of %d",
                           plan.places, PROMPT + WALK_K, plan.shape.shape.context));
    SPEC_TRY(check_shape(&plan.shape.shape, error));
    SPEC_TRY(make_texts(r, plan.places, error));
    const int judged = (or_default(args->judges, 32) + plan.texts - 1) / plan.texts * plan.texts;
    spec_training_data data = {&r->learn, {&r->judge[0], &r->judge[1]}, judged};
    if (!r->distils) data.judge[1] = &r->learn;
    SPEC_TRY(spec_training_init(&r->training, &plan, &data, context->pool, error));
    spec_training *t = &r->training;
    t->model.checkpoint.begin_of_text = r->vocabulary_of->begin_of_text;
    t->model.checkpoint.adds_begin = r->vocabulary_of->adds_begin;
    t->model.checkpoint.end_of_text = r->vocabulary_of->end_of_text;
    describe(r, &plan);
    if (args->resume && access(r->state, F_OK) == 0)
        SPEC_TRY(spec_training_state_read(t, r->settings, r->state, error));
    else if (args->minutes > 0.0)
        t->plan.steps = (long)fmax(1.0, args->minutes * 60.0 / spec_training_step_seconds(t));
done:
    return status;
}

static int write_model(run *r, spec_error *error)
{
    int kept;
    spec_settings settings = {0};
    spec_gguf_model_vocabulary vocabulary = {0};
    if (r->target == NULL)
        vocabulary.opt_data = &r->byte_data.data;
    else if (spec_settings_init(&settings, r->target->spec, error) != GSL_SUCCESS)
        return GSL_EINVAL;
    else
        vocabulary.opt_file = &settings;
    const int status = spec_gguf_model_write(&kept, &r->training.model.checkpoint, &vocabulary,
                                             r->args->common.output, NULL, error);
    if (status == GSL_SUCCESS)
        spec_output_say_kept(r->args->common.output, kept, r->args->common.force, r->verb);
    spec_settings_free(&settings);
    return status;
}

static void free_run(run *r)
{
    spec_training_free(&r->training);
    spec_training_texts_free(&r->learn);
    for (int i = 0; i < 2; i++) spec_training_texts_free(&r->judge[i]);
    spec_model_close(r->start);
    spec_model_close(r->target);
    spec_checkpoint_free(&r->bytes);
    spec_table_free(&r->table);
}

int spec_verb_train(spec_context *context, int argc, char **argv)
{
    spec_train_args args;
    spec_train_args_parse(&args, context, argc, argv);
    spec_error error = {{0}};
    int code = SPEC_EXIT_USAGE;
    run *r = calloc(1, sizeof *r);
    if (r == NULL) spec_usage_no_memory(argv[0]);
    r->args = &args;
    r->verb = argv[0];
    r->distils = strcmp(args.method, "distill") == 0;
    snprintf(r->state, sizeof r->state, "%s.state", args.common.output);
    if (init_table(&r->table, r->distils) != GSL_SUCCESS) spec_usage_no_memory(argv[0]);
    spec_output_say_left_over(args.common.output, argv[0]);
    spec_options_catch_interrupts();
    if (set_up(r, &error) == GSL_SUCCESS && train(r, &error) == GSL_SUCCESS &&
        write_model(r, &error) == GSL_SUCCESS) {
        unlink(r->state);
        args.common.output = NULL; /* the table goes to standard output */
        code = spec_options_show(&r->table, &args.common, argv[0]);
    } else {
        spec_progress_clear();
        spec_usage_say(argv[0], "%s", error.text);
        if (spec_options_stop) code = SPEC_EXIT_INTERRUPTED;
    }
    free_run(r);
    free(r);
    return code;
}
