#include "cli/figures/figure.h"
#include "cli/pair_options.h"
#include "cli/verb.h"

#include "cli/options.h"
#include "timing/timed_page.h"
#include "timing/timed_report.h"
#include "models/transformer/engine/transformer.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ERROR 0.05 /* of intervals */
enum { RESAMPLES = 2000, TOKENS_MAX = 1 << 20 };
enum { KEY_PROMPTS = 0xa001, KEY_CONTEXT, KEY_TEXTS, KEY_SECONDS, KEY_WIDTHS, KEY_TURN, KEY_CLOCK, KEY_FIGURE };

static const struct argp_option options_table[] = {
    {"K", 'K', "LIST", 0, "draft tokens a round: 5, or 0:10, or 2,4,8 (5)", 1},
    {"widths", KEY_WIDTHS, "LIST", 0, "passes of so many tokens are timed, too (1:16; 1:64 on a GPU)", 1},
    {0, 0, 0, 0, "On what:", 2},
    {"prompts", KEY_PROMPTS, "FILE", 0,
     "texts to go on from, with blank lines between (the model's own, or a few that it writes; random tokens where it has "
     "no words)", 2},
    {"context", KEY_CONTEXT, "N", 0,
     "tokens of a prompt at most; of random ones just as many (64)", 2},
    {"texts", KEY_TEXTS, "N", 0, "texts in each way, which use the prompts in turn (16)", 2},
    {"tokens", 'n', "N", 0, "of a text (64)", 2},
    {"turn", KEY_TURN, "N", 0, "tokens after which it is another way's turn (32)", 2},
    {"seconds", KEY_SECONDS, "S", 0, "for each K: as many texts as there is time for (as --texts says)", 2},
    {"clock", KEY_CLOCK, "NAME", 0,
     "wall, or processor: what this process computes, on one thread, where the machine has other work (wall)", 2},
    {0, 0, 0, 0, "The result:", 4},
    {"figure", KEY_FIGURE, "FILE", 0, "draw it: .svg, .png or .pdf; needs -o FILE.csv", 4},
    {0},
};

typedef struct {
    spec_options common;
    spec_pair_options pair;
    spec_timed_plan plan;
    const char *K, *opt_widths, *prompts, *figure;
    int context;
    bool texts_given, processor;
} arguments;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *args = state->input;
    const char *verb = state->name;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->pair;
        state->child_inputs[1] = &args->common;
        return 0;
    case 'K': args->K = arg; return 0;
    case KEY_WIDTHS: args->opt_widths = arg; return 0;
    case KEY_PROMPTS: args->prompts = arg; return 0;
    case KEY_CONTEXT:
        args->context = (int)spec_options_count(verb, "context", arg, 1, SPEC_TIMED_PROMPT_TOKENS);
        return 0;
    case KEY_TEXTS:
        args->plan.texts = (int)spec_options_count(verb, "texts", arg, 2, SPEC_TIMED_TEXTS_MAX);
        args->texts_given = true;
        return 0;
    case 'n': args->plan.tokens = (int)spec_options_count(verb, "tokens", arg, 1, TOKENS_MAX); return 0;
    case KEY_TURN: args->plan.turn = (int)spec_options_count(verb, "turn", arg, 1, TOKENS_MAX); return 0;
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
    case ARGP_KEY_ARG: spec_usage_fail(verb, "what is '%s'? every argument is an option; see --help", arg);
    default: return ARGP_ERR_UNKNOWN;
    }
}

static int ascending(const void *a, const void *b)
{
    return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

/* Whole numbers low..high from a list, ascending, each once; returns how many. */
static int whole_numbers(int *ret, int most, const char *option, const char *list, uint64_t low,
                         uint64_t high, const char *verb)
{
    spec_grid grid = {0};
    int n = 0, kept = 0;
    spec_options_numbers(&grid, verb, option, list);
    if (grid.axis[0].n > most) spec_usage_fail(verb, "--%s: more than %d values", option, most);
    for (; n < grid.axis[0].n; n++) ret[n] = (int)spec_options_count(verb, option, grid.axis[0].value[n], low, high);
    spec_grid_free(&grid);
    qsort(ret, (size_t)n, sizeof ret[0], ascending);
    for (int i = 0; i < n; i++)
        if (i == 0 || ret[i] != ret[kept - 1]) ret[kept++] = ret[i];
    return kept;
}

static void choose_widths(arguments *args, const char *list, const char *verb)
{
    args->plan.n_widths = whole_numbers(args->plan.width, SPEC_TIMED_WIDTHS_MAX, "widths", list, 1, SPEC_NODES_MAX + 1,
                                        verb);
}

/* Where wide passes are cheap: on anything but the processor. */
static bool is_on_card(const spec_model *opt_model)
{
    const spec_transformer *transformer = opt_model != NULL ? spec_transformer_of(opt_model) : NULL;
    return transformer != NULL && transformer->weights->backend != &spec_backend_cpu;
}

static void complete(arguments *args, const char *verb)
{
    spec_timed_plan *plan = &args->plan;
    spec_error error = {{0}};
    spec_pair_options_complete(&args->pair, verb);
    plan->n_K = whole_numbers(plan->K, SPEC_TIMED_K_MAX, "K", args->K, 0, SPEC_K_MAX, verb);
    choose_widths(args, args->opt_widths != NULL ? args->opt_widths : "1:16", verb);
    plan->seed = args->common.seed;
    plan->clock = args->processor ? spec_clock_processor() : spec_clock_wall();
    if (args->processor && omp_get_max_threads() > 1)
        spec_usage_fail(verb, "--clock processor adds the times of all threads up: it takes --threads 1");
    plan->opt_stop = &spec_options_stop;
    if (plan->seconds > 0.0 && !args->texts_given) plan->texts = SPEC_TIMED_TEXTS_MAX;
    const char *output = args->common.output, *ending = output != NULL ? strrchr(output, '.') : NULL;
    if (args->figure != NULL && spec_figure_check_ending(args->figure, &error) != GSL_SUCCESS)
        spec_usage_fail(verb, "--figure %s", error.text);
    if (args->figure != NULL && (ending == NULL || strcmp(ending, ".csv") != 0))
        spec_usage_fail(verb, "--figure is drawn from the result: give -o FILE.csv as well");
    if (args->figure != NULL && args->common.format_given && args->common.format != SPEC_FORMAT_CSV)
        spec_usage_fail(verb, "--figure is drawn from a result in csv: leave --format out");
    if (output != NULL && spec_figure_check_writable(output, &error) != GSL_SUCCESS)
        spec_usage_fail(verb, "%s", error.text);
}

/* The command, as one line for the provenance. */
static char *command_text(int argc, char **argv)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) spec_usage_fail(argv[0], "out of memory");
    fputs(argv[0], out);
    for (int i = 1; i < argc; i++) {
        fputc(' ', out);
        for (const char *c = argv[i]; *c != '\0'; c++) fputc((unsigned char)*c < ' ' ? '?' : *c, out);
    }
    if (fclose(out) != 0) spec_usage_fail(argv[0], "out of memory");
    return text;
}

/* A bar on a terminal, once the work has taken a second. */
static void show_progress(void *context, double share)
{
    const spec_clock wall = spec_clock_wall();
    const double elapsed = spec_clock_read(&wall) - *(const double *)context;
    char bar[31];
    if (!isatty(STDERR_FILENO) || elapsed < 1.0) return;
    for (int i = 0; i < 30; i++) bar[i] = i < (int)(30.0 * share) ? '#' : '.';
    bar[30] = '\0';
    fprintf(stderr, "\r\033[K[%s] %.0f s left", bar, elapsed * (1.0 - share) / share);
    if (share >= 1.0) fputs("\r\033[K", stderr);
    fflush(stderr);
}

static int show(const arguments *args, const spec_timed *timed, const spec_timed_prediction *prediction,
                const char *asked, const char *verb)
{
    const spec_options *common = &args->common;
    spec_table table = {0};
    spec_error error = {{0}};
    int code = SPEC_EXIT_USAGE, K;
    double z;
    const bool page = common->format_given ? common->format == SPEC_FORMAT_TABLE
                                           : common->output == NULL && isatty(STDOUT_FILENO);
    if (page && common->output == NULL) {
        if (spec_timed_page_write(timed, prediction, stdout, &error) == GSL_SUCCESS) code = SPEC_EXIT_HOLDS;
        else spec_usage_say(verb, "%s", error.text);
    } else if (spec_timed_report_table(&table, timed, prediction, asked, &error) == GSL_SUCCESS) {
        code = spec_options_show(&table, common, verb);
    } else {
        spec_usage_say(verb, "%s", error.text);
    }
    spec_table_free(&table);
    if (code == SPEC_EXIT_HOLDS && args->figure != NULL &&
        spec_figure_draw("bench", common->output, args->figure, &error) != GSL_SUCCESS) {
        spec_usage_say(verb, "%s", error.text);
        code = SPEC_EXIT_USAGE;
    }
    if (code != SPEC_EXIT_HOLDS || !spec_timed_report_contradicts(prediction, &K, &z)) return code;
    spec_usage_say(verb, "K = %d: what was accepted contradicts its chances, by %.3g standard errors", K, z);
    return SPEC_EXIT_FAILS;
}

static int measure(arguments *args, const char *asked, const char *verb)
{
    spec_model *target = NULL, *draft = NULL;
    spec_timed_prompts prompts = {0};
    spec_timed timed = {0};
    spec_timed_prediction *prediction = malloc(sizeof *prediction);
    spec_error error = {{0}};
    int status = GSL_SUCCESS, code = SPEC_EXIT_USAGE;
    spec_timed_plan *plan = &args->plan;
    const spec_clock wall = spec_clock_wall();
    double begun = spec_clock_read(&wall);
    if (prediction == NULL) SPEC_TRY(spec_fail(&error, GSL_ENOMEM, "out of memory"));
    args->pair.draft_alone = true;
    args->pair.laws = 2 * (SPEC_COLUMNS_MAX - 1); /* of single passes; then those of each K, drafted ahead too */
    for (int i = 0; i < plan->n_K; i++) args->pair.laws += (args->pair.ahead ? 3 : 1) * plan->K[i];
    SPEC_TRY(spec_pair_options_open(&target, &draft, &args->pair, &error));
    if (args->opt_widths == NULL && is_on_card(target)) choose_widths(args, "1:64", verb);
    if (args->prompts != NULL)
        SPEC_TRY(spec_timed_prompts_read(&prompts, args->prompts, target, args->context, &error));
    else
        SPEC_TRY(spec_timed_prompts_make(&prompts, target, plan->texts < 1000 ? plan->texts : 1000, args->context,
                                         plan->seed, &error));
    plan->decoder = spec_pair_options_decoder(&args->pair, target, draft);
    plan->one_session = is_on_card(target) || is_on_card(draft); /* which gives memory at once, the host in use */
    plan->prompts = &prompts;
    plan->opt_progress = show_progress;
    plan->context = &begun;
    spec_options_catch_interrupts();
    SPEC_TRY(spec_timed_init(&timed, plan, &error));
    SPEC_TRY(spec_timed_predict(prediction, &timed, ERROR, RESAMPLES, &error));
    code = show(args, &timed, prediction, asked, verb);
done:
    if (status != GSL_SUCCESS) {
        spec_usage_say(verb, "%s", error.text);
        if (spec_options_stop) code = SPEC_EXIT_INTERRUPTED;
    }
    free(prediction);
    spec_timed_free(&timed);
    spec_timed_prompts_free(&prompts);
    spec_model_close(draft);
    spec_model_close(target);
    return code;
}

int spec_verb_bench(int argc, char **argv)
{
    static const struct argp_child children[] = {
        {&spec_pair_options_argp, 0, NULL, 0}, {&spec_options_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        options_table, parse, NULL,
        "measured speculation on this machine, beside the prediction\v"
        "Texts are decoded plainly and with each K, by turns, so that what else the machine does meets all alike; in "
        "between, passes of single models are timed. speedup is tokens a second over those of plain decoding, with a "
        "95 % interval by resampling whole texts. speedup_predicted is Theorem 3.8 of Leviathan et al. with the alpha "
        "and the c that were measured; speedup_costed takes what passes of K + 1 tokens cost; gap_* are the factors "
        "that lie between. What the device of a transformer can do at best is measured in the same run, and stands "
        "beside its passes.\n\n"
        "--ahead measures each K in two ways: as ever, and with the next chain drafted while the target verifies this "
        "one, after the guess that all is accepted and the bonus token is the draft's most probable one. hit is the "
        "share of rounds that found their chain so. It gains where the two run at the same time: the draft on another device "
        "than the target, or both on a GPU.\n\n"
        "Times differ from run to run; tokens and acceptance follow from --seed, for any number of --threads. The exit "
        "code is 1 where what was accepted contradicts its own chances, by more than 5 standard errors: never for a "
        "time.\n\n"
        "  $ speclab bench --target big.gguf --draft small.gguf --K 0:10\n"
        "  $ speclab bench --target 'random?type=q8_0' --draft 'layers?exit=4'\n"
        "  $ speclab bench --target 'big.gguf?device=gpu' --draft small.gguf --ahead",
        children, NULL, NULL};
    arguments args = {.common = SPEC_OPTIONS_DEFAULT, .pair = SPEC_PAIR_OPTIONS_DEFAULT, .K = "5", .context = 64,
                      .plan = {.texts = 16, .tokens = 64, .turn = 32}};
    char *asked = command_text(argc, argv);
    spec_usage_parse(&argp, argc, argv, &args);
    if (args.common.threads > 0) omp_set_num_threads(args.common.threads);
    complete(&args, argv[0]);
    const int code = measure(&args, asked, argv[0]);
    spec_pair_options_free(&args.pair);
    free(asked);
    return code;
}
