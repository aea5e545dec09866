#include "cli/share.h"
#include "cli/usage.h"
#include "cli/verb.h"

#include "base/table.h"
#include "base/names.h"

#include <argp.h>
#include <errno.h>
#include <gsl/gsl_errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const spec_verb spec_verbs[] = {
    {"predict", "closed forms for alpha, K and c: tokens per round, speed-up, best K", spec_verb_predict},
    {"sweep", "a grid of alpha, K and c: theory beside Monte Carlo, with z", spec_verb_sweep},
    {"run", "run an experiment file", spec_verb_run},
    {"plot", "draw the figure of a result", spec_verb_plot},
    {"prove", "the exact output law of a rule, by enumeration of every decision", spec_verb_prove},
    {"accept", "how often each rule accepts one draft token, for a pair of models", spec_verb_accept},
    {"plan", "the best draft tree for a budget of nodes", spec_verb_plan},
    {"generate", "text from a model, with and without speculation", spec_verb_generate},
    {"bench", "measured speculation on this machine, beside the prediction", spec_verb_bench},
    {"validate", "is this sampler lossless? for any implementation, with a verdict", spec_verb_validate},
    {"rows", "the rows of a pair along a text, into a file that is a model", spec_verb_rows},
    {"quantize", "write a transformer as GGUF, its weights in fewer bits", spec_verb_quantize},
    {"list", "models, drafts, rules, processes, measures, devices, experiments", spec_verb_list},
    {NULL, NULL, NULL},
};

#define MAX_VERBS 32

static void print_help(FILE *out)
{
    fputs("Usage: speclab VERB [OPTION...]\n"
          "speclab, a laboratory for speculative decoding: it proves, simulates, measures\nand plots.\n\n"
          "Verbs:\n",
          out);
    for (const spec_verb *verb = spec_verbs; verb->name != NULL; verb++)
        fprintf(out, "  %-10s %s\n", verb->name, verb->summary);
    fputs("\n"
          "Examples:\n"
          "  $ speclab predict --alpha 0.8 --K 1:8:1 --c 0.1\n"
          "  $ speclab sweep --alpha 0.5,0.7,0.9 --K 2,5 --rounds 1000000\n"
          "  $ speclab prove --target probs:0.5,0.3,0.2 --draft probs:0.2,0.5,0.3\n"
          "  $ speclab validate ./my_sampler.so --junit conformance.xml\n"
          "  $ speclab run speedup_table -o speedup.csv && speclab plot speedup.csv\n\n"
          "'speclab VERB --help' tells the options of a verb, 'speclab list' what there is\nto choose from.\n"
          "Exit status: 0 it holds; 1 a check failed; 2 bad usage or input; 3 not enough\n"
          "evidence either way; 130 interrupted.\n",
          out);
}

static int close_output(void)
{
    if (fflush(stdout) == 0) return SPEC_EXIT_HOLDS;
    spec_usage_say("speclab", "standard output: %s", strerror(errno));
    return SPEC_EXIT_USAGE;
}

int main(int argc, char **argv)
{
    gsl_set_error_handler_off(); /* GSL's failures come back as codes */
    argp_err_exit_status = SPEC_EXIT_USAGE;
    argp_program_version = "speclab " SPEC_VERSION;
    signal(SIGPIPE, SIG_IGN);    /* a closed pipe is a write error like any other, said in one line */

    if (argc < 2) {
        print_help(stderr);
        return SPEC_EXIT_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "-?") == 0 ||
        strcmp(word, "help") == 0) {
        print_help(stdout);
        return close_output();
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        puts(argp_program_version);
        return close_output();
    }

    spec_share_export();
    const char *names[MAX_VERBS];
    int n = 0;
    for (const spec_verb *verb = spec_verbs; verb->name != NULL && n < MAX_VERBS - 1; verb++) {
        names[n++] = verb->name;
        if (strcmp(word, verb->name) != 0) continue;
        char title[64];
        snprintf(title, sizeof title, "speclab %s", verb->name);
        argv[1] = title;
        return verb->run(argc - 1, argv + 1);
    }
    names[n] = NULL;
    char near[SPEC_NAMES_MEANT_SIZE];
    spec_usage_say("speclab", "there is no verb '%s'%s", word,
                   spec_names_meant(near, word, names, "; 'speclab --help' lists them"));
    return SPEC_EXIT_USAGE;
}
