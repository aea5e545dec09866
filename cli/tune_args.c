/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/tune_args.h"

#include "models/transformer/files/checkpoint.h"

#include <string.h>

enum {
    KEY_TARGET = 0xa001,
    KEY_DATA,
    KEY_TEXTS,
    KEY_TOKENS,
    KEY_METHOD,
    KEY_TRIALS,
    KEY_RUNS,
    KEY_TOP,
    KEY_CHECK
};

static const struct argp_option options_table[] = {
    {"target", KEY_TARGET, "SPEC", 0, "the target model, a transformer", 1},
    {"data", KEY_DATA, "FILE", 0,
     "a text file whose passages start the target's texts; own: they start empty (own)", 1},
    {"texts", KEY_TEXTS, "N", 0, "texts sampled from the target (8)", 1},
    {"tokens", KEY_TOKENS, "N", 0, "tokens per text (256, or the target's context)", 1},
    {"method", KEY_METHOD, "LIST", 0, "bayes, random or exhaustive, or several (bayes)", 2},
    {"trials", KEY_TRIALS, "N", 0, "number of sets that bayes and random try (60)", 2},
    {"runs", KEY_RUNS, "N", 0, "runs of bayes and random, with consecutive seeds (1)", 2},
    {"top", KEY_TOP, "N", 0, "number of sets in the table (10)", 3},
    {"check", KEY_CHECK, "N", 0, "number of best sets that are measured in real decoding (3)", 3},
    {0},
};

static void read_methods(spec_tune_args *args, const char *list, const char *verb)
{
    memset(args->method, 0, sizeof args->method);
    for (const char *at = list;; at++) {
        const size_t size = strcspn(at, ",");
        int i = 0;
        while (spec_skip_methods[i] != NULL && (strlen(spec_skip_methods[i]) != size ||
                                                memcmp(spec_skip_methods[i], at, size) != 0))
            i++;
        if (spec_skip_methods[i] == NULL)
            spec_usage_fail(verb, "--method: '%.*s' is not bayes, random or exhaustive", (int)size,
                            at);
        args->method[i] = true;
        at += size;
        if (*at == '\0') return;
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    spec_tune_args *args = state->input;
    const char *verb = state->name;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->common; return 0;
    case KEY_TARGET: args->target = arg; return 0;
    case KEY_DATA: args->data = arg; return 0;
    case KEY_TEXTS: args->texts = (int)spec_options_count(verb, "texts", arg, 1, 1 << 16); return 0;
    case KEY_TOKENS:
        args->tokens = (int)spec_options_count(verb, "tokens", arg, 2, SPEC_CONTEXT_MAX);
        return 0;
    case KEY_METHOD: read_methods(args, arg, verb); return 0;
    case KEY_TRIALS:
        args->trials = (int)spec_options_count(verb, "trials", arg, 1, SPEC_SKIP_TRIALS_MAX);
        return 0;
    case KEY_RUNS: args->runs = (int)spec_options_count(verb, "runs", arg, 1, 1000); return 0;
    case KEY_TOP: args->top = (int)spec_options_count(verb, "top", arg, 1, 1 << 16); return 0;
    case KEY_CHECK: args->check = (int)spec_options_count(verb, "check", arg, 0, 1000); return 0;
    case ARGP_KEY_ARG: spec_usage_fail(verb, "'%s': give the model with --target", arg);
    case ARGP_KEY_END:
        if (args->target == NULL) spec_usage_fail(verb, "give the model with --target");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

void spec_tune_args_parse(spec_tune_args *args, spec_context *context, int argc, char **argv)
{
    static const char *const mattering[] = {"data", "texts", "method", "trials", NULL};
    static const struct argp_child children[] = {{&spec_options_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        options_table,
        parse,
        NULL,
        "find the sublayers to skip in self-speculation\vA draft of the target that skips some of "
        "its attentions (0a is that of layer 0) and feed-forward networks (0f) needs no training. "
        "Each set of them is measured along texts of the target: alpha_mean is the mean overlap of "
        "the draft's rows with the target's, c the draft's share of the bytes of weights that a "
        "pass reads; best_K and best_speedup follow in closed form. Bayesian optimisation chooses "
        "the sets to try; the table has the best ones, as specs for --draft. For the first of them "
        "walk_tokens are the tokens per round at walk_K as decoding emits them, with the target's "
        "KV cache, and walk_speedup is the prediction from these. bench measures the speed-up.\n"
        "\n"
        "  $ speclab tune --target model.bin --data stories.txt\n"
        "  $ speclab tune --target model.bin --method bayes,random --runs 20 -o tune.csv",
        children,
        NULL,
        NULL};
    *args = (spec_tune_args){.common = SPEC_OPTIONS_DEFAULT(context),
                             .data = "own",
                             .method = {[SPEC_SKIP_BAYES] = true},
                             .texts = 8,
                             .trials = 60,
                             .runs = 1,
                             .top = 10,
                             .check = 3};
    args->common.opt_output = "the trials; the best sets go to standard output";
    spec_usage_parse(&argp, argc, argv, args);
    spec_assumed_add_options(&args->assumed, options_table, mattering);
}
