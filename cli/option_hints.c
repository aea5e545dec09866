/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/option_hints.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* An option of speclab's own. */
typedef struct {
    const char *option, *what;
    const char *verbs;     /* the verbs that have the option with this meaning */
    const char *elsewhere; /* what to type for other verbs, or NULL; its first word must be an
                            * option of the verb */
} meaning;

enum {
    LENGTH,
    RATE,
    COST,
    TARGET,
    DRAFT,
    RULE,
    STRATEGY,
    POLICY,
    TEMPERATURE,
    TOP_K,
    TOP_P,
    MIN_P,
    TOKENS,
    ROUNDS,
    SEED,
    THREADS,
    OUTPUT,
    FORMAT,
    DEVICE,
    PROMPT,
    SIBLINGS,
    NODES,
    TYPE,
    BUDGET,
    TEXT,
    FIGURE,
    LEARNING_RATE
};

#define DECODING "sweep, prove, accept, step, plan, generate, bench and rows"
#define OF_MODELS "run, train, " DECODING
#define COMMON                                                                                     \
    "predict, sweep, run, prove, accept, step, plan, generate, bench, validate, rows, train, "     \
    "tune, quantize, widen, import, serve, served, advise, profile and list"
#define WRITING "plot, merge, report, " COMMON

static const meaning meanings[] = {
    [LENGTH] = {"K", "the draft length",
                "predict, sweep, prove, step, generate, bench, train, serve and advise",
                "--set K=N"},
    [RATE] = {"alpha", "the acceptance rate", "predict, sweep, prove and serve",
              "--set alpha=LIST"},
    [COST] = {"c", "the cost of a draft call", "predict, sweep, prove and plan", "--set c=LIST"},
    [TARGET] = {"target", "the target model", "tune, widen, import, " OF_MODELS, NULL},
    [DRAFT] = {"draft", "the draft model", OF_MODELS, NULL},
    [RULE] = {"rule", "the verification rule",
              "sweep, prove, accept, step, plan, generate and bench", "--set rule=LIST"},
    [STRATEGY] = {"drafting", "the draft strategy",
                  "sweep, prove, accept, step, generate and bench", "--set drafting=LIST"},
    [POLICY] = {"policy", "the length policy", "sweep, prove, step, generate and bench",
                "--set policy=LIST"},
    [TEMPERATURE] = {"temperature", "temperature", "step, generate, bench, validate and served",
                     "--target 'SPEC?temperature=T'"},
    [TOP_K] = {"top-k", "top-k", "step, generate, bench and served", "--target 'SPEC?top_k=N'"},
    [TOP_P] = {"top-p", "top-p", "step, generate, bench and served", "--target 'SPEC?top_p=X'"},
    [MIN_P] = {"min-p", "min-p", "step, generate, bench and served", "--target 'SPEC?min_p=X'"},
    [TOKENS] = {"tokens", "the number of tokens", "prove, generate, bench, tune and served",
                "--set tokens=N"},
    [ROUNDS] = {"rounds", "the number of simulated rounds", "sweep, run, step and plan", NULL},
    [SEED] = {"seed", "the seed", COMMON, NULL},
    [THREADS] = {"threads", "the number of threads", COMMON, NULL},
    [OUTPUT] = {"output", "the file to write", WRITING, NULL},
    [FORMAT] = {"format", "the format", COMMON, NULL},
    [DEVICE] = {"device", "the device", "step, generate, bench and rows",
                "--target 'SPEC?device=gpu'"},
    [PROMPT] = {"prompt", "the prompt", "generate, rows and serve", "--prompts FILE"},
    [SIBLINGS] = {"n", "the number of drafts per position", "prove and accept",
                  "--drafting 'tree?n=N'"},
    [NODES] = {"nodes", "the number of draft tokens in a tree", "plan", NULL},
    [TYPE] = {"type", "the type of the weights", "quantize", NULL},
    [BUDGET] = {"budget", "the number of draws, or the time", "validate and serve", NULL},
    [TEXT] = {"text", "the text", "rows", "--set TEXT=FILE"},
    [FIGURE] = {"figure", "the figure", "plot, plan, bench, serve, advise and validate", NULL},
    [LEARNING_RATE] = {"rate", "the learning rate", "train, bench and serve", "--set rate=X"},
};

/* Option names of vLLM, SGLang, TensorRT-LLM, llama.cpp, Hugging Face and papers, in lower case
 * with dashes. */
static const struct {
    const char *name;
    int meaning;
} names[] = {
    {"k", LENGTH},
    {"gamma", LENGTH},
    {"num-speculative-tokens", LENGTH},
    {"speculative-num-draft-tokens", LENGTH},
    {"num-draft-tokens", LENGTH},
    {"num-assistant-tokens", LENGTH},
    {"draft-tokens", LENGTH},
    {"draft-length", LENGTH},
    {"draft-len", LENGTH},
    {"max-draft-len", LENGTH},
    {"draft-max", LENGTH},
    {"draft-n", LENGTH},
    {"speculation-length", LENGTH},
    {"lookahead", LENGTH},
    {"speculative-num-steps", LENGTH},
    {"spec-length", LENGTH},
    {"alpha", RATE},
    {"acceptance-rate", RATE},
    {"acceptance", RATE},
    {"accept-rate", RATE},
    {"beta", RATE},
    {"c", COST},
    {"cost", COST},
    {"cost-ratio", COST},
    {"cost-coefficient", COST},
    {"draft-cost", COST},
    {"m", TARGET},
    {"target", TARGET},
    {"model", TARGET},
    {"target-model", TARGET},
    {"base-model", TARGET},
    {"model-path", TARGET},
    {"large-model", TARGET},
    {"verifier-model", TARGET},
    {"md", DRAFT},
    {"draft", DRAFT},
    {"draft-model", DRAFT},
    {"model-draft", DRAFT},
    {"speculative-model", DRAFT},
    {"assistant-model", DRAFT},
    {"speculative-draft-model-path", DRAFT},
    {"drafter", DRAFT},
    {"small-model", DRAFT},
    {"rule", RULE},
    {"verifier", RULE},
    {"verification", RULE},
    {"sampler", RULE},
    {"spec-decoding-acceptance-method", RULE},
    {"drafting", STRATEGY},
    {"strategy", STRATEGY},
    {"speculative-algorithm", STRATEGY},
    {"draft-strategy", STRATEGY},
    {"policy", POLICY},
    {"draft-policy", POLICY},
    {"num-assistant-tokens-schedule", POLICY},
    {"temperature", TEMPERATURE},
    {"temp", TEMPERATURE},
    {"top-k", TOP_K},
    {"topk", TOP_K},
    {"top-p", TOP_P},
    {"topp", TOP_P},
    {"min-p", MIN_P},
    {"minp", MIN_P},
    {"tokens", TOKENS},
    {"max-tokens", TOKENS},
    {"max-new-tokens", TOKENS},
    {"n-predict", TOKENS},
    {"num-tokens", TOKENS},
    {"n-tokens", TOKENS},
    {"output-len", TOKENS},
    {"rounds", ROUNDS},
    {"samples", ROUNDS},
    {"trials", ROUNDS},
    {"iterations", ROUNDS},
    {"steps", ROUNDS},
    {"num-samples", ROUNDS},
    {"repetitions", ROUNDS},
    {"random-seed", SEED},
    {"rng-seed", SEED},
    {"jobs", THREADS},
    {"j", THREADS},
    {"num-threads", THREADS},
    {"nthreads", THREADS},
    {"workers", THREADS},
    {"cores", THREADS},
    {"out-file", OUTPUT},
    {"outfile", OUTPUT},
    {"output-file", OUTPUT},
    {"save", OUTPUT},
    {"csv", FORMAT},
    {"json", FORMAT},
    {"latex", FORMAT},
    {"markdown", FORMAT},
    {"output-format", FORMAT},
    {"device", DEVICE},
    {"gpu", DEVICE},
    {"cuda", DEVICE},
    {"n-gpu-layers", DEVICE},
    {"ngl", DEVICE},
    {"prompt", PROMPT},
    {"input", PROMPT},
    {"num-drafts", SIBLINGS},
    {"n-drafts", SIBLINGS},
    {"speculative-eagle-topk", SIBLINGS},
    {"drafts", SIBLINGS},
    {"siblings", SIBLINGS},
    {"tree-size", NODES},
    {"nodes", NODES},
    {"tree", NODES},
    {"dtype", TYPE},
    {"quantization", TYPE},
    {"qtype", TYPE},
    {"budget", BUDGET},
    {"text", TEXT},
    {"corpus", TEXT},
    {"dataset", TEXT},
    {"figure", FIGURE},
    {"plot", FIGURE},
    {"lr", LEARNING_RATE},
    {"learning-rate", LEARNING_RATE},
};

/* Returns whether the verb is among "predict, sweep and run". */
static bool is_among(const char *list, const char *verb)
{
    const size_t n = strlen(verb);
    for (const char *at = list; (at = strstr(at, verb)) != NULL; at += n)
        if ((at == list || at[-1] == ' ') && (at[n] == ',' || at[n] == ' ' || at[n] == '\0'))
            return true;
    return false;
}

/* Returns whether the verb has the first option of a text such as "--set K=N". */
static bool has_first(const spec_option_set *options, const char *text)
{
    char option[32], letter;
    snprintf(option, sizeof option, "%.*s", (int)strcspn(text + 2, " "), text + 2);
    return options->has(options->self, option, &letter);
}

const char *spec_option_hint(char hint[SPEC_OPTION_HINT_SIZE], const char *dashes, const char *name,
                             const spec_option_set *options)
{
    char plain[64], letter = '\0';
    size_t n = 0, i = 0;
    const size_t n_names = sizeof names / sizeof names[0];
    for (; name[n] != '\0' && n + 1 < sizeof plain; n++)
        plain[n] = name[n] == '_' ? '-' : (char)tolower((unsigned char)name[n]);
    plain[n] = '\0';
    while (i < n_names && strcmp(names[i].name, plain) != 0) i++;
    if (i == n_names) return NULL;
    const meaning *means = &meanings[names[i].meaning];
    const bool own = strcmp(means->option, name) ==
                     0; /* the name is speclab's own, but belongs to another verb */
    if (is_among(means->verbs, options->verb) &&
        options->has(options->self, means->option, &letter)) {
        char both[8] = "";
        if (letter != '\0') snprintf(both, sizeof both, "-%c/", letter);
        snprintf(hint, SPEC_OPTION_HINT_SIZE, "there is no %s%s; %s is %s--%s", dashes, name,
                 means->what, both, means->option);
    } else if (means->elsewhere != NULL && has_first(options, means->elsewhere)) {
        snprintf(hint, SPEC_OPTION_HINT_SIZE, "there is no %s%s here; %s is %s", dashes, name,
                 means->what, means->elsewhere);
    } else {
        snprintf(hint, SPEC_OPTION_HINT_SIZE, "there is no %s%s here; %s%s%s%s%s", dashes, name,
                 means->what, own ? " is an option of " : " is --", own ? "" : means->option,
                 own ? "" : " of ", means->verbs);
    }
    return hint;
}

bool spec_option_hint_line(int i, const char **ret_name, const char **ret_option,
                           const char **ret_verbs)
{
    if (i >= (int)(sizeof names / sizeof names[0])) return false;
    *ret_name = names[i].name;
    *ret_option = meanings[names[i].meaning].option;
    *ret_verbs = meanings[names[i].meaning].verbs;
    return true;
}
