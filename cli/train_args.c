/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/train_args.h"

#include "base/settings.h"
#include "cli/fields.h"
#include "models/train/losses.h"
#include "models/transformer/files/checkpoint.h"

#include <limits.h>
#include <math.h>
#include <string.h>

static void read_taps(void *arguments, const char *word, const char *verb)
{
    spec_train_args *args = arguments;
    spec_error error;
    if (spec_training_settings_taps(&args->settings, word, &error) != GSL_SUCCESS)
        spec_usage_fail(verb, "%s", error.text);
}

static void read_steps(void *arguments, const char *word, const char *verb)
{
    spec_train_args *args = arguments;
    if (spec_training_schedule_read(&args->settings.steps, word) != GSL_SUCCESS)
        spec_usage_fail(verb,
                        "--steps: '%s' is not a number from 1 to %d, or several such as "
                        "1000,760@520, which --minutes prints",
                        word, INT_MAX);
}

static void read_bar(void *arguments, const char *word, const char *verb)
{
    spec_train_args *args = arguments;
    double bar = INFINITY;
    if (strcmp(word, "none") != 0 &&
        (!spec_settings_parse_double(&bar, word) || !(bar >= 0.0 && bar < 64.0)))
        spec_usage_fail(verb, "--bar must be none or a number of at least 0 and below 64, got '%s'",
                        word);
    args->settings.bar = bar;
}

static void take_method(void *arguments, const char *word, const char *verb)
{
    spec_train_args *args = arguments;
    if (args->settings.method != NULL)
        spec_usage_fail(verb, "'%s' is a second method; give only one", word);
    args->settings.method = word;
}

#define SETTING(member) SPEC_FIELD(spec_train_args, settings.member)
static const spec_field fields[] = {
    {.help = "What is trained, on what:", .group = 1},
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
    {"heads", 0, "N", "number of attention heads (width / 16; of a head: the target's)",
     SETTING(heads), .low = 1, .high = SPEC_DIM_MAX, .group = 2},
    {"kv-heads", 0, "N", "number of heads of keys and values (heads)", SETTING(kv_heads), .low = 1,
     .high = SPEC_DIM_MAX, .group = 2},
    {"ffn", 0, "N",
     "width of the feed-forward layers (8/3 width, in steps of 16; of a head: the target's)",
     SETTING(ffn), .low = 1, .high = SPEC_DIM_MAX, .group = 2},
    {"K", 'K', "N", "longest draft; depths of medusa, hydra, mtp and parallel (5)", SETTING(K),
     .low = 1, .high = SPEC_HEAD_REACH_MAX, .group = 2},
    {"taps", 0, "A.B.C",
     "eagle3, parallel: after which layers of the target its hidden states are read (1, half and "
     "all)",
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
    {"save-every", 0, "X", "seconds between writes of OUT.state (30)",
     SPEC_FIELD(spec_train_args, save), .above = true, .high = 1e6, .group = 3},
    {"resume", 0, NULL, "continue from OUT.state, if it exists",
     SPEC_FIELD(spec_train_args, resume), .group = 3},
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

void spec_train_args_parse(spec_train_args *args, spec_context *context, int argc, char **argv)
{
    static const spec_fields options = {
        .fields = fields,
        .doc =
        "train a model, or a draft of a target\vMETHOD is lm, a language model on its own; "
        "distill, a draft model that imitates the rows of --target; layerskip, a copy of --target "
        "whose early exits draft; or a draft head, which reads the target's hidden states: "
        "medusa, hydra, redrafter, eagle, eagle3, mtp or parallel. The table is the learning "
        "curve; `speclab plot` draws it.\n"
        "\n"
        "bits_per_token is the cross-entropy of held-out text, or of the target's own text. "
        "tokens_T1 and tokens_T0 are tokens per round of K draft tokens at temperatures 1 and 0, "
        "walked along texts of the target; alpha_d is the acceptance of draft token d, given "
        "those before it; tree8 and tree60 are tokens per round of the best static trees. "
        "--resume continues from the state in OUT.gguf.state; results do not depend on threads or "
        "interruptions.\n"
        "\n"
        "  $ speclab train distill --target model.bin --data own -o draft.gguf\n"
        "  $ speclab train eagle3 --target model.bin --data own -o head.gguf",
        .words = "METHOD",
        .word = take_method,
        .output = "the trained model, a GGUF file; the table goes to standard output",
    };
    spec_error error;
    *args = (spec_train_args){.common = SPEC_OPTIONS_DEFAULT(context),
                              .settings = SPEC_TRAINING_SETTINGS_DEFAULT,
                              .save = 30.0};
    args->settings.dashes = "--";
    args->common.opt_figure = "training";
    spec_fields_parse(args, &args->common, &options, argc, argv);
    if (spec_training_settings_check(&args->settings, &error) != GSL_SUCCESS)
        spec_usage_fail(argv[0], "%s", error.text);
    if (args->common.output == NULL)
        spec_usage_fail(argv[0], "give the file of the trained model with -o OUT.gguf");
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
