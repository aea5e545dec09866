/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/grid_verb.h"
#include "cli/pair_size.h"
#include "cli/process_option.h"
#include "cli/verb.h"

#include <string.h>

static const char default_K[] = "1:8:1", default_c[] = "0.1";

typedef struct {
    spec_options common;
    const char *alpha, *K, *c, *c_token, *process, *target, *draft, *drafting, *policy, *rule,
        *positions, *inner_draft, *inner_c;
    uint64_t rounds;
    double standard_error;
    bool ahead, one_pass;
} arguments;

#define FIELD(member) SPEC_FIELD(arguments, member)
static const spec_field fields[] = {
    {"process", 'p', "SPEC",
     "acceptance process, see 'speclab list processes' (iid); those with a given length or rates "
     "take no --alpha",
     FIELD(process), .axis = SPEC_AXIS_LINES},
    {.help = "With models instead of a process (slower; see 'speclab list models'):", .group = 2},
    {"target", 0, "SPEC", "the target model", FIELD(target), .axis = SPEC_AXIS_LINES, .group = 2},
    {"draft", 0, "SPEC",
     "the draft model (perturb?of=target&alpha={alpha}, the target perturbed to each --alpha)",
     FIELD(draft), .axis = SPEC_AXIS_LINES, .group = 2},
    {"inner-draft", 0, "SPEC",
     "a smaller model that drafts for the draft model, for the strategy cascade",
     FIELD(inner_draft), .axis = SPEC_AXIS_LINES, .group = 2},
    {"inner-c", 0, "LIST", "time of a call of the inner draft, in target calls (0)", FIELD(inner_c),
     .axis = SPEC_AXIS_NUMBERS, .group = 2},
    {"drafting", 0, "LIST", "draft strategies (chain; cascade with --inner-draft)", FIELD(drafting),
     .axis = SPEC_AXIS_NAMES, .group = 2},
    {"policy", 0, "LIST", "length policies (fixed)", FIELD(policy), .axis = SPEC_AXIS_NAMES,
     .group = 2},
    {"rule", 0, "LIST", "verification rules, see 'speclab list rules' (token)", FIELD(rule),
     .axis = SPEC_AXIS_NAMES, .group = 2},
    {"alpha", 'a', "LIST", "acceptance rates in [0,1] (0.5:0.9:0.1)", FIELD(alpha),
     .axis = SPEC_AXIS_NUMBERS},
    {"K", 'K', "LIST", "draft lengths", FIELD(K), .axis = SPEC_AXIS_NUMBERS, .fallback = default_K,
     .assumed = true},
    {"c", 'c', "LIST", "time of a draft call, in target calls", FIELD(c),
     .axis = SPEC_AXIS_NUMBERS, .fallback = default_c, .assumed = true},
    {"c-token", 0, "LIST",
     "extra time per draft token, for example for a Markov head after the pass (0)", FIELD(c_token),
     .axis = SPEC_AXIS_NUMBERS},
    {"one-pass", 0, NULL,
     "the draft makes one call per round for all tokens; with models, sweep knows this",
     FIELD(one_pass), .axis = SPEC_AXIS_FLAG},
    {"rounds", 0, "N", "Monte Carlo rounds per grid point (1000000; with models 100000)",
     FIELD(rounds), .low = 1},
    {"standard-error", 0, "X", "run until the standard error of emitted is at most X",
     FIELD(standard_error), .low = 0, .above = true},
    {"positions", 0, "N",
     "positions of the target's text at which alpha_mean is measured, per grid point (20000; fewer "
     "for large transformers)",
     FIELD(positions), .axis = SPEC_AXIS_NUMBERS, .group = 2},
    {"ahead", 0, NULL, "also draft the next chain while the target verifies this one, and compare",
     FIELD(ahead), .axis = SPEC_AXIS_ASKED, .group = 2},
    {0},
};
static const spec_field_relation relations[] = {
    {"draft inner-draft drafting policy rule positions ahead", true, "target",
     ", such as --target 'zipf?V=20&s=1.5'"},
    {"inner-c", true, "inner-draft", NULL},
    {"inner-draft", false, "ahead", NULL},
    {"positions", false, "ahead", NULL},
    {"ahead", false, "policy", ": chains drafted ahead have --K tokens"},
    {"ahead", false, "c-token", NULL},
    {"one-pass", false, "target", ": a model such as block makes one call by itself"},
    {"process", false, "target", NULL},
    {0},
};

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

const spec_fields spec_verb_sweep_options = {
    .fields = fields,
    .relations = relations,
    .doc =
    "compare theory with Monte Carlo on a grid of alpha, K and c, with standard errors and z\vA "
    "LIST is 0.5,0.7 or lo:hi:step. The exit status is 1 if a row is off by more than 5 standard "
    "errors. The result is the same, byte for byte, for any number of threads.\n"
    "\n"
    "With --ahead: hit is the share of rounds whose chain was drafted ahead; speedup is for the "
    "same rounds without drafting ahead; gain is speedup_ahead divided by speedup.\n"
    "\n"
    "  $ speclab sweep --alpha 0.5:0.9:0.1 --K 1:8 -o sweep.csv\n"
    "  $ speclab sweep --alpha 0.8 --K 4 --process 'markov?rho=0.5'\n"
    "  $ speclab sweep --process 'rates?of=0.8/0.5/0.29'\n"
    "  $ speclab sweep --process profile:seen.json\n"
    "  $ speclab sweep --target 'zipf?V=1000' --alpha 0.7 --K 4 --rule token,block",
    .grid = true,
};

int spec_verb_sweep(spec_context *context, int argc, char **argv)
{
    static const char default_alpha[] = "0.5:0.9:0.1",
                      default_draft[] = "perturb?of=target&alpha={alpha}";
    arguments args = {.common = SPEC_OPTIONS_DEFAULT(context)};
    spec_fields_parse(&args, &args.common, &spec_verb_sweep_options, argc, argv);

    /* With a pair of models, alpha is a parameter only if the draft's spec contains {alpha}. */
    bool models = args.target != NULL;
    const spec_process_option process =
        spec_process_option_of(models ? NULL : args.process, args.alpha, 1, argv[0]);
    const bool no_alpha = process.lacks_alpha;
    if (args.K == default_K && process.n_rates > 0) args.K = process.K;
    if (models && args.draft == NULL) args.draft = default_draft;
    if (args.inner_draft != NULL && args.drafting == NULL) args.drafting = "cascade";
    if (args.inner_draft != NULL && strstr(args.drafting, "cascade") == NULL)
        spec_usage_fail(argv[0], "--inner-draft is for --drafting cascade");
    const bool wants_alpha = models ? strstr(args.draft, "{alpha}") != NULL : !no_alpha;
    if (!wants_alpha && args.alpha != NULL)
        spec_usage_fail(argv[0], "--alpha: this draft does not use {alpha}");
    if (args.alpha == NULL) args.alpha = default_alpha;
    char positions[32];
    if (models && !args.ahead && args.positions == NULL)
        assume_positions(&args, positions, argv[0]);

    spec_assumed assumed = {""};
    if (wants_alpha) spec_assumed_add_default(&assumed, "--alpha ", args.alpha, default_alpha);
    spec_fields_assume(&assumed, fields, &args);
    spec_assumed_add_default(&assumed, "--draft ", args.draft, default_draft);
    if (!wants_alpha) args.alpha = NULL;
    const spec_grid_verb verb = {
        .verb = argv[0],
        .measure = args.ahead ? "decode_ahead"
                   : models   ? "decode"
                              : "acceptance",
        .fields = fields,
        .arguments = &args,
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
