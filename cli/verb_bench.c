/* SPDX-License-Identifier: GPL-3.0-or-later */
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
#include "models/model_open.h"
#include "models/transformer/engine/device.h"
#include "models/transformer/engine/transformer.h"
#include "tools/bench/timing_advice.h"
#include "tools/bench/timing_online_report.h"
#include "tools/bench/timing_page.h"
#include "tools/bench/timing_report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ERROR 0.05 /* one minus the confidence of intervals */
enum { RESAMPLES = 2000, TOKENS_MAX = 1 << 20, LINE_SIZE = 1024 };

typedef struct {
    spec_options common;
    spec_pair_options pair;
    spec_timing_plan plan;
    spec_draft_learner_plan learner;
    spec_online_positions positions;
    const char *K, *widths, *prompts, *figure, *from;
    int context, clock;
    bool online;
} arguments;

#define FIELD(member) SPEC_FIELD(arguments, member)
static const char *const clocks[] = {"wall", "processor", NULL};
static const spec_field fields[] = {
    {"K", 'K', "LIST", "draft tokens per round: 5, or 0:10, or 2,4,8", FIELD(K), .fallback = "5"},
    {"widths", 0, "LIST", "also time passes of these numbers of tokens (1:16; 1:64 on a GPU)",
     FIELD(widths)},
    {.help = "The texts:", .group = 2},
    {"prompts", 0, "FILE",
     "prompts, separated by blank lines (the model's own, or a few that it generates; random "
     "tokens without a tokenizer)",
     FIELD(prompts), .group = 2},
    {"context", 0, "N", "largest prompt length in tokens; random prompts have exactly N",
     FIELD(context), .fallback = "64", .low = 1, .high = SPEC_TIMING_PROMPT_TOKENS, .group = 2},
    {"texts", 0, "N", "texts per K and for plain decoding; they take the prompts in turn",
     FIELD(plan.texts), .fallback = "16", .low = 2, .high = SPEC_TIMING_TEXTS_MAX, .group = 2},
    {"tokens", 'n', "N", "tokens of a text", FIELD(plan.tokens), .fallback = "64", .low = 1,
     .high = TOKENS_MAX, .group = 2},
    {"turn", 0, "N", "tokens that one K decodes before the next one takes its turn",
     FIELD(plan.turn), .fallback = "32", .low = 1, .high = TOKENS_MAX, .group = 2},
    {"seconds", 0, "S", "time limit per K instead of --texts; two texts are always run",
     FIELD(plan.seconds), .low = 0, .above = true, .high = 1e6, .group = 2},
    {"clock", 0, "NAME",
     "wall, or processor: the processor time of this process, on one thread, for a busy machine",
     FIELD(clock), .choice = clocks, .fallback = "wall", .group = 2},
    {.help = "A draft that learns while it serves:", .group = 4},
    {"online", 0, NULL,
     "let the draft learn from what the target verifies, and compare it with the same draft "
     "unchanged",
     FIELD(online), .group = 4},
    {"positions", 0, "WHERE",
     "learn from the target's rows at all verified positions, or only at rejected ones",
     FIELD(positions), .choice = spec_online_positions_names, .fallback = "all", .group = 4},
    {"loss", 0, "LOSS", "loss that it minimises: ce, fkl, rkl, jsd, tv, nla or lk",
     FIELD(learner.loss), .choice = spec_losses_names, .fallback = "jsd", .group = 4},
    {"rate", 0, "X", "learning rate of its steps", FIELD(learner.rate), .fallback = "0.001",
     .low = 0, .above = true, .high = 1, .group = 4},
    {.help = "The result:", .group = 5},
    {"from", 0, "FILE", "show the result that 'bench -o FILE.csv' wrote; takes no other option",
     FIELD(from), .group = 5},
    {"figure", 0, "FILE", SPEC_FIGURE_OPTION_HELP, FIELD(figure), .group = 5},
    {0},
};
static const spec_field_relation relations[] = {
    {"positions loss rate", true, "online", NULL},
    {"online", false, "ahead widths turn seconds figure", NULL},
    {0},
};

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

static void complete(arguments *args, const char *verb)
{
    spec_timing_plan *plan = &args->plan;
    spec_pair_options_complete(&args->pair, verb);
    plan->n_K = whole_numbers(plan->K, SPEC_TIMING_K_MAX, "K", args->K, 0, SPEC_K_MAX, verb);
    if (args->online && (plan->n_K > 1 || plan->K[0] == 0))
        spec_usage_fail(verb, "--online needs one --K above 0");
    choose_widths(args, args->widths != NULL ? args->widths : "1:16", verb);
    plan->seed = args->common.seed;
    plan->clock = args->clock > 0 ? spec_clock_processor() : spec_clock_wall();
    if (args->clock > 0 && spec_thread_pool_size(args->common.context->pool) > 1)
        spec_usage_fail(
            verb, "--clock processor needs --threads 1, because it adds the times of all threads");
    plan->load = spec_machine_load_here();
    plan->opt_stop = &spec_stop;
    if (plan->seconds > 0.0 && !spec_fields_gave("texts")) plan->texts = SPEC_TIMING_TEXTS_MAX;
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

/* Prints the warning on standard error. Prints the advice there, too, unless it is part of the page
 * on standard output. */
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
        SPEC_TRY(spec_pair_options_K(&plan->K[i], spec_fields_gave("K"), draft, &error));
    if (args->widths == NULL && is_on_card(target)) choose_widths(args, "1:64", verb);
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

/* ---- a draft that learns ------------------------------------------------------------------- */

enum { WINDOWS = 4, PLACES_MAX = 256, TEXTS = 64 }; /* TEXTS: without a file of prompts */

typedef struct {
    spec_model *target, *draft, *learning;
    spec_timing_prompts prompts;
    spec_timing_online timed;
    spec_table table;
} run;

/* Returns the positions of a window. It holds a beginning of text, a prompt, the text and the end
 * of its last draft, if the draft's context has room. */
static int places_of(const run *r, const spec_timing_online_plan *plan)
{
    const int window = r->draft->window;
    const size_t most = window > 0 && window < PLACES_MAX ? (size_t)window : PLACES_MAX,
                 wanted = spec_timing_prompts_longest(&r->prompts) + (size_t)plan->tokens +
                          (size_t)plan->decoder.K + 1;
    return (int)(wanted < most ? wanted : most);
}

static int open_run(run *r, const arguments *args, spec_timing_online_plan *plan, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_pair_options *pair = &args->pair;
    const bool counted = spec_fields_gave("texts");
    if (pair->draft == NULL)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "--online needs --draft, the model that learns"));
    SPEC_TRY(spec_pair_options_open(&r->target, &r->draft, pair, error));
    plan->decoder = spec_pair_options_decoder(pair, r->target, r->draft);
    plan->decoder.K = args->plan.K[0];
    plan->decoder.clock = args->plan.clock;
    SPEC_TRY(spec_pair_options_K(&plan->decoder.K, spec_fields_gave("K"), r->draft, error));
    SPEC_TRY(spec_model_open(&r->learning, pair->draft, r->target, pair->context, error));
    plan->learning = r->learning;
    plan->texts = counted ? args->plan.texts : TEXTS;
    if (args->prompts != NULL)
        SPEC_TRY(
            spec_timing_prompts_read(&r->prompts, args->prompts, r->target, args->context, error));
    else
        SPEC_TRY(spec_timing_prompts_make(&r->prompts, r->target, plan->texts, args->context,
                                          args->plan.seed, error));
    if (!counted && args->prompts != NULL) plan->texts = r->prompts.n;
    plan->prompts = &r->prompts;
    plan->online.learner.places = places_of(r, plan);
done:
    return status;
}

static void say_updates(const run *r, const char *verb)
{
    const spec_timing_online *timed = &r->timed;
    const spec_draft_learner_plan *learner = &timed->plan.online.learner;
    spec_usage_say(verb, "the draft learnt in %ld updates, each from %d windows of %d tokens",
                   timed->updates, learner->texts, learner->places);
}

static int measure_online(arguments *args, const char *asked, const char *verb)
{
    int status = GSL_SUCCESS, code = SPEC_EXIT_USAGE;
    spec_error error = {{0}};
    run r = {0};
    spec_timing_online_plan plan = {
        .online = {args->learner, args->positions},
        .tokens = args->plan.tokens,
        .seed = args->common.seed,
        .opt_pool = args->common.context->pool,
        .opt_stop = &spec_stop,
        .opt_progress = spec_progress_reports_share,
    };
    plan.online.learner.texts = WINDOWS;
    SPEC_TRY(open_run(&r, args, &plan, &error));
    SPEC_TRY(spec_timing_online_init(&r.timed, &plan, &error));
    spec_progress_clear();
    SPEC_TRY(spec_timing_online_report_table(&r.table, &r.timed, asked, &error));
    spec_assumed_say(&args->pair.assumed, verb);
    code = spec_options_show(&r.table, &args->common, verb);
    say_updates(&r, verb);
done:
    spec_progress_clear();
    if (status != GSL_SUCCESS) spec_usage_say(verb, "%s", error.text);
    spec_table_free(&r.table);
    spec_timing_online_free(&r.timed);
    spec_timing_prompts_free(&r.prompts);
    spec_model_close(r.learning);
    spec_model_close(r.draft);
    spec_model_close(r.target);
    return code;
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

const spec_fields spec_verb_bench_options = {
    .fields = fields,
    .relations = relations,
    .doc =
    "measure speculative decoding on this machine, and compare it with the prediction\vPlain "
    "decoding and every K take turns on the same texts, so that other load on the machine affects "
    "all of them equally; passes of single models are timed in between. speedup is tokens per "
    "second relative to plain decoding, with a 95 % interval that holds for all K together, from "
    "resampling whole texts. speedup_predicted is Theorem 3.8 of Leviathan et al. at the measured "
    "c, with alpha_tested_pooled as alpha; speedup_costed also takes the measured times of passes "
    "of K + 1 tokens, and how much longer they took in rounds of the nearest other K; gap_* are "
    "the factors between prediction and measurement. The roofline of each transformer's device is "
    "measured in the same run. For a mixture of experts the table of passes shows how many "
    "distinct experts a pass reads in a layer, and how many it would read on average if tokens "
    "chose independently.\n"
    "\n"
    "--ahead measures each K twice: normally, and with the next chain drafted while the target "
    "verifies this one. That chain assumes that all tokens are accepted and that the bonus token "
    "is the draft's most probable one. hit is the share of rounds whose chain was drafted ahead. "
    "This is faster only if both models compute at the same time: on two devices, or both on a "
    "GPU.\n"
    "\n"
    "--online serves the prompts in order, both with the draft unchanged and with the draft "
    "learning from what the target verifies, and compares the two in each tenth of the run. "
    "speed_gain includes the time of learning; the text keeps the target's distribution.\n"
    "\n"
    "Below the table, bench says what limits the speed-up and what to try; with -o this goes to "
    "standard error, and --from shows it again. On a busy machine a warning says what to do. "
    "bench withholds impossible speed-ups (above tokens per round) and ratios that are uncertain "
    "by a factor of two.\n"
    "\n"
    "Times differ from run to run; tokens and acceptance depend on --seed alone, for any number "
    "of --threads. The exit status is 1 if the accepted tokens contradict their acceptance "
    "probabilities by more than 5 standard errors; times do not affect it.\n"
    "\n"
    "  $ speclab bench --target big.gguf --draft small.gguf --K 0:10\n"
    "  $ speclab bench --target 'random?type=q8_0' --draft 'layers?exit=4'\n"
    "  $ speclab bench --target 'big.gguf?device=gpu' --draft small.gguf --ahead\n"
    "  $ speclab bench --online --target big.gguf --draft draft.gguf --prompts prompts.txt\n"
    "  $ speclab bench --from bench.csv",
    .also = spec_pair_options_fields,
    .also_at = offsetof(arguments, pair),
};

int spec_verb_bench(spec_context *context, int argc, char **argv)
{
    arguments args = {.common = SPEC_OPTIONS_DEFAULT(context), .pair = {.context = context}};
    char *asked = command_text(argc, argv);
    spec_fields_parse(&args, &args.common, &spec_verb_bench_options, argc, argv);
    if (args.from != NULL) {
        free(asked);
        return show_again(&args, argc, argv);
    }
    complete(&args, argv[0]);
    const int code =
        args.online ? measure_online(&args, asked, argv[0]) : measure(&args, asked, argv[0]);
    spec_pair_options_free(&args.pair);
    free(asked);
    return code;
}
