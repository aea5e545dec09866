/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/fields.h"
#include "cli/output.h"
#include "cli/share.h"
#include "cli/stop.h"
#include "cli/team_start.h"
#include "cli/usage.h"
#include "cli/verb.h"

#include "base/cpu.h"
#include "base/names.h"
#include "base/table.h"
#include "tools/validate/samplers/supervisor.h"

#include <errno.h>
#include <gsl/gsl_errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char THEORY[] = "theory", SIMULATION[] = "simulation", RESULTS[] = "results",
                  MODELS[] = "models", SERVING[] = "serving", SAMPLERS[] = "samplers",
                  TRAINING[] = "training";

#define VERB(group, name, summary)                                                                 \
    {                                                                                              \
        group, #name, summary, spec_verb_##name, &spec_verb_##name##_options                       \
    }
const spec_verb spec_verbs[] = {
    VERB(THEORY, predict, "compute tokens per round, speed-up and best K in closed form"),
    VERB(SIMULATION, sweep, "compare theory with Monte Carlo on a grid of alpha, K and c"),
    VERB(SIMULATION, run, "run an experiment file"),
    VERB(SIMULATION, merge, "join the parts of a run over many machines"),
    VERB(RESULTS, plot, "draw the figure of a result, or of any CSV"),
    VERB(RESULTS, report, "show results on one page, as Markdown or an HTML file"),
    VERB(THEORY, prove, "compute the exact output distribution of a rule, by enumeration"),
    VERB(THEORY, accept, "compute how often each rule accepts a draft token, and the optimum"),
    VERB(THEORY, step, "show a round of speculative decoding, decision by decision"),
    VERB(THEORY, plan, "find the best draft tree for a budget of nodes"),
    VERB(MODELS, generate, "generate text from a model, with and without speculation"),
    VERB(MODELS, pair, "find the best of several drafts of a target, and its draft length"),
    VERB(MODELS, bench, "measure speculative decoding on this machine, against prediction"),
    VERB(SERVING, serve, "simulate a serving engine that speculates under load"),
    VERB(SERVING, served, "judge the text of a server by the scores of another one"),
    VERB(SERVING, drive, "measure what speculation gains at a live server"),
    VERB(SERVING, advise, "recommend a draft length from an engine's log"),
    VERB(SERVING, profile, "show the acceptance that advise measured, as settings of other tools"),
    VERB(SAMPLERS, validate, "test whether a sampler, in any language, is lossless"),
    VERB(MODELS, rows, "record the distributions of a target and its drafts along a text"),
    VERB(TRAINING, train, "train a model, or a draft of a target"),
    VERB(TRAINING, tune, "find the sublayers to skip in self-speculation"),
    VERB(TRAINING, quantize, "quantize a transformer and write it as GGUF"),
    VERB(TRAINING, widen, "write a wider transformer that computes the same function"),
    VERB(TRAINING, import, "write a model or a draft head of a Hugging Face folder as GGUF"),
    VERB(RESULTS, list, "list models, drafts, rules, measures, figures, devices, experiments"),
    {NULL, NULL, NULL, NULL, NULL},
};

#define MAX_VERBS 64

static const char title[] =
    "Usage: speclab VERB [OPTION...]\n"
    "A laboratory for speculative decoding: it proves, simulates, measures and plots.\n\n";
static const char examples[] =
    "\n"
    "  $ speclab predict --alpha 0.8 --K 1:8 --c 0.1\n"
    "  $ speclab validate ./my_sampler.so\n"
    "  $ speclab run speedup_table -o speedup.csv && speclab plot speedup.csv\n"
    "\n";

/* Prints what 'speclab' alone prints: the verbs by group, on a screen of 24 lines. */
static void print_overview(FILE *out)
{
    fputs(title, out);
    for (const spec_verb *first = spec_verbs; first->name != NULL; first++) {
        const spec_verb *of = spec_verbs;
        while (of->group != first->group) of++;
        if (of != first) continue; /* the group is printed */
        fprintf(out, "  %-10s", first->group);
        for (; of->name != NULL; of++)
            if (of->group == first->group) fprintf(out, " %s", of->name);
        fputc('\n', out);
    }
    fputs(examples, out);
    fputs("'speclab help' says what each verb does, 'speclab help VERB' lists its options.\n", out);
}

static void print_help(FILE *out)
{
    fputs(title, out);
    for (const spec_verb *verb = spec_verbs; verb->name != NULL; verb++)
        fprintf(out, "  %-9s %s\n", verb->name, verb->summary);
    fputs(examples, out);
    fputs("'speclab help VERB' lists the options of a verb, 'speclab list' all names.\n"
          "Exit status: 0 all checks hold; 1 a check failed; 2 bad usage or input; 3 not\n"
          "enough evidence either way; 128 + n after signal n, such as 130 for ctrl-C.\n",
          out);
}

/* Prints the number of threads if the system granted fewer than requested. */
static void say_threads(const spec_context *context, const char *verb)
{
    int granted;
    const int missed = spec_thread_pool_missing(context->pool, &granted);
    if (missed > 0)
        spec_usage_say(verb, "the system allows only %d of %d threads", granted, missed);
}

static bool is_off(const char *variable)
{
    const char *value = getenv(variable);
    return value != NULL && strcmp(value, "0") == 0;
}

static spec_gpu_settings gpu_settings(void)
{
    return (spec_gpu_settings){.opt_library = getenv("SPECLAB_LIBCUDA"),
                               .opt_visible = getenv("CUDA_VISIBLE_DEVICES"),
                               .in_order = is_off("SPECLAB_GPU_EARLY"),
                               .unrecorded = is_off("SPECLAB_GPU_RECORD")};
}

/* Returns the exit code of a verb, or 2 if standard output could not be written. */
static int close_output(const char *verb, int code)
{
    const bool shown = fflush(spec_output_standard()) == 0;
    if ((shown && fflush(stdout) == 0 && !ferror(stdout)) || code == SPEC_EXIT_USAGE) return code;
    spec_usage_say(verb, "standard output: %s", strerror(errno));
    return SPEC_EXIT_USAGE;
}

int main(int argc, char **argv)
{
    spec_supervisor_main(argc, argv); /* does not return in a process that supervises a sampler */
    spec_stop_begin();
    const spec_team *team = spec_team_start(&argc, &argv);
    gsl_set_error_handler_off(); /* GSL's failures come back as codes */

    if (argc < 2) {
        print_overview(stderr);
        return SPEC_EXIT_USAGE;
    }
    char help[] = "--help", *of_help[] = {argv[0], argv[2], help, NULL};
    if (strcmp(argv[1], "help") == 0 && argc > 2) { /* speclab help VERB is speclab VERB --help */
        if (argc > 3)
            spec_usage_fail("speclab help",
                            "'%s' is a second verb; give only "
                            "one",
                            argv[3]);
        argv = of_help;
        argc = 3;
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "-?") == 0 ||
        strcmp(word, "help") == 0) {
        print_help(stdout);
        return close_output("speclab", SPEC_EXIT_HOLDS);
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0 || strcmp(word, "version") == 0) {
        puts("speclab " SPEC_VERSION);
        return close_output("speclab", SPEC_EXIT_HOLDS);
    }

    spec_error error = {{0}};
    if (spec_cpu_limit(getenv("SPECLAB_ISA"), &error) != GSL_SUCCESS) {
        spec_usage_say("speclab", "SPECLAB_ISA=%s", error.text);
        return SPEC_EXIT_USAGE;
    }
    const char *names[MAX_VERBS] = {"help", "--help", "version", "--version"};
    int n = 4;
    for (const spec_verb *verb = spec_verbs; verb->name != NULL && n < MAX_VERBS - 1; verb++) {
        names[n++] = verb->name;
        if (strcmp(word, verb->name) != 0) continue;
        char name[64];
        snprintf(name, sizeof name, "speclab %s", verb->name);
        argv[1] = name;
        spec_context context;
        char share[PATH_MAX];
        if (spec_context_init(&context, 0, &error) != GSL_SUCCESS)
            spec_usage_fail(name, "%s", error.text);
        context.opt_share = spec_share_of_texts(share, sizeof share);
        context.gpu = gpu_settings();
        context.opt_team = team;
        if (team != NULL && !verb->options->grid)
            spec_usage_fail(name, "it has no grid to divide among ranks; use speclab");
        const int code = verb->run(&context, argc - 1, argv + 1);
        spec_stop_saving(); /* only short work is left */
        if (code != SPEC_EXIT_USAGE) say_threads(&context, name);
        spec_context_free(&context);
        if (team != NULL && !team->leads) return SPEC_EXIT_HOLDS;
        return spec_stop_code(close_output(name, code));
    }
    names[n] = NULL;
    char near[SPEC_NAMES_MEANT_SIZE];
    spec_usage_say("speclab", "there is no %s '%s'%s", word[0] == '-' ? "option" : "verb", word,
                   spec_names_meant(near, word, names, "; 'speclab --help' lists them"));
    return SPEC_EXIT_USAGE;
}
