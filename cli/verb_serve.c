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

/* With & between keys: results in CSV need no quotes. */
static const char default_cost[] = "affine?step=7.1ms&token=21us&kv=39ns",
                  default_draft_cost[] = "affine?round=2.1ms", default_alpha[] = "0.8",
                  default_K[] = "0,1,3,5";

typedef struct {
    spec_options common;
    const char *trace, *accepted, *process, *cost, *draft_cost, *place, *draft_cache, *arrivals,
        *prompt, *output, *spread, *rounds_correlation, *batch, *budget, *chunk, *blocks, *block,
        *memory, *kv_bytes, *slo, *requests, *warm, *alpha, *slots, *speed, *rate, *K, *lengths,
        *figure;
} arguments;

/* The axes are in the order of the columns. A spec has commas of its own: it is one line. */
#define FIELD(member) SPEC_FIELD(arguments, member)
static const spec_field fields[] = {
    {.help = "Load, one of:", .group = 2},
    {.help = "Requests:", .group = 3},
    {.help = "Engine:", .group = 4},
    {.help = "Results:", .group = 5},
    {"trace", 0, "FILE",
     "read the requests from a CSV or from JSON lines; with --rate, only their lengths",
     FIELD(trace), .axis = SPEC_AXIS_LINES, .group = 2},
    {"accepted", 0, "FILE", "measured accepted lengths, instead of alpha", FIELD(accepted),
     .axis = SPEC_AXIS_LINES, .group = 3},
    {"process", 0, "SPEC",
     "acceptance by depth or context, instead of alpha: profile:FILE of 'advise --profile', "
     "rates?of=0.8/0.5 or context?of=0.8@0/0.5@16000 (iid)",
     FIELD(process), .axis = SPEC_AXIS_LINES, .group = 3},
    {"cost", 0, "SPEC",
     "time of a step: affine:step=T,token=T,kv=T, roofline:card=H100,parameters=8B,... "
     "('speclab list cards'), fit:FILE of a few measured times or table:FILE "
     "(affine:step=7.1ms,token=21us,kv=39ns, with a draft of round=2.1ms)",
     FIELD(cost), .axis = SPEC_AXIS_LINES, .group = 4},
    {"draft-cost", 0, "SPEC",
     "time to draft: round=T,pass=T,token=T, roofline:..., fit:FILE or table:FILE (none)",
     FIELD(draft_cost), .axis = SPEC_AXIS_LINES, .group = 4},
    {"place", 0, "LIST",
     "where the draft runs: same (device), separate, ahead?guess=X&miss=wait|ride or halves (same)",
     FIELD(place), .axis = SPEC_AXIS_NAMES, .group = 4},
    {"draft-cache", 0, "LIST",
     "how the draft's own KV cache is filled: free, fed with every token, refilled when drafting "
     "resumes, or dropped where nothing is drafted (free)",
     FIELD(draft_cache), .axis = SPEC_AXIS_NAMES, .group = 4},
    {"arrivals", 0, "LIST", "poisson, even or gamma?cv=X (poisson)", FIELD(arrivals),
     .axis = SPEC_AXIS_NAMES, .group = 3},
    {"prompt", 0, "LIST",
     "tokens in a prompt, or a distribution: lognormal?mean=512&sigma=1, geometric?mean=512, ... "
     "(512)",
     FIELD(prompt), .axis = SPEC_AXIS_NAMES, .group = 3},
    {"output", 0, "LIST", "tokens in an output, or a distribution (256); the output file is -o",
     FIELD(output), .axis = SPEC_AXIS_NAMES, .group = 3},
    {"spread", 0, "LIST",
     "how alpha varies over requests: one (not at all), beta?concentration=X or two?spread=X (one)",
     FIELD(spread), .axis = SPEC_AXIS_NAMES, .group = 3},
    {"rounds-correlation", 0, "LIST", "correlation of a request's successive rounds, in [0, 1) (0)",
     FIELD(rounds_correlation), .axis = SPEC_AXIS_NUMBERS, .group = 3},
    {"batch", 0, "LIST", "largest number of running requests; 0: no limit, here and below (0)",
     FIELD(batch), .axis = SPEC_AXIS_NUMBERS, .parameter = "max_batch", .group = 4},
    {"budget", 0, "LIST", "largest number of tokens in a step (0)", FIELD(budget),
     .axis = SPEC_AXIS_NUMBERS, .group = 4},
    {"chunk", 0, "LIST", "largest number of tokens of a prompt in a step (0)", FIELD(chunk),
     .axis = SPEC_AXIS_NUMBERS, .group = 4},
    {"blocks", 0, "LIST", "KV blocks on the device (0)", FIELD(blocks), .axis = SPEC_AXIS_NUMBERS,
     .group = 4},
    {"block", 0, "N", "tokens in a KV block (16)", FIELD(block), .axis = SPEC_AXIS_NUMBERS,
     .group = 4},
    {"memory", 0, "BYTES", "memory for all KV blocks, such as 40GB, instead of --blocks",
     FIELD(memory), .axis = SPEC_AXIS_LINES, .group = 4},
    {"kv-bytes", 0, "BYTES", "bytes per token in the KV cache, such as 128KiB (kv_bytes of --cost)",
     FIELD(kv_bytes), .axis = SPEC_AXIS_LINES, .group = 4},
    {"slo", 0, "SPEC", "objectives: ttft=500ms,tpot=50ms,latency=20s, any of them", FIELD(slo),
     .axis = SPEC_AXIS_LINES, .group = 5},
    {"requests", 0, "N", "number of measured requests in each of 64 replications (2000)",
     FIELD(requests), .axis = SPEC_AXIS_NUMBERS, .group = 5},
    {"warm", 0, "N", "number of warm-up requests before them (depends on the load)", FIELD(warm),
     .axis = SPEC_AXIS_NUMBERS, .group = 5},
    {"alpha", 'a', "LIST", "acceptance rates in [0,1] (0.8)", FIELD(alpha),
     .axis = SPEC_AXIS_NUMBERS},
    {"slots", 0, "LIST", "a closed loop: N requests are always in the system", FIELD(slots),
     .axis = SPEC_AXIS_NUMBERS, .group = 2},
    {"speed", 0, "LIST", "replay the trace X times faster (1)", FIELD(speed),
     .axis = SPEC_AXIS_NUMBERS, .group = 3},
    {"rate", 0, "LIST", "requests per second, arriving at random", FIELD(rate),
     .axis = SPEC_AXIS_NUMBERS, .group = 2},
    {"K", 'K', "LIST", "draft lengths to compare", FIELD(K), .axis = SPEC_AXIS_LINES,
     .fallback = default_K},
    {"lengths", 0, "LIST",
     "policy that chooses the lengths: fixed (each K), goodput, ...; see 'speclab list lengths' "
     "(fixed)",
     FIELD(lengths), .axis = SPEC_AXIS_LINES},
    {"figure", 0, "FILE", SPEC_FIGURE_OPTION_HELP, FIELD(figure), .group = 5},
    {0},
};

/* Every row of the result reads its files again, which a pipe allows only once. */
static void refuse_pipes(const arguments *args, const char *verb)
{
    const struct {
        const char *option, *file;
        bool spec; /* KIND:FILE?key=value */
    } files[] = {{"trace", args->trace, false},
                 {"accepted", args->accepted, false},
                 {"process", args->process, true},
                 {"cost", args->cost, true},
                 {"draft-cost", args->draft_cost, true}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *file = files[i].file;
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

/* Prints warnings about a cost, and what a trace leaves out. Errors are reported by the run. */
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

const spec_fields spec_verb_serve_options = {
    .fields = fields,
    .doc =
        "simulate a serving engine that speculates under load, and compare it with queueing "
        "theory\vDoes speculation pay at this load, and with which K? The engine batches "
        "continuously, on a virtual clock, as vLLM does; K = 0 is plain decoding. All K serve the "
        "same requests, so speedup, which compares mean latency with K = 0, has a narrow interval. "
        "The last line names the best choice for each load. At rates at or above the capacity "
        "there "
        "is no steady latency: a line says so, and the exit status is 3.\n"
        "\n"
        "A LIST is 0.5,0.7 or lo:hi:step; times have units, as in 7.1ms; docs/serving.md explains "
        "columns, costs and theory.\n"
        "\n"
        "  $ speclab serve --alpha 0.6,0.8 --rate 5:40:5 -o load.csv\n"
        "  $ speclab serve --process profile:seen.json --rate 5:40:5\n"
        "  $ speclab serve --trace mine.csv --rate 1:8 --slo ttft=500ms,tpot=50ms\n"
        "  $ speclab serve --trace mine.csv --speed 1,2 -o load.csv --figure load.svg",
    .grid = true,
    .output = "write to FILE; only as -o, because --output is a LIST (FILE.json: json; else csv)",
};

int spec_verb_serve(spec_context *context, int argc, char **argv)
{
    arguments args = {.common = SPEC_OPTIONS_DEFAULT(context)};
    spec_fields_parse(&args, &args.common, &spec_verb_serve_options, argc, argv);
    if (args.output != NULL && strchr(args.output, '.') != NULL && strchr(args.output, '?') == NULL)
        spec_usage_fail(argv[0],
                        "--output: '%s' is not a length in tokens; to name the file, use -o %s",
                        args.output, args.output);
    spec_figure_option_check(args.figure, &args.common, argv[0]);
    refuse_pipes(&args, argv[0]);
    if (args.cost == NULL && args.draft_cost == NULL) args.draft_cost = default_draft_cost;
    if (args.cost == NULL) args.cost = default_cost;
    say_doubts(args.cost, args.draft_cost, args.trace, argv[0]);
    const spec_process_option process =
        spec_process_option_of(args.process, args.alpha, 0, argv[0]);
    if (args.K == default_K && process.n_rates > 0) args.K = process.K;
    if (args.alpha == NULL && args.accepted == NULL && !process.lacks_alpha)
        args.alpha = default_alpha;

    spec_assumed assumed = {""};
    spec_assumed_add_default(&assumed, "--alpha ", args.alpha, default_alpha);
    assume(&assumed, "--cost ", args.cost, default_cost);
    assume(&assumed, "--draft-cost ", args.draft_cost, default_draft_cost);
    const spec_grid_verb verb = {
        .verb = argv[0],
        .measure = "serve",
        .fields = fields,
        .arguments = &args,
        .assumed = assumed,
        .figure = "serve_load",
        .after = spec_serve_advice_say,
    };
    const int code = spec_grid_verb_run(&verb, &args.common);
    return spec_figure_option_draw(args.figure, verb.figure, &args.common, argv[0], code);
}
