/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/bench_online.h"
#include "cli/figure_option.h"
#include "cli/figures/figure.h"
#include "cli/output.h"
#include "cli/pair_options.h"
#include "cli/progress_reports.h"
#include "cli/stop.h"
#include "cli/verb.h"
#include "speclab/no_memory.h"

#include "base/escape.h"
#include "base/memory_text.h"
#include "base/progress.h"
#include "base/thread_pool.h"
#include "cli/options.h"
#include "models/transformer/engine/device.h"
#include "models/transformer/engine/transformer.h"
#include "timing/timing_advice.h"
#include "timing/timing_page.h"
#include "timing/timing_report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ERROR 0.05 /* one minus the confidence of intervals */
#define DEFAULT_K "5"
enum { RESAMPLES = 2000, TOKENS_MAX = 1 << 20, LINE_SIZE = 1024, TURN = 32 };
enum { KEY_PROMPTS = 0xa001, KEY_CONTEXT, KEY_TEXTS, KEY_SECONDS, KEY_WIDTHS, KEY_TURN, KEY_CLOCK,
       KEY_FIGURE, KEY_FROM };

static const struct argp_option options_table[] = {
    {"K", 'K', "LIST", 0, "draft tokens per round: 5, or 0:10, or 2,4,8 (" DEFAULT_K ")", 1},
    {"widths", KEY_WIDTHS, "LIST", 0,
     "also time passes of these numbers of tokens (1:16; 1:64 on a GPU)", 1},
    {0, 0, 0, 0, "The texts:", 2},
    {"prompts", KEY_PROMPTS, "FILE", 0,
     "prompts, separated by blank lines (the model's own, or a few that it generates; random "
     "tokens without a tokenizer)",
     2},
    {"context", KEY_CONTEXT, "N", 0,
     "largest prompt length in tokens; random prompts have exactly N (64)", 2},
    {"texts", KEY_TEXTS, "N", 0,
     "texts per K and for plain decoding; they take the prompts in turn (16)", 2},
    {"tokens", 'n', "N", 0, "tokens of a text (64)", 2},
    {"turn", KEY_TURN, "N", 0, "tokens per turn, after which another K decodes (32)", 2},
    {"seconds", KEY_SECONDS, "S", 0,
     "time limit per K instead of --texts; two texts are always "
     "run",
     2},
    {"clock", KEY_CLOCK, "NAME", 0,
     "wall, or processor: the processor time of this process, on one thread, for a busy machine "
     "(wall)",
     2},
    {0, 0, 0, 0, "The result:", 5},
    {"from", KEY_FROM, "FILE", 0,
     "show the result that 'bench -o FILE.csv' wrote; takes no other option", 5},
    {"figure", KEY_FIGURE, "FILE", 0,
     "draw the result: .svg, .png, .pdf or .tex; needs -o FILE.csv", 5},
    {0},
};

typedef struct {
    spec_options common;
    spec_pair_options pair;
    spec_bench_online_options online;
    spec_timing_plan plan;
    const char *K, *opt_widths, *prompts, *figure, *from;
    int context;
    bool texts_given, K_given, processor;
} arguments;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *args = state->input;
    const char *verb = state->name;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->pair;
        state->child_inputs[1] = &args->online;
        state->child_inputs[2] = &args->common;
        return 0;
    case 'K':
        args->K = arg;
        args->K_given = true;
        return 0;
    case KEY_WIDTHS: args->opt_widths = arg; return 0;
    case KEY_PROMPTS: args->prompts = arg; return 0;
    case KEY_CONTEXT:
        args->context = (int)spec_options_count(verb, "context", arg, 1, SPEC_TIMING_PROMPT_TOKENS);
        return 0;
    case KEY_TEXTS:
        args->plan.texts = (int)spec_options_count(verb, "texts", arg, 2, SPEC_TIMING_TEXTS_MAX);
        args->texts_given = true;
        return 0;
    case 'n':
        args->plan.tokens = (int)spec_options_count(verb, "tokens", arg, 1, TOKENS_MAX);
        return 0;
    case KEY_TURN:
        args->plan.turn = (int)spec_options_count(verb, "turn", arg, 1, TOKENS_MAX);
        return 0;
    case KEY_SECONDS:
        if (!spec_settings_parse_double(&args->plan.seconds, arg) || !(args->plan.seconds > 0.0) ||
            args->plan.seconds > 1e6)
            spec_usage_fail(verb, "--seconds: '%s' is not a number of seconds up to 1000000", arg);
        return 0;
    case KEY_CLOCK:
        args->processor = strcmp(arg, "processor") == 0;
        if (!args->processor && strcmp(arg, "wall") != 0)
            spec_usage_fail(verb, "--clock: '%s' is not wall or processor", arg);
        return 0;
    case KEY_FIGURE: args->figure = arg; return 0;
    case KEY_FROM: args->from = arg; return 0;
    case ARGP_KEY_ARG:
        spec_usage_fail(verb, "'%s' is not an option; 'speclab bench --help' lists the options",
                        arg);
    default: return ARGP_ERR_UNKNOWN;
    }
}

static int ascending(const void *a, const void *b)
{
    return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

/* Parses a list of whole numbers low..high, sorts it and removes duplicates; returns how many
 * remain. */
static int whole_numbers(int *ret, int most, const char *option, const char *list, uint64_t low,
                         uint64_t high, const char *verb)
{
    spec_grid grid = {0};
    int n = 0, kept = 0;
    spec_options_numbers(&grid, verb, option, list);
    if (grid.axis[0].n > most) spec_usage_fail(verb, "--%s: more than %d values", option, most);
    for (; n < grid.axis[0].n; n++)
        ret[n] = (int)spec_options_count(verb, option, grid.axis[0].value[n], low, high);
    spec_grid_free(&grid);
    qsort(ret, (size_t)n, sizeof ret[0], ascending);
    for (int i = 0; i < n; i++)
        if (i == 0 || ret[i] != ret[kept - 1]) ret[kept++] = ret[i];
    return kept;
}

static void choose_widths(arguments *args, const char *list, const char *verb)
{
    args->plan.n_widths = whole_numbers(args->plan.width, SPEC_TIMING_WIDTHS_MAX, "widths", list, 1,
                                        SPEC_NODES_MAX + 1, verb);
}

/* Returns whether the model runs on a GPU, where wide passes are cheap. */
static bool is_on_card(const spec_model *opt_model)
{
    const spec_transformer *transformer = opt_model != NULL ? spec_transformer_of(opt_model) : NULL;
    return transformer != NULL && !spec_device_is_cpu(transformer->weights->backend);
}

/* Refuses options that only the ordinary measurement has. */
static void check_online(const arguments *args, const char *verb)
{
    const spec_timing_plan *plan = &args->plan;
    const struct {
        bool given;
        const char *option;
    } others[] = {{args->pair.ahead, "ahead"},
                  {args->opt_widths != NULL, "widths"},
                  {plan->turn > 0, "turn"},
                  {plan->seconds > 0.0, "seconds"},
                  {args->figure != NULL, "figure"},
                  {plan->n_K != 1, "K of several values"},
                  {plan->K[0] == 0, "K 0"}};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (others[i].given) spec_usage_fail(verb, "--online takes no --%s", others[i].option);
}

static void complete(arguments *args, const char *verb)
{
    spec_timing_plan *plan = &args->plan;
    spec_pair_options_complete(&args->pair, verb);
    plan->n_K = whole_numbers(plan->K, SPEC_TIMING_K_MAX, "K", args->K, 0, SPEC_K_MAX, verb);
    if (args->online.on) check_online(args, verb);
    if (plan->turn == 0) plan->turn = TURN;
    choose_widths(args, args->opt_widths != NULL ? args->opt_widths : "1:16", verb);
    plan->seed = args->common.seed;
    plan->clock = args->processor ? spec_clock_processor() : spec_clock_wall();
    if (args->processor && spec_thread_pool_size(args->common.context->pool) > 1)
        spec_usage_fail(
            verb, "--clock processor needs --threads 1, because it adds the times of all threads");
    plan->load = spec_machine_load_here();
    plan->opt_stop = &spec_stop;
    if (plan->seconds > 0.0 && !args->texts_given) plan->texts = SPEC_TIMING_TEXTS_MAX;
    spec_figure_option_check(args->figure, &args->common, verb);
}

/* Returns the command, as one line for the provenance. */
static char *command_text(int argc, char **argv)
{
    spec_memory_text made;
    if (!spec_memory_text_open(&made)) spec_usage_no_memory(argv[0]);
    FILE *out = made.out;
    fputs(argv[0], out);
    for (int i = 1; i < argc; i++) {
        fputc(' ', out);
        spec_escape_line(out, argv[i], strlen(argv[i]));
    }
    char *text = spec_memory_text_take(&made, NULL);
    if (text == NULL) spec_usage_no_memory(argv[0]);
    return text;
}

/* Prints on standard error the warning, and the advice unless a page on standard output has it. */
static int say_beside(const spec_timing_result *result, bool advise, const char *verb,
                      spec_error *error)
{
    char line[LINE_SIZE], *advice = NULL;
    spec_memory_text text = {.out = NULL};
    int status = GSL_SUCCESS;
    if (advise) {
        if (spec_memory_text_open(&text))
            status = spec_timing_advice_write(result, text.out, error);
        if ((advice = spec_memory_text_take(&text, NULL)) == NULL) status = spec_no_memory(error);
    }
    fflush(spec_output_standard()); /* the warning follows the page, also if both go to one file */
    if (status == GSL_SUCCESS && spec_timing_result_warning(line, sizeof line, result))
        spec_usage_say(verb, "%s", line);
    if (status == GSL_SUCCESS && advise) spec_escape_terminal(stderr, advice);
    free(advice);
    return status;
}

/* Writes a result as the options say; returns the exit code. */
static int show(const arguments *args, const spec_table *table, const char *name, const char *verb)
{
    const spec_options *common = &args->common;
    spec_error error = {{0}};
    spec_timing_result *result = malloc(sizeof *result);
    const bool for_people =
        common->format_given ? common->format == SPEC_FORMAT_TABLE : isatty(STDOUT_FILENO) != 0;
    const bool page = args->from != NULL || (common->output == NULL && for_people);
    int status = GSL_SUCCESS, code = SPEC_EXIT_HOLDS;
    if (result == NULL) SPEC_TRY(spec_no_memory(&error));
    SPEC_TRY(spec_timing_result_init(result, table, name, &error));
    if (page)
        SPEC_TRY(spec_timing_page_write(result, spec_output_standard(), &error));
    else if ((code = spec_options_show(table, common, verb)) != SPEC_EXIT_HOLDS) goto done;
    SPEC_TRY(say_beside(result, !page, verb, &error));
    if (args->figure != NULL)
        SPEC_TRY(spec_figure_draw_named("bench", common->output, args->figure, common->force, verb,
                                        &error));
done:
    free(result);
    if (status != GSL_SUCCESS) spec_usage_say(verb, "%s", error.text);
    return status == GSL_SUCCESS ? code : SPEC_EXIT_USAGE;
}

static int measure(arguments *args, const char *asked, const char *verb)
{
    spec_model *target = NULL, *draft = NULL;
    spec_timing_prompts prompts = {0};
    spec_timing timed = {0};
    spec_table table = {0};
    spec_timing_prediction *prediction = malloc(sizeof *prediction);
    spec_error error = {{0}};
    int status = GSL_SUCCESS, code = SPEC_EXIT_USAGE, K;
    spec_timing_plan *plan = &args->plan;
    double z;
    if (prediction == NULL) SPEC_TRY(spec_no_memory(&error));
    args->pair.draft_alone = true;
    args->pair.laws = 2 * (SPEC_COLUMNS_MAX -
                           1); /* single passes; then the passes of each K, also drafted ahead */
    for (int i = 0; i < plan->n_K; i++) args->pair.laws += (args->pair.ahead ? 3 : 1) * plan->K[i];
    SPEC_TRY(spec_pair_options_open(&target, &draft, &args->pair, &error));
    spec_pair_options_say_converted(target, "target", verb);
    spec_pair_options_say_converted(draft, "draft", verb);
    spec_pair_options_say_translated(target, draft, verb);
    for (int i = 0; i < plan->n_K; i++)
        SPEC_TRY(spec_pair_options_K(&plan->K[i], args->K_given, draft, &error));
    if (args->opt_widths == NULL && is_on_card(target)) choose_widths(args, "1:64", verb);
    if (args->prompts != NULL)
        SPEC_TRY(spec_timing_prompts_read(&prompts, args->prompts, target, args->context, &error));
    else
        SPEC_TRY(spec_timing_prompts_make(&prompts, target, plan->texts < 1000 ? plan->texts : 1000,
                                          args->context, plan->seed, &error));
    plan->decoder = spec_pair_options_decoder(&args->pair, target, draft);
    plan->one_session =
        is_on_card(target) ||
        is_on_card(draft); /* a GPU allocates memory at once, the host on first use */
    plan->prompts = &prompts;
    plan->opt_progress = spec_progress_reports_share;
    SPEC_TRY(spec_timing_init(&timed, plan, &error));
    spec_progress_clear();
    SPEC_TRY(spec_timing_predict(prediction, &timed, ERROR, RESAMPLES, &error));
    SPEC_TRY(spec_timing_report_table(&table, &timed, prediction, asked, &error));
    spec_assumed_say(&args->pair.assumed, verb);
    code = show(args, &table, "the result", verb);
    if (code == SPEC_EXIT_HOLDS && spec_timing_report_contradicts(prediction, &K, &z)) {
        spec_usage_say(verb,
                       "K = %d: the accepted tokens contradict their acceptance probabilities, by "
                       "%.3g standard errors",
                       K, z);
        code = SPEC_EXIT_FAILS;
    }
done:
    spec_progress_clear();
    if (status != GSL_SUCCESS) spec_usage_say(verb, "%s", error.text);
    spec_table_free(&table);
    free(prediction);
    spec_timing_free(&timed);
    spec_timing_prompts_free(&prompts);
    spec_model_close(draft);
    spec_model_close(target);
    return code;
}

static int measure_online(arguments *args, const char *asked, const char *verb)
{
    return spec_bench_online_run(
        &args->online,
        &(spec_bench_online_request){.common = &args->common,
                                     .pair = &args->pair,
                                     .opt_prompts = args->prompts,
                                     .asked = asked,
                                     .context = args->context,
                                     .texts = args->texts_given ? args->plan.texts : 0,
                                     .tokens = args->plan.tokens,
                                     .K = args->plan.K[0],
                                     .K_given = args->K_given,
                                     .clock = args->plan.clock},
        verb);
}

/* Shows the result of an earlier run. */
static int show_again(const arguments *args, int argc, char **argv)
{
    spec_table table;
    spec_error error;
    if (argc > 3 || (argc == 3 && strchr(argv[1], '=') != NULL))
        spec_usage_fail(argv[0], "--from shows a finished measurement; leave out the other "
                                 "options");
    if (spec_table_read_csv(&table, args->from, NULL, &error) != GSL_SUCCESS)
        spec_usage_fail(argv[0], "%s", error.text);
    const int code = show(args, &table, args->from, argv[0]);
    spec_table_free(&table);
    return code;
}

int spec_verb_bench(spec_context *context, int argc, char **argv)
{
    static const struct argp_child children[] = {
        {&spec_pair_options_argp, 0, NULL, 0},
        {&spec_bench_online_argp, 0, NULL, 0},
        {&spec_options_argp, 0, NULL, 0},
        {0}};
    static const struct argp argp = {
        options_table,
        parse,
        NULL,
        "measure speculative decoding on this machine, and compare it with the prediction\vPlain "
        "decoding and every K take turns on the same texts, so that other load on the machine "
        "affects all of them equally; passes of single models are timed in between. speedup is "
        "tokens per second over those of plain decoding, with a 95 % interval for all K together, "
        "by resampling whole texts. speedup_predicted is Theorem 3.8 of Leviathan et al. at the "
        "measured c, with alpha_tested_pooled for alpha; speedup_costed also takes the measured "
        "times of passes of K + 1 tokens; gap_* are the factors between prediction and "
        "measurement. The roofline of each transformer's device is measured in the same run. For a "
        "mixture of experts the table of passes has the distinct experts that they read in a "
        "layer, and the number expected if tokens chose independently.\n"
        "\n"
        "--ahead measures each K twice: normally, and with the next chain drafted while the target "
        "verifies this one. That chain guesses that all tokens are accepted and that the bonus "
        "token is the draft's most probable one. hit is the share of rounds whose chain was "
        "drafted ahead. This is faster only if both models compute at the same time: on two "
        "devices, or both on a GPU.\n"
        "\n"
        "--online serves the prompts in their order with the draft unchanged and with the draft "
        "learning from what the target verifies, and compares both by tenths of the run. "
        "speed_gain includes the time of learning; the text keeps the target's distribution.\n"
        "\n"
        "Below the table, bench says what limits the speed-up and what to try; with -o this goes "
        "to standard error, and --from shows it again. On a busy machine a warning says what to "
        "do. bench withholds impossible speed-ups (above tokens per round) and ratios that are "
        "uncertain by a factor of two.\n"
        "\n"
        "Times differ from run to run; tokens and acceptance depend on --seed alone, for any "
        "number of --threads. The exit status is 1 if the accepted tokens contradict their "
        "acceptance probabilities by more than 5 standard errors; times do not affect it.\n"
        "\n"
        "  $ speclab bench --target big.gguf --draft small.gguf --K 0:10\n"
        "  $ speclab bench --target 'random?type=q8_0' --draft 'layers?exit=4'\n"
        "  $ speclab bench --target 'big.gguf?device=gpu' --draft small.gguf --ahead\n"
        "  $ speclab bench --online --target big.gguf --draft draft.gguf --prompts prompts.txt\n"
        "  $ speclab bench --from bench.csv",
        children,
        NULL,
        NULL};
    arguments args = {.common = SPEC_OPTIONS_DEFAULT(context),
                      .pair = SPEC_PAIR_OPTIONS_DEFAULT(context),
                      .K = DEFAULT_K,
                      .context = 64,
                      .plan = {.texts = 16, .tokens = 64}};
    char *asked = command_text(argc, argv);
    spec_usage_parse(&argp, argc, argv, &args);
    if (args.from != NULL) {
        free(asked);
        return show_again(&args, argc, argv);
    }
    complete(&args, argv[0]);
    const int code = args.online.on ? measure_online(&args, asked, argv[0])
                                    : measure(&args, asked, argv[0]);
    spec_pair_options_free(&args.pair);
    free(asked);
    return code;
}
