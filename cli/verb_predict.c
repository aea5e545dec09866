/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/costs_option.h"
#include "cli/grid_verb.h"
#include "cli/process_option.h"
#include "cli/verb.h"

#include <stdio.h>

static const char default_K[] = "5";

typedef struct {
    spec_options common;
    const char *alpha, *K, *process, *c, *c_token, *ops_ratio, *guess, *handed, *costs;
    const char *inner_alpha, *inner_c, *inner_rounds, *inner_K, *direct_alpha;
    bool distribution, one_pass;
} arguments;

#define FIELD(member) SPEC_FIELD(arguments, member)
static const spec_field fields[] = {
    {"process", 'p', "SPEC",
     "acceptance process, see 'speclab list processes' (iid); profile:FILE is one measured by "
     "'speclab advise'",
     FIELD(process), .axis = SPEC_AXIS_LINES},
    {"alpha", 'a', "LIST", "acceptance rates in [0,1] (0.8, or measured by --costs)", FIELD(alpha),
     .axis = SPEC_AXIS_NUMBERS},
    {"K", 'K', "LIST", "draft lengths", FIELD(K), .axis = SPEC_AXIS_NUMBERS, .fallback = default_K},
    {"c", 'c', "LIST",
     "time of a draft call, in target calls (0.1, or measured by --costs)", FIELD(c),
     .axis = SPEC_AXIS_NUMBERS},
    {"c-token", 0, "LIST",
     "extra time per draft token, for example for a Markov head after the pass (0)", FIELD(c_token),
     .axis = SPEC_AXIS_NUMBERS},
    {"one-pass", 0, NULL, "the draft makes one call per round for all tokens", FIELD(one_pass),
     .axis = SPEC_AXIS_FLAG},
    {"costs", 0, "FILE", SPEC_COSTS_OPTION_HELP ": every pass takes 1 (none)", FIELD(costs),
     .axis = SPEC_AXIS_LINES},
    {"ops-ratio", 'r', "LIST",
     "arithmetic operations per draft token, relative to a target token (same as c)",
     FIELD(ops_ratio), .axis = SPEC_AXIS_NUMBERS},
    {"guess", 'g', "LIST",
     "draft the next chain during verification; LIST: probability that the draft guesses the bonus "
     "token",
     FIELD(guess), .axis = SPEC_AXIS_NUMBERS},
    {"handed", 0, "LIST",
     "share of the verification time during which drafting must wait: 0 on two devices, 1 on one "
     "processor (0)",
     FIELD(handed), .axis = SPEC_AXIS_NUMBERS},
    {.help = "Three models, where a smaller one drafts for the draft model, instead of --K:",
     .group = 2},
    {"inner-alpha", 0, "LIST", "rates at which the draft model accepts the smaller one's tokens",
     FIELD(inner_alpha), .axis = SPEC_AXIS_NUMBERS, .group = 2},
    {"inner-c", 0, "LIST", "time of a call of the smaller model, in target calls (0.02)",
     FIELD(inner_c), .axis = SPEC_AXIS_NUMBERS, .group = 2},
    {"inner-rounds", 0, "LIST", "rounds of the draft model in a round of the target (the best)",
     FIELD(inner_rounds), .axis = SPEC_AXIS_NUMBERS, .group = 2},
    {"inner-K", 0, "LIST", "tokens of the smaller model in a round of the draft model (the best)",
     FIELD(inner_K), .axis = SPEC_AXIS_NUMBERS, .group = 2},
    {"direct-alpha", 0, "LIST",
     "rates at which the target itself accepts the smaller model's tokens, to compare with pairs "
     "of models (alpha times inner-alpha)",
     FIELD(direct_alpha), .axis = SPEC_AXIS_NUMBERS, .group = 2},
    {"distribution", 'd', NULL, "print the distribution of n_accepted instead of its moments",
     FIELD(distribution), .axis = SPEC_AXIS_ASKED},
    {0},
};
static const spec_field_relation relations[] = {
    {"guess", false, "distribution ops-ratio", NULL},
    {"c-token one-pass", false, "distribution guess", NULL},
    {"process", false, "guess", ": the closed forms of drafting ahead assume iid acceptance"},
    {"handed", true, "guess", NULL},
    {"inner-alpha", false, "K process c-token one-pass costs ops-ratio guess distribution", NULL},
    {"inner-c inner-rounds inner-K direct-alpha", true, "inner-alpha", NULL},
    {"costs", false, "distribution guess", NULL},
    {0},
};

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
    if (args->inner_alpha == NULL)
        spec_assumed_add_default(ret_assumed, "--K ", args->K, default_K);
    if (!costs.of_bench && !args->distribution)
        spec_assumed_add_default(ret_assumed, "--c ", args->c, c);
    if (costs.n > 0)
        spec_usage_note(
            verb, "costs from %s, for passes of up to %d tokens, with alpha = %s and c = %s",
            args->costs, costs.width[costs.n - 1], lacks_alpha ? "none" : args->alpha, args->c);
    spec_pass_costs_free(&costs);
}

const spec_fields spec_verb_predict_options = {
    .fields = fields,
    .relations = relations,
    .doc =
        "compute tokens per round, speed-up and best K in closed form from alpha, K and c\vA LIST "
        "is 0.5,0.7 or lo:hi:step. Columns: emitted, the tokens per round, and its variance; "
        "speedup, Theorem 3.8 of Leviathan et al. (2023); ops_factor, Theorem 3.11; best_K and "
        "best_speedup, the fastest K for this alpha and c, without an upper limit; "
        "break_even_alpha, the alpha at which the speed-up is 1. At c = 0, and at alpha = 1 with "
        "c below 1, every further draft token pays off: best_K is then inf, and best_speedup is "
        "the limit.\n"
        "\n"
        "With --costs, a verification of K drafts takes the measured time of a pass of K + 1 "
        "tokens; alpha and c default to what that run measured, and best_K is among the passes "
        "that it timed.\n"
        "\n"
        "With --guess, the next chain is drafted while the target verifies this one, on two "
        "devices unless --handed says otherwise. hit is the share of rounds whose chain was "
        "drafted ahead; further columns give the hit rate and the c at which this breaks even, "
        "the best K with and without it, and the speed-up of PEARL.\n"
        "\n"
        "With --inner-alpha, a smaller model drafts for the draft model. emitted and speedup are "
        "those of the given lengths; rounds_inner and K_inner, up to 64 each, are the best lengths "
        "and give best_speedup. speedup_middle and speedup_small are the best speed-ups with only "
        "the draft model and with only the smaller one. gain compares best_speedup with the better "
        "of the two, or with 1 if both are slower than plain decoding.\n"
        "\n"
        "  $ speclab predict --alpha 0.8 --K 1:8 --c 0.05,0.1\n"
        "  $ speclab predict --alpha 0.8 --K 5 --distribution\n"
        "  $ speclab predict --alpha 0.8 --K 5 --guess 0.6\n"
        "  $ speclab predict --process profile:seen.json --c 0.1\n"
        "  $ speclab predict --alpha 0.9 --c 0.2 --inner-alpha 0.7 --inner-c 0.01",
    .grid = true,
};

int spec_verb_predict(spec_context *context, int argc, char **argv)
{
    arguments args = {.common = SPEC_OPTIONS_DEFAULT(context)};
    char alpha[32], c[32];
    spec_fields_parse(&args, &args.common, &spec_verb_predict_options, argc, argv);
    spec_assumed assumed;
    const spec_process_option process =
        spec_process_option_of(args.process, args.alpha, 1, argv[0]);
    if (args.K == default_K && process.n_rates > 0) args.K = process.K;
    assume(&assumed, &args, alpha, c, process.lacks_alpha, argv[0]);

    if (process.lacks_alpha) args.alpha = NULL;
    if (args.distribution) args.c = args.ops_ratio = NULL;
    if (args.inner_alpha != NULL) args.K = NULL;
    const spec_grid_verb verb = {
        .verb = argv[0],
        .measure = args.distribution          ? "distribution"
                   : args.guess != NULL       ? "ahead"
                   : args.inner_alpha != NULL ? "cascade"
                                              : "predict",
        .fields = fields,
        .arguments = &args,
        .assumed = assumed,
    };
    return spec_grid_verb_run(&verb, &args.common);
}
