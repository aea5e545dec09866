/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/costs_option.h"
#include "cli/grid_verb.h"
#include "cli/process_option.h"
#include "cli/verb.h"

#include <stdio.h>

enum { KEY_HANDED = 0x2001, KEY_COSTS, KEY_TOKEN, KEY_ONE_PASS };

#define DEFAULT_K "5"

static const char default_K[] = DEFAULT_K;

static const struct argp_option options_table[] = {
    {"alpha", 'a', "LIST", 0, "acceptance rates in [0,1] (0.8, or measured by --costs)", 1},
    {"K", 'K', "LIST", 0, "draft lengths (" DEFAULT_K ")", 1},
    {"process", 'p', "SPEC", 0,
     "acceptance process, see 'speclab list processes' (iid); profile:FILE is one that was seen",
     1},
    {"c", 'c', "LIST", 0,
     "time of a draft call over that of a target call (0.1, or measured by --costs)", 1},
    {"c-token", KEY_TOKEN, "LIST", 0,
     "further time per draft token, such as a Markov head takes after its pass (0)", 1},
    {"one-pass", KEY_ONE_PASS, 0, 0, "the draft makes one call per round for all tokens", 1},
    {"costs", KEY_COSTS, "FILE", 0, SPEC_COSTS_OPTION_HELP, 1},
    {"ops-ratio", 'r', "LIST", 0,
     "arithmetic operations per draft token over those per target token (same as c)", 1},
    {"guess", 'g', "LIST", 0,
     "draft the next chain during verification; LIST: probability that the draft guesses the bonus "
     "token",
     1},
    {"handed", KEY_HANDED, "LIST", 0,
     "share of the verification during which drafting must wait: 0 on two devices, 1 on one "
     "processor (0)",
     1},
    {"law", 'l', NULL, 0, "print the distribution of n_accepted instead of its moments", 1},
    {0},
};

typedef struct {
    spec_options common;
    const char *alpha, *K, *process, *c, *c_token, *ops_ratio, *guess, *handed, *costs;
    bool law, one_pass;
} arguments;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->common; return 0;
    case 'a': args->alpha = arg; return 0;
    case 'K': args->K = arg; return 0;
    case 'p': args->process = arg; return 0;
    case 'c': args->c = arg; return 0;
    case KEY_TOKEN: args->c_token = arg; return 0;
    case KEY_ONE_PASS: args->one_pass = true; return 0;
    case 'r': args->ops_ratio = arg; return 0;
    case 'g': args->guess = arg; return 0;
    case KEY_HANDED: args->handed = arg; return 0;
    case KEY_COSTS: args->costs = arg; return 0;
    case 'l': args->law = true; return 0;
    case ARGP_KEY_ARG:
        spec_usage_fail(state->name,
                        "'%s' is not an option; 'speclab predict --help' lists the options", arg);
    case ARGP_KEY_END:
        if (args->guess != NULL && (args->law || args->ops_ratio != NULL))
            spec_usage_fail(state->name, "--guess cannot be combined with --law or --ops-ratio");
        if ((args->c_token != NULL || args->one_pass) && (args->law || args->guess != NULL))
            spec_usage_fail(state->name,
                            "--c-token and --one-pass cannot be combined with --law or --guess");
        if (args->process != NULL && args->guess != NULL)
            spec_usage_fail(state->name, "--process and --guess exclude each other: chains drafted "
                                         "ahead are known for iid acceptance");
        if (args->handed != NULL && args->guess == NULL)
            spec_usage_fail(state->name, "--handed needs --guess");
        if (args->costs != NULL && (args->law || args->guess != NULL))
            spec_usage_fail(state->name, "--costs cannot be combined with --law or --guess");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* Sets missing options to the values that bench measured with the costs, or else to the
 * defaults. */
static void assume(spec_assumed *ret_assumed, arguments *args, char alpha[32], char c[32],
                   bool lacks_alpha, const char *verb)
{
    spec_pass_costs costs;
    spec_costs_option_read(&costs, args->costs, args->c != NULL, verb);
    snprintf(alpha, 32, "%.4g", costs.of_bench && costs.alpha >= 0.0 ? costs.alpha : 0.8);
    snprintf(c, 32, "%.4g", costs.of_bench && costs.c >= 0.0 ? costs.c : 0.1);
    if (args->alpha == NULL) args->alpha = alpha;
    if (args->c == NULL) args->c = c;
    *ret_assumed = (spec_assumed){""};
    if (!costs.of_bench && !lacks_alpha)
        spec_assumed_add_default(ret_assumed, "--alpha ", args->alpha, alpha);
    spec_assumed_add_default(ret_assumed, "--K ", args->K, default_K);
    if (!costs.of_bench && !args->law) spec_assumed_add_default(ret_assumed, "--c ", args->c, c);
    if (costs.n > 0)
        spec_usage_note(
            verb, "costs from %s, for passes of up to %d tokens, with alpha = %s and c = %s",
            args->costs, costs.width[costs.n - 1], lacks_alpha ? "none" : args->alpha, args->c);
    spec_pass_costs_free(&costs);
}

int spec_verb_predict(spec_context *context, int argc, char **argv)
{
    static const struct argp_child children[] = {{&spec_options_grid_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        options_table,
        parse,
        NULL,
        "closed forms for alpha, K and c: tokens per round, speed-up, best K\vA LIST is 0.5,0.7 or "
        "lo:hi:step. Columns: emitted, the tokens per round, and its variance; speedup, Theorem "
        "3.8 of Leviathan et al. (2023); ops_factor, Theorem 3.11; best_K and best_speedup, the "
        "fastest K for this alpha and c, without an upper limit; break_even_alpha, the alpha at "
        "which the speed-up is 1. At c = 0, and at alpha = 1 with c below 1, every further token "
        "gains: best_K is then inf, and best_speedup the limit.\n"
        "\n"
        "With --costs, a verification of K drafts takes the measured time of a pass of K + 1 "
        "tokens; alpha and c default to those of that run, and best_K is among the measured "
        "passes.\n"
        "\n"
        "With --guess, the next chain is drafted while the target verifies this one, on two "
        "devices unless --handed says otherwise. hit is the share of rounds whose chain was "
        "drafted ahead; further columns give the hit rate and the c at which this breaks even, the "
        "best K with and without it, and the speed-up of PEARL.\n"
        "\n"
        "  $ speclab predict --alpha 0.8 --K 1:8 --c 0.05,0.1\n"
        "  $ speclab predict --alpha 0.8 --K 5 --law\n"
        "  $ speclab predict --alpha 0.8 --K 5 --guess 0.6\n"
        "  $ speclab predict --process profile:seen.json --c 0.1",
        children,
        NULL,
        NULL};
    arguments args = {.common = SPEC_OPTIONS_DEFAULT(context), .K = default_K};
    char alpha[32], c[32];
    spec_usage_parse(&argp, argc, argv, &args);
    spec_assumed assumed;
    const spec_process_option process =
        spec_process_option_of(args.process, args.alpha, 1, argv[0]);
    if (args.K == default_K && process.n_rates > 0) args.K = process.K;
    assume(&assumed, &args, alpha, c, process.lacks_alpha, argv[0]);

    const spec_verb_axis axis[] = {
        {"process", SPEC_AXIS_LINES, args.process},
        {"alpha", SPEC_AXIS_NUMBERS, process.lacks_alpha ? NULL : args.alpha},
        {"K", SPEC_AXIS_NUMBERS, args.K},
        {"c", SPEC_AXIS_NUMBERS, args.law ? NULL : args.c},
        {"c_token", SPEC_AXIS_NUMBERS, args.c_token},
        {"one_pass", SPEC_AXIS_NUMBERS, args.one_pass ? "1" : NULL},
        {"one_pass", SPEC_AXIS_ASKED, args.one_pass ? "" : NULL},
        {"costs", SPEC_AXIS_LINES, args.costs},
        {"ops_ratio", SPEC_AXIS_NUMBERS, args.law ? NULL : args.ops_ratio},
        {"guess", SPEC_AXIS_NUMBERS, args.guess},
        {"handed", SPEC_AXIS_NUMBERS, args.handed},
        {"law", SPEC_AXIS_ASKED, args.law ? "" : NULL},
    };
    const spec_grid_verb verb = {
        .verb = argv[0],
        .measure = args.law             ? "law"
                   : args.guess != NULL ? "ahead"
                                        : "predict",
        .axis = axis,
        .n_axes = (int)(sizeof axis / sizeof axis[0]),
        .assumed = assumed,
    };
    return spec_grid_verb_run(&verb, &args.common);
}
