/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/figure_option.h"
#include "cli/grid_verb.h"
#include "cli/process_option.h"
#include "cli/serve_advice.h"
#include "cli/verb.h"
#include "sim/serving/requests/request_trace.h"
#include "sim/serving/step_cost.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

enum {
    KEY_RATE = 0x2001,
    KEY_SLOTS,
    KEY_TRACE,
    KEY_SPEED,
    KEY_ARRIVALS,
    KEY_PROMPT,
    KEY_OUTPUT,
    KEY_SPREAD,
    KEY_CORRELATION,
    KEY_ACCEPTED,
    KEY_PROCESS,
    KEY_COST,
    KEY_DRAFT_COST,
    KEY_PLACE,
    KEY_DRAFT_CACHE,
    KEY_LENGTHS,
    KEY_BATCH,
    KEY_BUDGET,
    KEY_CHUNK,
    KEY_BLOCKS,
    KEY_BLOCK,
    KEY_MEMORY,
    KEY_KV_BYTES,
    KEY_SLO,
    KEY_REQUESTS,
    KEY_WARM,
    KEY_END,
    KEY_FIGURE
};

/* With & between keys: results in CSV need no quotes. */
static const char default_cost[] = "affine?step=7.1ms&token=21us&kv=39ns",
                  default_draft_cost[] = "affine?round=2.1ms", default_alpha[] = "0.8",
                  default_K[] = "0,1,3,5";

static const struct argp_option options_table[] = {
    {"alpha", 'a', "LIST", 0, "acceptance rates in [0,1] (0.8)", 1},
    {"K", 'K', "LIST", 0, "draft lengths to compare (0,1,3,5)", 1},
    {"lengths", KEY_LENGTHS, "LIST", 0,
     "who chooses lengths: fixed (each K), goodput, ...; see 'speclab list lengths' (fixed)", 1},
    {0, 0, 0, 0, "Load, one of:", 2},
    {"rate", KEY_RATE, "LIST", 0, "requests per second, which arrive at random", 2},
    {"trace", KEY_TRACE, "FILE", 0,
     "read the requests from a CSV or from JSON lines; with --rate, only their lengths", 2},
    {"slots", KEY_SLOTS, "LIST", 0, "a closed loop: N requests are always in the system", 2},
    {0, 0, 0, 0, "Requests:", 3},
    {"speed", KEY_SPEED, "LIST", 0, "replay the trace X times faster (1)", 3},
    {"arrivals", KEY_ARRIVALS, "LIST", 0, "poisson, even or gamma?cv=X (poisson)", 3},
    {"prompt", KEY_PROMPT, "LIST", 0,
     "tokens of a prompt, or a distribution: lognormal?mean=512&sigma=1, geometric?mean=512, ... "
     "(512)",
     3},
    {"output", KEY_OUTPUT, "LIST", 0,
     "tokens of an output, or a distribution (256); the output "
     "file is -o",
     3},
    {"spread", KEY_SPREAD, "LIST", 0,
     "how alpha varies over requests: one (not at all), beta?concentration=X or two?spread=X "
     "(one)",
     3},
    {"rounds-correlation", KEY_CORRELATION, "LIST", 0,
     "chance that a round is as lucky as the one before (0)", 3},
    {"accepted", KEY_ACCEPTED, "FILE", 0, "measured accepted lengths, instead of alpha", 3},
    {"process", KEY_PROCESS, "SPEC", 0,
     "acceptance by depth or context, instead of alpha: profile:FILE of 'advise --profile', "
     "rates?of=0.8/0.5 or context?of=0.8@0/0.5@16000 (iid)",
     3},
    {0, 0, 0, 0, "Engine:", 4},
    {"cost", KEY_COST, "SPEC", 0,
     "time of a step: affine:step=T,token=T,kv=T, roofline:card=H100,parameters=8B,... "
     "('speclab list cards'), fit:FILE of a few measured times or table:FILE "
     "(affine:step=7.1ms,token=21us,kv=39ns, with a draft of "
     "round=2.1ms)",
     4},
    {"draft-cost", KEY_DRAFT_COST, "SPEC", 0,
     "time to draft: round=T,pass=T,token=T, roofline:..., fit:FILE or table:FILE (none)", 4},
    {"place", KEY_PLACE, "LIST", 0,
     "where the draft runs: same (device), separate, ahead?guess=X&miss=wait|ride or halves "
     "(same)",
     4},
    {"draft-cache", KEY_DRAFT_CACHE, "LIST", 0,
     "how the draft's own KV cache is filled: free, fed with every token, refilled when drafting "
     "resumes, or dropped where nothing is drafted (free)",
     4},
    {"batch", KEY_BATCH, "LIST", 0,
     "largest number of running requests; 0: no limit, here and "
     "below (0)",
     4},
    {"budget", KEY_BUDGET, "LIST", 0, "largest number of tokens in a step (0)", 4},
    {"chunk", KEY_CHUNK, "LIST", 0, "largest number of tokens of a prompt in a step (0)", 4},
    {"blocks", KEY_BLOCKS, "LIST", 0, "KV blocks of the device (0)", 4},
    {"block", KEY_BLOCK, "N", 0, "tokens in a KV block (16)", 4},
    {"memory", KEY_MEMORY, "BYTES", 0, "memory of all KV blocks, instead of --blocks: 40GB", 4},
    {"kv-bytes", KEY_KV_BYTES, "BYTES", 0,
     "size of a token in the KV cache: 128KiB (kv_bytes of --cost)", 4},
    {0, 0, 0, 0, "Results:", 5},
    {"slo", KEY_SLO, "SPEC", 0, "objectives: ttft=500ms,tpot=50ms,latency=20s, any of them", 5},
    {"requests", KEY_REQUESTS, "N", 0,
     "number of measured requests in each of 64 replications "
     "(2000)",
     5},
    {"warm", KEY_WARM, "N", 0, "number of warm-up requests before them (chosen by the load)", 5},
    {"figure", KEY_FIGURE, "FILE", 0, SPEC_FIGURE_OPTION_HELP, 5},
    {0},
};

typedef struct {
    spec_options common;
    const char *alpha, *K, *figure;
    const char *value[KEY_END - KEY_RATE]; /* of the other options, by key */
} arguments;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->common; return 0;
    case 'a': args->alpha = arg; return 0;
    case 'K': args->K = arg; return 0;
    case KEY_FIGURE: args->figure = arg; return 0;
    case KEY_OUTPUT:
        if (strchr(arg, '.') != NULL && strchr(arg, '?') == NULL)
            spec_usage_fail(state->name, "--output: '%s' is no length in tokens; a file is -o %s",
                            arg, arg);
        args->value[key - KEY_RATE] = arg;
        return 0;
    case ARGP_KEY_ARG:
        spec_usage_fail(state->name,
                        "'%s' is not an option; 'speclab serve --help' lists the options", arg);
    default:
        if (key < KEY_RATE || key >= KEY_END) return ARGP_ERR_UNKNOWN;
        args->value[key - KEY_RATE] = arg;
        return 0;
    }
}

static const char *value(const arguments *args, int key)
{
    return args->value[key - KEY_RATE];
}

/* Every row of the result reads its files again, which a pipe allows only once. */
static void refuse_pipes(const arguments *args, const char *verb)
{
    static const struct {
        int key;
        const char *option;
        bool spec; /* KIND:FILE?key=value */
    } files[] = {{KEY_TRACE, "trace", false},
                 {KEY_ACCEPTED, "accepted", false},
                 {KEY_PROCESS, "process", true},
                 {KEY_COST, "cost", true},
                 {KEY_DRAFT_COST, "draft-cost", true}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *file = value(args, files[i].key);
        char path[PATH_MAX];
        struct stat info;
        if (file == NULL) continue;
        if (files[i].spec) file += strcspn(file, ":") + (strchr(file, ':') != NULL);
        const size_t n = files[i].spec ? strcspn(file, "?") : strlen(file);
        snprintf(path, sizeof path, "%.*s", n < sizeof path ? (int)n : 0, file);
        if (stat(path, &info) == 0 && S_ISFIFO(info.st_mode))
            spec_usage_fail(verb, "--%s: %s is a pipe, but is read more than once: give a file",
                            files[i].option, path);
    }
}

/* Say what is doubtful about a cost, and what a trace leaves out; errors come with the run. */
static void say_doubts(const char *cost, const char *opt_draft_cost, const char *opt_trace,
                       const char *verb)
{
    spec_step_cost *made;
    spec_request_trace trace;
    if (spec_step_cost_create(&made, cost, opt_draft_cost, NULL) == GSL_SUCCESS) {
        const char *doubt = spec_step_cost_warning(made);
        if (doubt[0] != '\0') spec_usage_say(verb, "%s", doubt);
    }
    spec_step_cost_free(made);
    if (opt_trace == NULL || spec_request_trace_load(&trace, opt_trace, NULL) != GSL_SUCCESS)
        return;
    if (trace.failed > 0)
        spec_usage_say(verb, "%s: %lld rows with 0 output tokens are left out", opt_trace,
                       (long long)trace.failed);
    spec_request_trace_free(&trace);
}

/* Adds a cost that the user did not give, or the settings that a given cost leaves out. */
static void assume(spec_assumed *assumed, const char *typed, const char *opt_spec,
                   const char *by_default)
{
    char text[8 + SPEC_STEP_COST_DEFAULTS] = "with ", *settings = text + strlen(text);
    spec_assumed_add_default(assumed, typed, opt_spec, by_default);
    if (opt_spec != NULL && opt_spec != by_default)
        spec_step_cost_defaults(settings, sizeof text - strlen(text), opt_spec,
                                by_default == default_draft_cost);
    if (settings[0] != '\0') spec_assumed_add(assumed, typed, text, NULL);
}

int spec_verb_serve(spec_context *context, int argc, char **argv)
{
    static const struct argp_child children[] = {{&spec_options_grid_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        options_table,
        parse,
        NULL,
        "simulate a serving engine that speculates under load, and compare it with queueing "
        "theory\vDoes speculation pay at this load, and with which K? The engine batches "
        "continuously, on a virtual clock, as vLLM does; K = 0 is plain decoding. All K serve the "
        "same requests, so speedup, of mean latency over K = 0, has a narrow interval. A last line "
        "names the best choice by load. Rates at or above the capacity have no latency: a line "
        "says so, and the exit status is 3.\n"
        "\nA LIST is 0.5,0.7 or lo:hi:step; times have units, as in 7.1ms; docs/serving.md "
        "explains columns, costs and theory.\n"
        "\n  $ speclab serve --alpha 0.6,0.8 --rate 5:40:5 -o load.csv\n"
        "  $ speclab serve --process profile:seen.json --rate 5:40:5\n"
        "  $ speclab serve --trace mine.csv --rate 1:8 --slo ttft=500ms,tpot=50ms\n"
        "  $ speclab serve --trace mine.csv --speed 1,2 -o load.csv --figure load.svg",
        children,
        NULL,
        NULL};
    arguments args = {.common = SPEC_OPTIONS_DEFAULT(context), .K = default_K};
    args.common.opt_output =
        "write to FILE, as -o alone: --output is a LIST (FILE.json: json; else csv)";
    spec_usage_parse(&argp, argc, argv, &args);
    spec_figure_option_check(args.figure, &args.common, argv[0]);
    const char *cost = value(&args, KEY_COST), *draft_cost = value(&args, KEY_DRAFT_COST);
    if (cost == NULL && draft_cost == NULL) draft_cost = default_draft_cost;
    if (cost == NULL) cost = default_cost;
    refuse_pipes(&args, argv[0]);
    say_doubts(cost, draft_cost, value(&args, KEY_TRACE), argv[0]);
    const spec_process_option process =
        spec_process_option_of(value(&args, KEY_PROCESS), args.alpha, 0, argv[0]);
    if (args.K == default_K && process.n_rates > 0) args.K = process.K;
    if (args.alpha == NULL && value(&args, KEY_ACCEPTED) == NULL && !process.lacks_alpha)
        args.alpha = default_alpha;

    /* A spec has commas of its own: it is one line. */
    spec_assumed assumed = {""};
    spec_assumed_add_default(&assumed, "--alpha ", args.alpha, default_alpha);
    assume(&assumed, "--cost ", cost, default_cost);
    assume(&assumed, "--draft-cost ", draft_cost, default_draft_cost);
    const spec_verb_axis axis[] = {
        {"trace", SPEC_AXIS_LINES, value(&args, KEY_TRACE)},
        {"accepted", SPEC_AXIS_LINES, value(&args, KEY_ACCEPTED)},
        {"process", SPEC_AXIS_LINES, value(&args, KEY_PROCESS)},
        {"cost", SPEC_AXIS_LINES, cost},
        {"draft_cost", SPEC_AXIS_LINES, draft_cost},
        {"place", SPEC_AXIS_NAMES, value(&args, KEY_PLACE)},
        {"draft_cache", SPEC_AXIS_NAMES, value(&args, KEY_DRAFT_CACHE)},
        {"arrivals", SPEC_AXIS_NAMES, value(&args, KEY_ARRIVALS)},
        {"prompt", SPEC_AXIS_NAMES, value(&args, KEY_PROMPT)},
        {"output", SPEC_AXIS_NAMES, value(&args, KEY_OUTPUT)},
        {"spread", SPEC_AXIS_NAMES, value(&args, KEY_SPREAD)},
        {"rounds_correlation", SPEC_AXIS_NUMBERS, value(&args, KEY_CORRELATION)},
        {"max_batch", SPEC_AXIS_NUMBERS, value(&args, KEY_BATCH)},
        {"budget", SPEC_AXIS_NUMBERS, value(&args, KEY_BUDGET)},
        {"chunk", SPEC_AXIS_NUMBERS, value(&args, KEY_CHUNK)},
        {"blocks", SPEC_AXIS_NUMBERS, value(&args, KEY_BLOCKS)},
        {"block", SPEC_AXIS_NUMBERS, value(&args, KEY_BLOCK)},
        {"memory", SPEC_AXIS_LINES, value(&args, KEY_MEMORY)},
        {"kv_bytes", SPEC_AXIS_LINES, value(&args, KEY_KV_BYTES)},
        {"slo", SPEC_AXIS_LINES, value(&args, KEY_SLO)},
        {"requests", SPEC_AXIS_NUMBERS, value(&args, KEY_REQUESTS)},
        {"warm", SPEC_AXIS_NUMBERS, value(&args, KEY_WARM)},
        {"alpha", SPEC_AXIS_NUMBERS, args.alpha},
        {"slots", SPEC_AXIS_NUMBERS, value(&args, KEY_SLOTS)},
        {"speed", SPEC_AXIS_NUMBERS, value(&args, KEY_SPEED)},
        {"rate", SPEC_AXIS_NUMBERS, value(&args, KEY_RATE)},
        {"K", SPEC_AXIS_LINES, args.K},
        {"lengths", SPEC_AXIS_LINES, value(&args, KEY_LENGTHS)},
    };
    static const char *const renamed[] = {"max_batch", "batch", NULL}; /* `batch` is a result */
    const spec_grid_verb verb = {
        .verb = argv[0],
        .measure = "serve",
        .axis = axis,
        .n_axes = (int)(sizeof axis / sizeof axis[0]),
        .assumed = assumed,
        .option = renamed,
        .figure = "serve_load",
        .after = spec_serve_advice_say,
    };
    const int code = spec_grid_verb_run(&verb, &args.common);
    return spec_figure_option_draw(args.figure, verb.figure, &args.common, argv[0], code);
}
