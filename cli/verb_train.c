/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/output.h"
#include "cli/stop.h"
#include "cli/train_args.h"
#include "cli/train_curve.h"
#include "cli/verb.h"

#include "base/clock.h"
#include "base/progress.h"
#include "experiments/train/training_setup.h"
#include "experiments/train/training_state.h"
#include "models/model_open.h"
#include "speclab/no_memory.h"

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
    spec_training_setup setup;
    spec_train_curve curve;
    spec_training_limit limit;
    double step; /* seconds of the last step */
    char settings[4096], state[PATH_MAX];
} run;

enum { ROWS = 10 };
#define MISSED 1.1 /* a limit missed by more than this factor is reported */

/* Adds a row to the curve, and keeps weights that are within the bar. */
static int judge(run *r, spec_error *error)
{
    spec_training *t = &r->setup.training;
    const double begun = spec_clock_monotonic();
    const int status = spec_train_curve_judge(&r->curve, t, error);
    r->limit.row = spec_clock_monotonic() - begun;
    if (status == GSL_SUCCESS && t->kept != NULL)
        spec_training_keep(t, r->curve.exits.bits - r->curve.exits.target_bits);
    return status;
}

static int tenth(const spec_training *t, long step)
{
    return step == spec_training_steps(t)
               ? ROWS
               : (int)(spec_training_schedule_done(&t->plan.schedule, step) * ROWS);
}

static int save(const run *r, spec_error *error)
{
    spec_training_numbers curve;
    int status = spec_train_curve_save(&curve, &r->curve);
    if (status != GSL_SUCCESS) return spec_no_memory(error);
    status =
        spec_training_state_write(&r->setup.training, r->settings, &curve, r->state, error);
    spec_training_numbers_free(&curve);
    return status;
}

static int resume(run *r, spec_error *error)
{
    spec_training *t = &r->setup.training;
    spec_training_numbers curve;
    int status = spec_training_state_read(t, &curve, r->settings, r->state, error);
    if (status == GSL_SUCCESS &&
        (status = spec_train_curve_restore(&r->curve, &curve)) != GSL_SUCCESS)
        spec_fail(error, status, "%.300s: %s", r->state,
                  status == GSL_ENOMEM ? "out of memory" : "is damaged");
    r->limit.begun -= t->used;
    spec_training_numbers_free(&curve);
    return status;
}

/* Makes steps until the end, adds a row to the curve at each tenth, and saves the state from time
 * to time. */
static int train(run *r, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_training *t = &r->setup.training;
    double saved = spec_clock_monotonic();
    if (t->step == spec_training_steps(t))
        SPEC_TRY(spec_train_curve_score(&r->curve, t, error)); /* its row was saved */
    while (t->step < spec_training_steps(t)) {
        double loss;
        char line[SPEC_PROGRESS_NOTE];
        const double begun = spec_clock_monotonic();
        SPEC_TRY(spec_training_step(t, &loss, error));
        r->step = spec_clock_monotonic() - begun;
        spec_training_schedule_follow(&t->plan.schedule, &r->limit, t->step, r->step);
        r->curve.loss += loss;
        r->curve.losses++;
        if (tenth(t, t->step) != tenth(t, t->step - 1)) SPEC_TRY(judge(r, error));
        spec_train_curve_note(line, sizeof line, &r->curve, loss);
        const long steps = spec_training_steps(t);
        spec_progress_report((double)t->step, (double)steps, "steps", line);
        const bool stops = spec_stop != 0;
        if (stops || spec_clock_monotonic() - saved > r->args->save) {
            saved = spec_clock_monotonic();
            t->used = saved - r->limit.begun;
            spec_stop_saving();
            SPEC_TRY(save(r, error));
        }
        if (stops && t->step < steps)
            SPEC_TRY(spec_fail(error, GSL_EFAILED,
                               "interrupted after %ld of %ld steps; --resume continues", t->step,
                               steps));
    }
    t->used = spec_clock_monotonic() - r->limit.begun;
done:
    return status;
}

static void say_unknown(const run *r)
{
    const spec_training_texts *learn = &r->setup.learn;
    if (learn->n_unknown > 0)
        spec_usage_say(r->verb,
                       "%.200s: %zu of %zu tokens are for characters outside the vocabulary, the "
                       "first in line %ld; windows with them are left out",
                       r->args->settings.data, learn->n_unknown, learn->n, learn->unknown_line);
}

static int set_up(run *r, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_train_args *args = r->args;
    spec_training *t = &r->setup.training;
    spec_progress_phase("sampling texts");
    status = spec_training_setup_init(&r->setup, &args->settings, args->common.context, error);
    spec_progress_phase(NULL);
    SPEC_TRY(status);
    say_unknown(r);
    spec_training_settings_describe(r->settings, sizeof r->settings, t, &args->settings);
    const bool has_target = t->plan.opt_target != NULL;
    SPEC_TRY(spec_train_curve_init(&r->curve, t, error));
    if (has_target)
        SPEC_TRY(spec_training_speed_measure(&r->curve.speed, r->setup.target, NULL, &t->plan,
                                             r->setup.judge[1].token, r->setup.judge[1].stride - 1,
                                             error));
    SPEC_TRY(args->resume && access(r->state, F_OK) == 0 ? resume(r, error) : judge(r, error));
done:
    return status;
}

static int write_model(run *r, spec_error *error)
{
    int kept;
    const char *path = r->args->common.output;
    const int status = spec_training_setup_write(&kept, &r->setup, path, error);
    if (status == GSL_SUCCESS) spec_output_say_kept(path, kept, r->args->common.force, r->verb);
    return status;
}

/* If the final weights are not within the bar, restores the last ones that were. */
static int keep_bar(run *r, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_training *t = &r->setup.training;
    spec_exit_score *score = &r->curve.exits;
    if (t->kept == NULL || t->kept_step == t->step) goto done;
    spec_progress_clear();
    spec_usage_say(r->verb,
                   "the cross-entropy rose by %.4f bits per token, above --bar %g: %.200s has the "
                   "weights of step %ld%s",
                   score->bits - score->target_bits, t->plan.bar, r->args->common.output,
                   t->kept_step,
                   t->kept_step == 0 ? ", which are the target's; try a lower --rate" : "");
    spec_training_restore(t);
    SPEC_TRY(spec_exit_score_judge(score, t, error));
done:
    return status;
}

static void say_speed_up(const run *r)
{
    char text[256];
    spec_progress_clear();
    spec_train_curve_prediction(text, sizeof text, &r->curve);
    spec_usage_say(r->verb, "%s", text);
}

/* Prints the prediction with the draft as it was written; if that cannot be opened, keeps the
 * estimate. */
static void say_prediction(run *r)
{
    const spec_train_args *args = r->args;
    spec_training_speed measured;
    spec_model *draft = NULL;
    spec_error error;
    char text[PATH_MAX + 32];
    snprintf(text, sizeof text, "%s:%s", args->settings.head >= 0 ? args->settings.method : "gguf",
             args->common.output);
    if (spec_model_open(&draft, text, r->setup.target, args->common.context, &error) ==
            GSL_SUCCESS &&
        spec_training_speed_measure(&measured, r->setup.target, draft, &r->setup.training.plan,
                                    r->setup.judge[1].token, r->setup.judge[1].stride - 1,
                                    &error) == GSL_SUCCESS)
        r->curve.speed = measured;
    spec_model_close(draft);
    say_speed_up(r);
}

static void say_exits(run *r)
{
    char text[256];
    spec_progress_clear();
    spec_train_curve_change(text, sizeof text, &r->curve);
    spec_usage_say(r->verb, "%s", text);
    say_speed_up(r);
}

/* Says how to repeat the training without a clock, and whether it missed its limit. */
static void say_schedule(const run *r)
{
    const spec_training *t = &r->setup.training;
    char text[SPEC_TRAINING_SCHEDULE_TEXT];
    spec_progress_clear();
    spec_usage_say(r->verb, "%ld step%s; --steps %s instead of --minutes repeats this training",
                   t->step, t->step == 1 ? "" : "s",
                   spec_training_schedule_text(text, &t->plan.schedule));
    if (t->used > MISSED * r->limit.seconds)
        spec_usage_say(r->verb,
                       "%.1f s instead of the %.4g s of --minutes: a step took %.1f s, a row of "
                       "the curve %.1f s%s",
                       t->used, r->limit.seconds, r->step, r->limit.row,
                       t->step == 1 ? ", and at least one step is made" : "");
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
    r->limit = (spec_training_limit){.clock = spec_clock_wall(),
                                     .begun = spec_clock_monotonic(),
                                     .seconds = 60.0 * args.settings.minutes,
                                     .rows = ROWS};
    snprintf(r->state, sizeof r->state, "%s.state", args.common.output);
    spec_output_say_left_over(args.common.output, argv[0]);
    if (set_up(r, &error) == GSL_SUCCESS && train(r, &error) == GSL_SUCCESS &&
        keep_bar(r, &error) == GSL_SUCCESS && write_model(r, &error) == GSL_SUCCESS) {
        unlink(r->state);
        spec_train_args_say_assumed(&args, &r->setup.training.plan, argv[0]);
        if (args.settings.minutes > 0.0) say_schedule(r);
        if (r->setup.training.kept != NULL)
            say_exits(r);
        else if (r->setup.training.plan.opt_target != NULL)
            say_prediction(r);
        args.common.output = NULL; /* the table goes to standard output */
        code = spec_options_show(&r->curve.table, &args.common, argv[0]);
    } else {
        spec_progress_clear();
        spec_usage_say(argv[0], "%s", error.text);
    }
    spec_training_setup_free(&r->setup);
    spec_train_curve_free(&r->curve);
    free(r);
    return code;
}
