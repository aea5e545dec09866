/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/settings.h"
#include "cli/grid_verb.h"
#include "cli/pair_size.h"
#include "cli/process_option.h"
#include "cli/verb.h"

#include <string.h>

enum {
    KEY_ROUNDS = 0x2001,
    KEY_SE,
    KEY_TARGET,
    KEY_DRAFT,
    KEY_DRAFTING,
    KEY_POLICY,
    KEY_RULE,
    KEY_AHEAD,
    KEY_POSITIONS,
    KEY_TOKEN,
    KEY_ONE_PASS
};

#define DEFAULT_K "1:8:1"

static const struct argp_option options_table[] = {
    {"alpha", 'a', "LIST", 0, "acceptance rates in [0,1] (0.5:0.9:0.1)", 1},
    {"K", 'K', "LIST", 0, "draft lengths (" DEFAULT_K ")", 1},
    {"c", 'c', "LIST", 0, "time of a draft call over that of a target call (0.1)", 1},
    {"c-token", KEY_TOKEN, "LIST", 0,
     "further time per draft token, such as a Markov head takes after its pass (0)", 1},
    {"one-pass", KEY_ONE_PASS, 0, 0,
     "the draft makes one call per round for all tokens; models know that of themselves", 1},
    {"process", 'p', "SPEC", 0,
     "acceptance process, see 'speclab list processes' (iid); those of a length or of rates have "
     "no alpha",
     1},
    {"rounds", KEY_ROUNDS, "N", 0,
     "Monte Carlo rounds per grid point (1000000; with models 100000)", 1},
    {"standard-error", KEY_SE, "X", 0, "run until the standard error of emitted is at most X", 1},
    {0, 0, 0, 0, "With models instead of a process (slower; see 'speclab list models'):", 2},
    {"target", KEY_TARGET, "SPEC", 0, "the target model", 2},
    {"draft", KEY_DRAFT, "SPEC", 0,
     "the draft model (perturb?of=target&alpha={alpha}, the target perturbed to each --alpha)", 2},
    {"drafting", KEY_DRAFTING, "LIST", 0, "draft strategies (chain)", 2},
    {"policy", KEY_POLICY, "LIST", 0, "length policies (fixed)", 2},
    {"rule", KEY_RULE, "LIST", 0, "verification rules, see 'speclab list rules' (token)", 2},
    {"positions", KEY_POSITIONS, "N", 0,
     "positions of the target's text at which alpha_mean is measured, per grid point (20000; fewer "
     "for large transformers)",
     2},
    {"ahead", KEY_AHEAD, 0, 0,
     "also draft the next chain while the target verifies this one, and compare", 2},
    {0},
};

typedef struct {
    spec_options common;
    const char *alpha, *K, *c, *c_token, *process, *target, *draft, *drafting, *policy, *rule,
        *positions;
    uint64_t rounds;
    double standard_error;
    bool ahead, one_pass;
} arguments;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->common; return 0;
    case 'a': args->alpha = arg; return 0;
    case 'K': args->K = arg; return 0;
    case 'c': args->c = arg; return 0;
    case KEY_TOKEN: args->c_token = arg; return 0;
    case KEY_ONE_PASS: args->one_pass = true; return 0;
    case 'p': args->process = arg; return 0;
    case KEY_ROUNDS:
        args->rounds = spec_options_count(state->name, "rounds", arg, 1, UINT64_MAX);
        return 0;
    case KEY_SE:
        if (!spec_settings_parse_double(&args->standard_error, arg) || !(args->standard_error > 0))
            spec_usage_fail(state->name, "--standard-error: '%s' is not a number above 0", arg);
        return 0;
    case KEY_TARGET: args->target = arg; return 0;
    case KEY_DRAFT: args->draft = arg; return 0;
    case KEY_DRAFTING: args->drafting = arg; return 0;
    case KEY_POLICY: args->policy = arg; return 0;
    case KEY_RULE: args->rule = arg; return 0;
    case KEY_AHEAD: args->ahead = true; return 0;
    case KEY_POSITIONS: args->positions = arg; return 0;
    case ARGP_KEY_ARG:
        spec_usage_fail(state->name,
                        "'%s' is not an option; 'speclab sweep --help' lists the options", arg);
    case ARGP_KEY_END:
        if (args->target == NULL && (args->draft || args->drafting || args->policy || args->rule))
            spec_usage_fail(state->name,
                            "--draft, --drafting, --policy and --rule need a --target");
        if (args->positions != NULL && (args->target == NULL || args->ahead))
            spec_usage_fail(state->name,
                            "--positions needs a --target, and cannot be combined with --ahead");
        if (args->ahead && args->target == NULL)
            spec_usage_fail(state->name,
                            "--ahead needs a --target, such as --target 'zipf?V=20&s=1.5'");
        if (args->ahead && args->policy != NULL)
            spec_usage_fail(
                state->name,
                "--ahead and --policy exclude each other: chains drafted ahead have --K tokens");
        if (args->ahead && args->c_token != NULL)
            spec_usage_fail(state->name, "--ahead and --c-token exclude each other");
        if (args->target != NULL && args->one_pass)
            spec_usage_fail(state->name, "--one-pass and --target exclude each other: a model such "
                                         "as block makes one call by itself");
        if (args->target != NULL && args->process != NULL)
            spec_usage_fail(state->name, "--process and --target exclude each other");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* Measuring alpha_mean takes time at each grid point, so large transformers get fewer positions. */
static void assume_positions(arguments *args, char positions[32], const char *verb)
{
    const spec_pair_size size = spec_pair_size_of(args->target, args->draft, args->common.context);
    snprintf(positions, 32, "%d", spec_pair_size_positions(&size));
    spec_usage_note(
        verb,
        "alpha_mean of each grid point is measured at %s positions (--positions N changes it)",
        positions);
    if (size.target > 0.0) args->positions = positions;
}

int spec_verb_sweep(spec_context *context, int argc, char **argv)
{
    static const char default_alpha[] = "0.5:0.9:0.1", default_K[] = DEFAULT_K, default_c[] = "0.1",
                      default_draft[] = "perturb?of=target&alpha={alpha}";
    static const struct argp_child children[] = {{&spec_options_grid_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        options_table,
        parse,
        NULL,
        "a grid of alpha x K x c: theory beside Monte Carlo, with standard errors and z\vA LIST is "
        "0.5,0.7 or lo:hi:step. A row that is off by more than 5 standard errors makes the exit "
        "status 1. The result has the same bytes for any number of threads.\n"
        "\n"
        "With --ahead: hit is the share of rounds whose chain was drafted ahead; speedup, that of "
        "the same rounds without drafting ahead; gain, speedup_ahead over speedup.\n"
        "\n"
        "  $ speclab sweep --alpha 0.5:0.9:0.1 --K 1:8 -o sweep.csv\n"
        "  $ speclab sweep --alpha 0.8 --K 4 --process 'markov?rho=0.5'\n"
        "  $ speclab sweep --process 'rates?of=0.8/0.5/0.29'\n"
        "  $ speclab sweep --process profile:seen.json\n"
        "  $ speclab sweep --target 'zipf?V=1000' --alpha 0.7 --K 4 --rule token,block",
        children,
        NULL,
        NULL};
    arguments args = {.common = SPEC_OPTIONS_DEFAULT(context), .K = default_K, .c = default_c};
    spec_usage_parse(&argp, argc, argv, &args);

    /* With a pair of models, alpha is a parameter only if the draft's spec contains {alpha}. */
    bool models = args.target != NULL;
    const spec_process_option process =
        spec_process_option_of(models ? NULL : args.process, args.alpha, 1, argv[0]);
    const bool no_alpha = process.lacks_alpha;
    if (args.K == default_K && process.n_rates > 0) args.K = process.K;
    if (models && args.draft == NULL) args.draft = default_draft;
    const bool wants_alpha = models ? strstr(args.draft, "{alpha}") != NULL : !no_alpha;
    if (!wants_alpha && args.alpha != NULL)
        spec_usage_fail(argv[0], "--alpha: this draft does not use {alpha}");
    if (args.alpha == NULL) args.alpha = default_alpha;
    char positions[32];
    if (models && !args.ahead && args.positions == NULL)
        assume_positions(&args, positions, argv[0]);

    spec_assumed assumed = {""};
    if (wants_alpha) spec_assumed_add_default(&assumed, "--alpha ", args.alpha, default_alpha);
    spec_assumed_add_default(&assumed, "--K ", args.K, default_K);
    spec_assumed_add_default(&assumed, "--c ", args.c, default_c);
    spec_assumed_add_default(&assumed, "--draft ", args.draft, default_draft);
    const spec_verb_axis axis[] = {
        {"process", SPEC_AXIS_LINES, args.process},
        {"target", SPEC_AXIS_LINES, args.target},
        {"draft", SPEC_AXIS_LINES, args.draft},
        {"drafting", SPEC_AXIS_NAMES, args.drafting},
        {"policy", SPEC_AXIS_NAMES, args.policy},
        {"rule", SPEC_AXIS_NAMES, args.rule},
        {"alpha", SPEC_AXIS_NUMBERS, wants_alpha ? args.alpha : NULL},
        {"K", SPEC_AXIS_NUMBERS, args.K},
        {"c", SPEC_AXIS_NUMBERS, args.c},
        {"c_token", SPEC_AXIS_NUMBERS, args.c_token},
        {"one_pass", SPEC_AXIS_NUMBERS, args.one_pass ? "1" : NULL},
        {"one_pass", SPEC_AXIS_ASKED, args.one_pass ? "" : NULL},
        {"positions", SPEC_AXIS_NUMBERS, args.positions},
        {"ahead", SPEC_AXIS_ASKED, args.ahead ? "" : NULL},
    };
    const spec_grid_verb verb = {
        .verb = argv[0],
        .measure = args.ahead ? "decode_ahead"
                   : models   ? "decode"
                              : "acceptance",
        .axis = axis,
        .n_axes = (int)(sizeof axis / sizeof axis[0]),
        .assumed = assumed,
        .figure = args.ahead           ? "ahead"
                  : no_alpha || models ? NULL /* its curves are functions of alpha */
                                       : "speedup",
        .rounds = args.rounds > 0           ? args.rounds
                  : args.standard_error > 0 ? 0
                  : models                  ? 100000
                                            : 1000000,
        .standard_error = args.standard_error,
    };
    return spec_grid_verb_run(&verb, &args.common);
}
