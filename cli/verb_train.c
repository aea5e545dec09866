/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/output.h"
#include "cli/train_curve.h"
#include "cli/train_plan.h"
#include "cli/verb.h"

#include "base/clock.h"
#include "base/noise.h"
#include "base/progress.h"
#include "experiments/train/training_state.h"
#include "models/heads/head_file.h"
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
    bool has_target;
    spec_model *target, *start;
    spec_head start_head;
    const spec_checkpoint *vocabulary_of; /* the target's, or `bytes` */
    spec_checkpoint bytes;
    spec_byte_vocabulary byte_data;
    spec_training_texts learn, judge[2];
    spec_train_plan plan;
    spec_training training;
    spec_train_curve curve;
    char settings[2048], state[PATH_MAX];
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
                                  .count = (size_t)spec_train_or(args->own_texts, 1536),
                                  .seed = spec_noise_mix(args->common.seed)};
    spec_progress_phase("sampling texts");
    if (strcmp(args->data, "own") == 0) {
        if (!r->has_target)
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
    if (!r->has_target) goto done;
    how.count = (size_t)spec_train_or(args->judges, 32);
    how.seed = spec_noise_mix(how.seed);
    how.prompt = r->learn.stride == 1 ? SPEC_TRAIN_PROMPT : 0;
    SPEC_TRY(spec_training_texts_sample(&r->judge[1], &r->learn, &how, pool, error));
    how.prompt = SPEC_TRAIN_PROMPT;
    how.greedy = true;
    SPEC_TRY(spec_training_texts_sample(
        &r->judge[0], r->learn.stride == 1 ? &r->learn : &r->judge[1], &how, pool, error));
done:
    spec_progress_phase(NULL);
    return status;
}

enum { ROWS = 10 };

/* Steps until the end, a row of the curve at each tenth, the state from time to time. */
static int train(run *r, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_training *t = &r->training;
    double saved = spec_clock_monotonic();
    if (t->step == 0) SPEC_TRY(spec_train_curve_judge(&r->curve, t, error));
    while (t->step < t->plan.steps) {
        double loss;
        char line[SPEC_PROGRESS_NOTE];
        SPEC_TRY(spec_training_step(t, &loss, error));
        r->curve.loss += loss;
        r->curve.losses++;
        if (t->step * ROWS / t->plan.steps != (t->step - 1) * ROWS / t->plan.steps)
            SPEC_TRY(spec_train_curve_judge(&r->curve, t, error));
        spec_train_curve_note(line, sizeof line, &r->curve, loss);
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
    if (args->start != NULL && args->head >= 0)
        SPEC_TRY(spec_head_file_load(&r->start_head, args->start, r->vocabulary_of, false, error));
    else if (args->start != NULL)
        SPEC_TRY(open_model(&r->start, &start, args->start, "draft", context, error));
    const spec_train_models models = {
        r->vocabulary_of, start, args->start != NULL && args->head >= 0 ? &r->start_head : NULL};
    SPEC_TRY(spec_train_plan_fill(&r->plan, args, &models, error));
    spec_training_plan *const plan = &r->plan.plan;
    SPEC_TRY(make_texts(r, plan->places, error));
    const int judged =
        (spec_train_or(args->judges, 32) + plan->texts - 1) / plan->texts * plan->texts;
    spec_training_data data = {&r->learn, {&r->judge[0], &r->judge[1]}, judged};
    if (!r->has_target) data.judge[1] = &r->learn;
    SPEC_TRY(spec_training_init(&r->training, plan, &data, context->pool, error));
    spec_training *t = &r->training;
    t->model.checkpoint.begin_of_text = r->vocabulary_of->begin_of_text;
    t->model.checkpoint.adds_begin = r->vocabulary_of->adds_begin;
    t->model.checkpoint.end_of_text = r->vocabulary_of->end_of_text;
    t->head.head.fingerprint =
        plan->opt_head != NULL ? spec_head_file_fingerprint(r->vocabulary_of) : 0;
    spec_train_plan_describe(r->settings, sizeof r->settings, t, args);
    SPEC_TRY(spec_train_curve_init(&r->curve, r->has_target ? plan->K : 0, error));
    if (r->has_target)
        SPEC_TRY(spec_training_speed_measure(&r->curve.speed, r->target, NULL, plan,
                                             r->judge[1].token, r->judge[1].stride - 1, error));
    if (args->resume && access(r->state, F_OK) == 0)
        SPEC_TRY(spec_training_state_read(t, r->settings, r->state, error));
    else if (args->minutes > 0.0)
        t->plan.steps = (long)fmax(1.0, args->minutes * 60.0 / spec_training_step_seconds(t));
done:
    return status;
}

static int write_model(run *r, spec_error *error)
{
    int kept, status;
    const char *path = r->args->common.output;
    spec_settings settings = {0};
    spec_gguf_model_vocabulary vocabulary = {0};
    if (r->plan.plan.opt_head != NULL) {
        status = spec_head_file_write(&kept, &r->training.head.head, path, error);
    } else {
        if (r->target == NULL)
            vocabulary.opt_data = &r->byte_data.data;
        else if (spec_settings_init(&settings, r->target->spec, error) != GSL_SUCCESS)
            return GSL_EINVAL;
        else
            vocabulary.opt_file = &settings;
        status = spec_gguf_model_write(&kept, &r->training.model.checkpoint, &vocabulary, path,
                                       NULL, error);
    }
    if (status == GSL_SUCCESS) spec_output_say_kept(path, kept, r->args->common.force, r->verb);
    spec_settings_free(&settings);
    return status;
}

/* With the draft as it was written; if it cannot be opened, the estimate stays. */
static void say_prediction(run *r)
{
    const spec_train_args *args = r->args;
    spec_training_speed measured;
    spec_model *draft = NULL;
    spec_error error;
    char text[PATH_MAX + 32];
    snprintf(text, sizeof text, "%s:%s", args->head >= 0 ? args->method : "gguf",
             args->common.output);
    if (spec_model_open(&draft, text, r->target, args->common.context, &error) == GSL_SUCCESS &&
        spec_training_speed_measure(&measured, r->target, draft, &r->plan.plan, r->judge[1].token,
                                    r->judge[1].stride - 1, &error) == GSL_SUCCESS)
        r->curve.speed = measured;
    spec_model_close(draft);
    spec_progress_clear();
    spec_train_curve_prediction(text, sizeof text, &r->curve);
    spec_usage_say(r->verb, "%s", text);
}

static void free_run(run *r)
{
    spec_training_free(&r->training);
    spec_training_texts_free(&r->learn);
    for (int i = 0; i < 2; i++) spec_training_texts_free(&r->judge[i]);
    spec_head_free(&r->start_head);
    spec_model_close(r->start);
    spec_model_close(r->target);
    spec_checkpoint_free(&r->bytes);
    spec_train_curve_free(&r->curve);
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
    r->has_target = strcmp(args.method, "lm") != 0;
    snprintf(r->state, sizeof r->state, "%s.state", args.common.output);
    spec_output_say_left_over(args.common.output, argv[0]);
    spec_options_catch_interrupts();
    if (set_up(r, &error) == GSL_SUCCESS && train(r, &error) == GSL_SUCCESS &&
        write_model(r, &error) == GSL_SUCCESS) {
        unlink(r->state);
        if (r->has_target) say_prediction(r);
        args.common.output = NULL; /* the table goes to standard output */
        code = spec_options_show(&r->curve.table, &args.common, argv[0]);
    } else {
        spec_progress_clear();
        spec_usage_say(argv[0], "%s", error.text);
        if (spec_options_stop) code = SPEC_EXIT_INTERRUPTED;
    }
    free_run(r);
    free(r);
    return code;
}
