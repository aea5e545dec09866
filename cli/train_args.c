/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/train_args.h"

#include "models/train/losses.h"
#include "models/transformer/files/checkpoint.h"

#include <limits.h>
#include <math.h>
#include <string.h>

enum {
    KEY_DATA = 0x8001,
    KEY_LOSS,
    KEY_TAPS,
    KEY_TTT,
    KEY_START,
    KEY_LAYERS,
    KEY_DIM,
    KEY_HEADS,
    KEY_KV_HEADS,
    KEY_FFN,
    KEY_STEPS,
    KEY_MINUTES,
    KEY_RATE,
    KEY_BATCH,
    KEY_WINDOW,
    KEY_OWN_TEXTS,
    KEY_JUDGES,
    KEY_TARGET,
    KEY_SAVE,
    KEY_BAR,
    KEY_DROPOUT,
    KEY_EXIT_SCALE,
    KEY_ROTATE,
    KEY_RESUME
};

static const struct argp_option options_table[] = {
    {0, 0, 0, 0, "What is trained, on what:", 1},
    {"target", KEY_TARGET, "SPEC", 0,
     "the target model, a transformer; for lm: the model whose vocabulary is used (bytes)", 1},
    {"data", KEY_DATA, "FILE", 0,
     "a text file; own, draft: texts sampled from the target, or from --draft", 1},
    {"loss", KEY_LOSS, "LOSS", 0,
     "ce, fkl, rkl, jsd, tv, nla or lk (lm: ce, distill: jsd, others: fkl)", 1},
    {"draft", KEY_START, "SPEC", 0,
     "start from the weights of this model or head file (random weights)", 1},
    {0, 0, 0, 0, "The shape of a new model:", 2},
    {"layers", KEY_LAYERS, "N", 0, "number of layers (2)", 2},
    {"dim", KEY_DIM, "N", 0, "width (half the target's; lm: 128)", 2},
    {"heads", KEY_HEADS, "N", 0, "number of attention heads (width / 16; of a head: the target's)",
     2},
    {"kv-heads", KEY_KV_HEADS, "N", 0, "number of heads of keys and values (heads)", 2},
    {"ffn", KEY_FFN, "N", 0,
     "width of the feed-forward layers (8/3 width, in steps of 16; of a head: the target's)", 2},
    {"K", 'K', "N", 0, "longest draft; depths of medusa, hydra, mtp and parallel (5)", 2},
    {"taps", KEY_TAPS, "A.B.C", 0,
     "eagle3, parallel: after which layers of the target its hidden states are read (1, half and "
     "all)",
     2},
    {"ttt", KEY_TTT, "N", 0,
     "eagle, eagle3: steps in which the head reads its own output (eagle: 1, eagle3: K)", 2},
    {0, 0, 0, 0, "The training:", 3},
    {"steps", KEY_STEPS, "N", 0, "number of steps (600)", 3},
    {"minutes", KEY_MINUTES, "X", 0,
     "train for X minutes, including the sampling of texts and the "
     "rows of the curve",
     3},
    {"rate", KEY_RATE, "X", 0,
     "largest learning rate (0.003, heads: 0.002, layerskip: 0.0005; with --draft: 0.001)", 3},
    {"batch", KEY_BATCH, "N", 0, "texts per step (8)", 3},
    {"window", KEY_WINDOW, "N", 0, "tokens per text (256, or the target's context)", 3},
    {"own-texts", KEY_OWN_TEXTS, "N", 0, "texts sampled from the target (1536)", 3},
    {"judge-texts", KEY_JUDGES, "N", 0,
     "held-out texts that score the model, in whole batches "
     "(32)",
     3},
    {"save-every", KEY_SAVE, "X", 0, "seconds between writes of OUT.state (30)", 3},
    {"resume", KEY_RESUME, 0, 0, "continue from OUT.state, if it exists", 3},
    {0, 0, 0, 0, "Early exits (layerskip):", 4},
    {"bar", KEY_BAR, "X", 0,
     "bits per token that the model may lose on the held-out texts; none: any loss (0.1)", 4},
    {"dropout", KEY_DROPOUT, "X", 0, "probability of dropping the last layer of a text (0.1)", 4},
    {"exit-scale", KEY_EXIT_SCALE, "X", 0, "scale of the weights of exits (0.2)", 4},
    {"rotate", KEY_ROTATE, "N", 0,
     "train one exit of N in each step, in turn (4, or the number of exits)", 4},
    {0},
};

static int count(const struct argp_state *state, const char *option, const char *arg, int low,
                 int high)
{
    return (int)spec_options_count(state->name, option, arg, (uint64_t)low, (uint64_t)high);
}

static double positive(const struct argp_state *state, const char *option, const char *arg,
                       double high)
{
    double value;
    if (!spec_settings_parse_double(&value, arg) || !(value > 0.0 && value <= high))
        spec_usage_fail(state->name, "--%s: '%s' is not a number above 0, at most %g", option, arg,
                        high);
    return value;
}

/* Parses a number from 0 on, below the limit. */
static double not_negative(const struct argp_state *state, const char *option, const char *arg,
                           double limit)
{
    double value;
    if (!spec_settings_parse_double(&value, arg) || !(value >= 0.0 && value < limit))
        spec_usage_fail(state->name, "--%s: '%s' is not a number from 0, below %g", option, arg,
                        limit);
    return value;
}

static int loss_of(const struct argp_state *state, const char *arg)
{
    for (int i = 0; i < SPEC_LOSSES_KINDS; i++)
        if (strcmp(arg, spec_losses_names[i]) == 0) return i;
    spec_usage_fail(state->name, "--loss: '%s' is not ce, fkl, rkl, jsd, tv, nla or lk", arg);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    spec_train_args *args = state->input;
    spec_training_settings *settings = &args->settings;
    spec_error error;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->common; return 0;
    case KEY_TARGET: settings->target = arg; return 0;
    case KEY_DATA: settings->data = arg; return 0;
    case KEY_LOSS: settings->loss = loss_of(state, arg); return 0;
    case KEY_START: settings->draft = arg; return 0;
    case 'K': settings->K = count(state, "K", arg, 1, SPEC_HEAD_REACH_MAX); return 0;
    case KEY_TAPS:
        if (spec_training_settings_taps(settings, arg, &error) != GSL_SUCCESS)
            spec_usage_fail(state->name, "%s", error.text);
        return 0;
    case KEY_TTT: settings->ttt = count(state, "ttt", arg, 1, SPEC_HEAD_REACH_MAX); return 0;
    case KEY_LAYERS: settings->layers = count(state, "layers", arg, 1, SPEC_LAYERS_MAX); return 0;
    case KEY_DIM: settings->dim = count(state, "dim", arg, 2, SPEC_DIM_MAX); return 0;
    case KEY_HEADS: settings->heads = count(state, "heads", arg, 1, SPEC_DIM_MAX); return 0;
    case KEY_KV_HEADS:
        settings->kv_heads = count(state, "kv-heads", arg, 1, SPEC_DIM_MAX);
        return 0;
    case KEY_FFN: settings->ffn = count(state, "ffn", arg, 1, SPEC_DIM_MAX); return 0;
    case KEY_STEPS:
        if (spec_training_schedule_read(&settings->steps, arg) != GSL_SUCCESS)
            spec_usage_fail(state->name,
                            "--steps: '%s' is not a number from 1 to %d, or several such as "
                            "1000,760@520, which --minutes prints",
                            arg, INT_MAX);
        return 0;
    case KEY_MINUTES: settings->minutes = positive(state, "minutes", arg, 1e5); return 0;
    case KEY_RATE: settings->rate = positive(state, "rate", arg, 1.0); return 0;
    case KEY_BATCH: settings->batch = count(state, "batch", arg, 1, 4096); return 0;
    case KEY_WINDOW: settings->window = count(state, "window", arg, 2, SPEC_CONTEXT_MAX); return 0;
    case KEY_OWN_TEXTS: settings->own_texts = count(state, "own-texts", arg, 1, INT_MAX); return 0;
    case KEY_JUDGES: settings->judge_texts = count(state, "judge-texts", arg, 1, 1 << 20); return 0;
    case KEY_SAVE: args->save = positive(state, "save-every", arg, 1e6); return 0;
    case KEY_BAR:
        settings->bar =
            strcmp(arg, "none") == 0 ? (double)INFINITY : not_negative(state, "bar", arg, 64.0);
        return 0;
    case KEY_DROPOUT: settings->dropout = not_negative(state, "dropout", arg, 1.0); return 0;
    case KEY_EXIT_SCALE: settings->exit_scale = positive(state, "exit-scale", arg, 100.0); return 0;
    case KEY_ROTATE: settings->rotate = count(state, "rotate", arg, 1, SPEC_LAYERS_MAX); return 0;
    case KEY_RESUME: args->resume = true; return 0;
    case ARGP_KEY_ARG:
        if (settings->method != NULL)
            spec_usage_fail(state->name, "'%s' is a second method; give only one", arg);
        settings->method = arg;
        return 0;
    case ARGP_KEY_END:
        if (spec_training_settings_check(settings, &error) != GSL_SUCCESS)
            spec_usage_fail(state->name, "%s", error.text);
        if (args->common.output == NULL)
            spec_usage_fail(state->name, "give the file of the trained model with -o OUT.gguf");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

void spec_train_args_parse(spec_train_args *args, spec_context *context, int argc, char **argv)
{
    static const struct argp_child children[] = {{&spec_options_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        options_table,
        parse,
        "METHOD",
        "train a model, or a draft of a target\vMETHOD is lm, a language model on its own; "
        "distill, a draft model that imitates the rows of --target; layerskip, a copy of --target "
        "whose early exits draft; or a draft head, which reads the target's hidden states: medusa, "
        "hydra, redrafter, eagle, eagle3, mtp or parallel. The table is the learning curve; "
        "`speclab plot` draws it.\n"
        "\n"
        "bits_per_token is the cross-entropy of held-out text, or of the target's own text. "
        "tokens_T1 and tokens_T0 are tokens per round of K draft tokens at temperatures 1 and 0, "
        "walked along texts of the target; alpha_d is the acceptance of draft token d, given those "
        "before it; tree8 and tree60 are tokens per round of the best static trees. The state in "
        "OUT.gguf.state serves --resume; results do not depend on threads or interruptions.\n"
        "\n"
        "  $ speclab train distill --target model.bin --data own -o draft.gguf\n"
        "  $ speclab train eagle3 --target model.bin --data own -o head.gguf",
        children,
        NULL,
        NULL};
    *args = (spec_train_args){.common = SPEC_OPTIONS_DEFAULT(context),
                              .settings = SPEC_TRAINING_SETTINGS_DEFAULT,
                              .save = 30.0};
    args->settings.dashes = "--";
    args->common.opt_figure = "training";
    args->common.opt_output = "the trained model, a GGUF file; the table goes to standard output";
    spec_usage_parse(&argp, argc, argv, args);
    args->settings.seed = args->common.seed;
}

void spec_train_args_say_assumed(const spec_train_args *args, const spec_training_plan *plan,
                                 const char *verb)
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
    if (!spec_usage_gave("loss"))
        spec_assumed_add(&assumed, "--loss ", spec_losses_names[plan->loss], NULL);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char typed[16], value[32];
        if (!numbers[i].holds || spec_usage_gave(numbers[i].name)) continue;
        snprintf(typed, sizeof typed, "--%s ", numbers[i].name);
        snprintf(value, sizeof value, "%.10g", numbers[i].value);
        spec_assumed_add(&assumed, typed, value, NULL);
    }
    spec_assumed_say(&assumed, verb);
}
