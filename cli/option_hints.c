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
    /* names in vLLM, SGLang, TensorRT-LLM, llama.cpp, Hugging Face and papers, in lower case with
     * dashes, separated by blanks */
    const char *names;
} meaning;

#define DECODING "sweep, prove, accept, step, plan, generate, bench and rows"
#define OF_MODELS "run, train, " DECODING
#define COMMON                                                                                     \
    "predict, sweep, run, prove, accept, step, plan, generate, bench, validate, rows, train, "     \
    "tune, quantize, widen, import, serve, served, advise, profile and list"
#define WRITING "plot, merge, report, " COMMON

static const meaning meanings[] = {
    {"K", "the draft length",
     "predict, sweep, prove, step, generate, bench, train, serve and advise", "--set K=N",
     "k gamma num-speculative-tokens speculative-num-draft-tokens num-draft-tokens "
     "num-assistant-tokens draft-tokens draft-length draft-len max-draft-len draft-max "
     "draft-n speculation-length lookahead speculative-num-steps spec-length"},
    {"alpha", "the acceptance rate", "predict, sweep, prove and serve", "--set alpha=LIST",
     "alpha acceptance-rate acceptance accept-rate beta"},
    {"c", "the cost of a draft call", "predict, sweep, prove and plan", "--set c=LIST",
     "c cost cost-ratio cost-coefficient draft-cost"},
    {"target", "the target model", "tune, widen, import, " OF_MODELS, NULL,
     "m target model target-model base-model model-path large-model verifier-model"},
    {"draft", "the draft model", OF_MODELS, NULL,
     "md draft draft-model model-draft speculative-model assistant-model "
     "speculative-draft-model-path drafter small-model"},
    {"rule", "the verification rule", "sweep, prove, accept, step, plan, generate and bench",
     "--set rule=LIST", "rule verifier verification sampler spec-decoding-acceptance-method"},
    {"drafting", "the draft strategy", "sweep, prove, accept, step, generate and bench",
     "--set drafting=LIST", "drafting strategy speculative-algorithm draft-strategy"},
    {"policy", "the length policy", "sweep, prove, step, generate and bench", "--set policy=LIST",
     "policy draft-policy num-assistant-tokens-schedule"},
    {"temperature", "temperature", "step, generate, bench, validate and served",
     "--target 'SPEC?temperature=T'", "temperature temp"},
    {"top-k", "top-k", "step, generate, bench and served", "--target 'SPEC?top_k=N'", "top-k topk"},
    {"top-p", "top-p", "step, generate, bench and served", "--target 'SPEC?top_p=X'", "top-p topp"},
    {"min-p", "min-p", "step, generate, bench and served", "--target 'SPEC?min_p=X'", "min-p minp"},
    {"tokens", "the number of tokens", "prove, generate, bench, tune and served", "--set tokens=N",
     "tokens max-tokens max-new-tokens n-predict num-tokens n-tokens output-len"},
    {"rounds", "the number of simulated rounds", "sweep, run, step and plan", NULL,
     "rounds samples trials iterations steps num-samples repetitions"},
    {"seed", "the seed", COMMON, NULL, "random-seed rng-seed"},
    {"threads", "the number of threads", COMMON, NULL, "jobs j num-threads nthreads workers cores"},
    {"output", "the file to write", WRITING, NULL, "out-file outfile output-file save"},
    {"format", "the format", COMMON, NULL, "csv json latex markdown output-format"},
    {"device", "the device", "step, generate, bench and rows", "--target 'SPEC?device=gpu'",
     "device gpu cuda n-gpu-layers ngl"},
    {"prompt", "the prompt", "generate, rows and serve", "--prompts FILE", "prompt input"},
    {"n", "the number of drafts per position", "prove and accept", "--drafting 'tree?n=N'",
     "num-drafts n-drafts speculative-eagle-topk drafts siblings"},
    {"nodes", "the number of draft tokens in a tree", "plan", NULL, "tree-size nodes tree"},
    {"type", "the type of the weights", "quantize", NULL, "dtype quantization qtype"},
    {"budget", "the number of draws, or the time", "validate and serve", NULL, "budget"},
    {"text", "the text", "rows", "--set TEXT=FILE", "text corpus dataset"},
    {"figure", "the figure", "plot, plan, bench, serve, advise and validate", NULL, "figure plot"},
    {"rate", "the learning rate", "train, bench and serve", "--set rate=X", "lr learning-rate"},
};
enum { N_MEANINGS = sizeof meanings / sizeof meanings[0] };

/* Returns whether a word is among "predict, sweep and run". */
static bool is_among(const char *list, const char *word)
{
    const size_t n = strlen(word);
    if (n == 0 || strpbrk(word, " ,") != NULL) return false;
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += n)
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
    size_t n = 0;
    int i = 0;
    for (; name[n] != '\0' && n + 1 < sizeof plain; n++)
        plain[n] = name[n] == '_' ? '-' : (char)tolower((unsigned char)name[n]);
    plain[n] = '\0';
    while (i < N_MEANINGS && !is_among(meanings[i].names, plain)) i++;
    if (i == N_MEANINGS) return NULL;
    const meaning *means = &meanings[i];
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

bool spec_option_hint_line(int i, const char **ret_names, const char **ret_option,
                           const char **ret_verbs)
{
    if (i >= N_MEANINGS) return false;
    *ret_names = meanings[i].names;
    *ret_option = meanings[i].option;
    *ret_verbs = meanings[i].verbs;
    return true;
}
