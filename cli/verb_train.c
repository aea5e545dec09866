/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/fields.h"
#include "cli/output.h"
#include "cli/stop.h"
#include "cli/train_curve.h"
#include "cli/verb.h"

#include "base/clock.h"
#include "base/progress.h"
#include "base/settings.h"
#include "models/model_open.h"
#include "models/train/losses.h"
#include "models/transformer/files/checkpoint.h"
#include "speclab/no_memory.h"
#include "tools/train/training_settings.h"
#include "tools/train/training_setup.h"
#include "tools/train/training_state.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the arguments --------------------------------------------------------------------------- */

typedef struct {
    spec_options common; /* output: the trained model */
    spec_training_settings settings;
    double save; /* seconds between writes of the state */
    bool resume;
} arguments;

static void read_taps(void *arguments_, const char *word, const char *verb)
{
    arguments *args = arguments_;
    spec_error error;
    if (spec_training_settings_taps(&args->settings, word, &error) != GSL_SUCCESS)
        spec_usage_fail(verb, "%s", error.text);
}

static void read_steps(void *arguments_, const char *word, const char *verb)
{
    arguments *args = arguments_;
    if (spec_training_schedule_read(&args->settings.steps, word) != GSL_SUCCESS)
        spec_usage_fail(verb,
                        "--steps: '%s' is not a number from 1 to %d, or several such as "
                        "1000,760@520, which --minutes prints",
                        word, INT_MAX);
}

static void read_bar(void *arguments_, const char *word, const char *verb)
{
    arguments *args = arguments_;
    double bar = INFINITY;
    if (strcmp(word, "none") != 0 &&
        (!spec_settings_parse_double(&bar, word) || !(bar >= 0.0 && bar < 64.0)))
        spec_usage_fail(verb, "--bar must be none or a number of at least 0 and below 64, got '%s'",
                        word);
    args->settings.bar = bar;
}

static void take_method(void *arguments_, const char *word, const char *verb)
{
    arguments *args = arguments_;
    if (args->settings.method != NULL)
        spec_usage_fail(verb, "'%s' is a second method; give only one", word);
    args->settings.method = word;
}

#define SETTING(member) SPEC_FIELD(arguments, settings.member)
static const spec_field fields[] = {
    {.help = "What to train, and on what:", .group = 1},
    {"target", 0, "SPEC",
     "the target model, a transformer; for lm: the model whose vocabulary is used (bytes)",
     SETTING(target), .group = 1},
    {"data", 0, "FILE", "a text file; own, draft: texts sampled from the target, or from --draft",
     SETTING(data), .group = 1},
    {"loss", 0, "LOSS", "ce, fkl, rkl, jsd, tv, nla or lk (lm: ce, distill: jsd, others: fkl)",
     SETTING(loss), .choice = spec_losses_names, .group = 1},
    {"draft", 0, "SPEC", "start from the weights of this model or head file (random weights)",
     SETTING(draft), .group = 1},
    {.help = "The shape of a new model:", .group = 2},
    {"layers", 0, "N", "number of layers (2)", SETTING(layers), .low = 1, .high = SPEC_LAYERS_MAX,
     .group = 2},
    {"dim", 0, "N", "width (half the target's; lm: 128)", SETTING(dim), .low = 2,
     .high = SPEC_DIM_MAX, .group = 2},
    {"heads", 0, "N", "number of attention heads (width / 16; for a draft head the target's)",
     SETTING(heads), .low = 1, .high = SPEC_DIM_MAX, .group = 2},
    {"kv-heads", 0, "N", "number of key-value heads (the same as --heads)", SETTING(kv_heads),
     .low = 1, .high = SPEC_DIM_MAX, .group = 2},
    {"ffn", 0, "N",
     "width of the feed-forward layers (8/3 of the width, in steps of 16; for a draft head the "
     "target's)",
     SETTING(ffn), .low = 1, .high = SPEC_DIM_MAX, .group = 2},
    {"K", 'K', "N", "longest draft; depths of medusa, hydra, mtp and parallel (5)", SETTING(K),
     .low = 1, .high = SPEC_HEAD_REACH_MAX, .group = 2},
    {"taps", 0, "A.B.C",
     "eagle3, parallel: the layers of the target after which its hidden states are read (1, half "
     "and all)",
     .read = read_taps, .group = 2},
    {"ttt", 0, "N",
     "eagle, eagle3: steps in which the head reads its own output (eagle: 1, eagle3: K)",
     SETTING(ttt), .low = 1, .high = SPEC_HEAD_REACH_MAX, .group = 2},
    {.help = "The training:", .group = 3},
    {"steps", 0, "N", "number of steps (600)", .read = read_steps, .group = 3},
    {"minutes", 0, "X",
     "train for X minutes, including the sampling of texts and the "
     "rows of the curve",
     SETTING(minutes), .above = true, .high = 1e5, .group = 3},
    {"rate", 0, "X",
     "largest learning rate (0.003, heads: 0.002, layerskip: 0.0005; with --draft: 0.001)",
     SETTING(rate), .above = true, .high = 1, .group = 3},
    {"batch", 0, "N", "texts per step (8)", SETTING(batch), .low = 1, .high = 4096, .group = 3},
    {"window", 0, "N", "tokens per text (256, or the target's context)", SETTING(window), .low = 2,
     .high = SPEC_CONTEXT_MAX, .group = 3},
    {"own-texts", 0, "N", "texts sampled from the target (1536)", SETTING(own_texts), .low = 1,
     .high = INT_MAX, .group = 3},
    {"judge-texts", 0, "N",
     "held-out texts that score the model, in whole batches "
     "(32)",
     SETTING(judge_texts), .low = 1, .high = 1 << 20, .group = 3},
    {"save-every", 0, "X", "seconds between writes of OUT.state (30)", SPEC_FIELD(arguments, save),
     .above = true, .high = 1e6, .group = 3},
    {"resume", 0, NULL, "continue from OUT.state, if it exists", SPEC_FIELD(arguments, resume),
     .group = 3},
    {.help = "Early exits (layerskip):", .group = 4},
    {"bar", 0, "X",
     "bits per token that the model may lose on the held-out texts; none: any loss (0.1)",
     .read = read_bar, .group = 4},
    {"dropout", 0, "X", "probability of dropping the last layer of a text (0.1)", SETTING(dropout),
     .high = 1, .below = true, .group = 4},
    {"exit-scale", 0, "X", "scale of the weights of exits (0.2)", SETTING(exit_scale),
     .above = true, .high = 100, .group = 4},
    {"rotate", 0, "N", "in each step train every N-th exit, in turn (4, or the number of exits)",
     SETTING(rotate), .low = 1, .high = SPEC_LAYERS_MAX, .group = 4},
    {0},
};

const spec_fields spec_verb_train_options = {
    .fields = fields,
    .doc =
    "train a model, or a draft of a target\vMETHOD is lm, a language model on its own; distill, a "
    "draft model that imitates the rows of --target; layerskip, a copy of --target whose early "
    "exits draft; or a draft head, which reads the target's hidden states: medusa, hydra, "
    "redrafter, eagle, eagle3, mtp or parallel. The table is the learning curve; `speclab plot` "
    "draws it.\n"
    "\n"
    "bits_per_token is the cross-entropy of held-out text, or of the target's own text. tokens_T1 "
    "and tokens_T0 are tokens per round of K draft tokens at temperatures 1 and 0, measured along "
    "texts of the target; alpha_d is the acceptance of draft token d, given that those before it "
    "were accepted; tree8 and tree60 are tokens per round of the best static trees. --resume "
    "continues from the state in OUT.gguf.state; results do not depend on threads or "
    "interruptions.\n"
    "\n"
    "  $ speclab train distill --target model.bin --data own -o draft.gguf\n"
    "  $ speclab train eagle3 --target model.bin --data own -o head.gguf",
    .words = "METHOD",
    .word = take_method,
    .output = "the trained model, a GGUF file; the table goes to standard output",
};

static void parse(arguments *args, spec_context *context, int argc, char **argv)
{
    spec_error error;
    *args = (arguments){.common = SPEC_OPTIONS_DEFAULT(context),
                        .settings = SPEC_TRAINING_SETTINGS_DEFAULT,
                        .save = 30.0};
    args->settings.dashes = "--";
    args->common.opt_figure = "training";
    spec_fields_parse(args, &args->common, &spec_verb_train_options, argc, argv);
    if (spec_training_settings_check(&args->settings, &error) != GSL_SUCCESS)
        spec_usage_fail(argv[0], "%s", error.text);
    if (args->common.output == NULL)
        spec_usage_fail(argv[0], "give the file of the trained model with -o OUT.gguf");
    args->settings.seed = args->common.seed;
}

/* Lists what the plan assumes: the values of relevant options that were not given. */
static void say_assumed(const arguments *args, const spec_training_plan *plan, const char *verb)
{
    const spec_shape *shape = &plan->shape.shape;
    const bool is_drawn = plan->opt_head == NULL && plan->opt_start == NULL;
    const struct {
        const char *name;
        double value;
        bool holds;
    } numbers[] = {
        {"layers", shape->n_layers, is_drawn},
        {"dim", shape->dim, is_drawn},
        {"K", plan->K, plan->opt_target != NULL},
        {"steps", (double)plan->schedule.plan[0].steps, args->settings.minutes == 0.0},
        {"rate", plan->rate, true},
        {"batch", plan->texts, true},
        {"window", plan->places, true},
    };
    spec_assumed assumed = {""};
    if (!spec_fields_gave("loss"))
        spec_assumed_add(&assumed, "--loss ", spec_losses_names[plan->loss], NULL);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char typed[16], value[32];
        if (!numbers[i].holds || spec_fields_gave(numbers[i].name)) continue;
        snprintf(typed, sizeof typed, "--%s ", numbers[i].name);
        snprintf(value, sizeof value, "%.10g", numbers[i].value);
        spec_assumed_add(&assumed, typed, value, NULL);
    }
    spec_assumed_say(&assumed, verb);
}

/* ---- the run ----------------------------------------------------------------------------- */

typedef struct {
    const arguments *args;
    const char *verb;
    spec_training_setup setup;
    spec_train_curve curve;
    spec_training_limit limit;
    double step; /* seconds of the last step */
    char settings[4096], state[PATH_MAX];
} run;

enum { ROWS = 10 };
#define MISSED 1.1 /* a limit missed by more than this factor is reported */

/* Adds a row to the curve, and keeps the weights if they have lost no more than --bar allows. */
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
    const arguments *args = r->args;
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

/* If the final weights have lost more than --bar allows, restores the last ones that had not. */
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
    const arguments *args = r->args;
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
    arguments args;
    parse(&args, context, argc, argv);
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
        say_assumed(&args, &r->setup.training.plan, argv[0]);
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
