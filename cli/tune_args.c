/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/tune_args.h"

#include "cli/fields.h"
#include "models/transformer/files/checkpoint.h"

#include <string.h>

static void read_methods(void *arguments, const char *list, const char *verb)
{
    spec_tune_args *args = arguments;
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

static void refuse(void *arguments, const char *word, const char *verb)
{
    (void)arguments;
    spec_usage_fail(verb, "'%s': give the model with --target", word);
}

#define FIELD(member) SPEC_FIELD(spec_tune_args, member)
static const spec_field fields[] = {
    {"target", 0, "SPEC", "the target model, a transformer", FIELD(target)},
    {"data", 0, "FILE",
     "a text file whose passages start the target's texts; own: they start empty", FIELD(data),
     .fallback = "own", .assumed = true},
    {"texts", 0, "N", "texts sampled from the target", FIELD(texts), .fallback = "8",
     .assumed = true, .low = 1, .high = 1 << 16},
    {"tokens", 0, "N", "tokens per text (256, or the target's context)", FIELD(tokens), .low = 2,
     .high = SPEC_CONTEXT_MAX},
    {"method", 0, "LIST", "bayes, random or exhaustive, or several", .read = read_methods,
     .fallback = "bayes", .assumed = true, .group = 2},
    {"trials", 0, "N", "number of sets that bayes and random try", FIELD(trials), .fallback = "60",
     .assumed = true, .low = 1, .high = SPEC_SKIP_TRIALS_MAX, .group = 2},
    {"runs", 0, "N", "runs of bayes and random, with consecutive seeds", FIELD(runs),
     .fallback = "1", .low = 1, .high = 1000, .group = 2},
    {"top", 0, "N", "number of sets in the table", FIELD(top), .fallback = "10", .low = 1,
     .high = 1 << 16, .group = 3},
    {"check", 0, "N", "number of best sets that are measured in real decoding", FIELD(check),
     .fallback = "3", .high = 1000, .group = 3},
    {0},
};

void spec_tune_args_parse(spec_tune_args *args, spec_context *context, int argc, char **argv)
{
    static const spec_fields options = {
        .fields = fields,
        .doc =
        "find the sublayers to skip in self-speculation\vA draft of the target that skips some of "
        "its attentions (0a is that of layer 0) and feed-forward networks (0f) needs no training. "
        "Each set of them is measured along texts of the target: alpha_mean is the mean overlap "
        "of the draft's rows with the target's, c the draft's share of the bytes of weights that "
        "a pass reads; best_K and best_speedup follow in closed form. Bayesian optimisation "
        "chooses the sets to try; the table has the best ones, as specs for --draft. For the "
        "first of them walk_tokens are the tokens per round at walk_K as decoding emits them, "
        "with the target's KV cache, and walk_speedup is the prediction from these. bench "
        "measures the speed-up.\n"
        "\n"
        "  $ speclab tune --target model.bin --data stories.txt\n"
        "  $ speclab tune --target model.bin --method bayes,random --runs 20 -o tune.csv",
        .word = refuse,
        .output = "the trials; the best sets go to standard output",
    };
    *args = (spec_tune_args){.common = SPEC_OPTIONS_DEFAULT(context)};
    spec_fields_parse(args, &args->common, &options, argc, argv);
    if (args->target == NULL) spec_usage_fail(argv[0], "give the model with --target");
    spec_fields_assume(&args->assumed, fields, args);
}
