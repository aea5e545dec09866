/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/option_hints.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* An option of speclab's own. */
typedef struct {
    const char *option, *what;
    const char *elsewhere; /* what to type for other verbs, or NULL; its first word must be an
                            * option of the verb */
    /* names in vLLM, SGLang, TensorRT-LLM, llama.cpp, Hugging Face and papers, in lower case with
     * dashes, separated by blanks */
    const char *names;
} meaning;

static const meaning meanings[] = {
    {"K", "the draft length", "--set K=N",
     "k gamma num-speculative-tokens speculative-num-draft-tokens num-draft-tokens "
     "num-assistant-tokens draft-tokens draft-length draft-len max-draft-len draft-max "
     "draft-n speculation-length lookahead speculative-num-steps spec-length"},
    {"alpha", "the acceptance rate", "--set alpha=LIST",
     "alpha acceptance-rate acceptance accept-rate beta"},
    {"c", "the cost of a draft call", "--set c=LIST",
     "c cost cost-ratio cost-coefficient draft-cost"},
    {"target", "the target model", NULL,
     "m target model target-model base-model model-path large-model verifier-model"},
    {"draft", "the draft model", NULL,
     "md draft draft-model model-draft speculative-model assistant-model "
     "speculative-draft-model-path drafter small-model"},
    {"rule", "the verification rule", "--set rule=LIST",
     "rule verifier verification sampler spec-decoding-acceptance-method"},
    {"drafting", "the draft strategy", "--set drafting=LIST",
     "drafting strategy speculative-algorithm draft-strategy"},
    {"policy", "the length policy", "--set policy=LIST",
     "policy draft-policy num-assistant-tokens-schedule"},
    {"temperature", "temperature", "--target 'SPEC?temperature=T'", "temperature temp"},
    {"top-k", "top-k", "--target 'SPEC?top_k=N'", "top-k topk"},
    {"top-p", "top-p", "--target 'SPEC?top_p=X'", "top-p topp"},
    {"min-p", "min-p", "--target 'SPEC?min_p=X'", "min-p minp"},
    {"tokens", "the number of tokens", "--set tokens=N",
     "tokens max-tokens max-new-tokens n-predict num-tokens n-tokens output-len"},
    {"rounds", "the number of simulated rounds", NULL,
     "rounds samples trials iterations steps num-samples repetitions"},
    {"seed", "the seed", NULL, "random-seed rng-seed"},
    {"threads", "the number of threads", NULL, "jobs j num-threads nthreads workers cores"},
    {"output", "the file to write", NULL, "out-file outfile output-file save"},
    {"format", "the format", NULL, "csv json latex markdown output-format"},
    {"device", "the device", "--target 'SPEC?device=gpu'", "device gpu cuda n-gpu-layers ngl"},
    {"prompt", "the prompt", "--prompts FILE", "prompt input"},
    {"n", "the number of drafts per position", "--drafting 'tree?n=N'",
     "num-drafts n-drafts speculative-eagle-topk drafts siblings"},
    {"nodes", "the number of draft tokens in a tree", NULL, "tree-size nodes tree"},
    {"type", "the type of the weights", NULL, "dtype quantization qtype"},
    {"budget", "the number of draws, or the time", NULL, "budget"},
    {"text", "the text", "--set TEXT=FILE", "text corpus dataset"},
    {"figure", "the figure", NULL, "figure plot"},
    {"false-alarm-rate", "the false-alarm rate", NULL,
     "alpha significance significance-level p-value error-rate"},
    {"rate", "the learning rate", "--set rate=X", "lr learning-rate"},
};
enum { N_MEANINGS = sizeof meanings / sizeof meanings[0] };

/* Returns whether a word is among the names. */
static bool is_among(const char *names, const char *word)
{
    const size_t n = strlen(word);
    if (n == 0 || strchr(word, ' ') != NULL) return false;
    for (const char *at = names; (at = strstr(at, word)) != NULL; at += n)
        if ((at == names || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0')) return true;
    return false;
}

/* Returns whether the verb has the first option of a text such as "--set K=N". */
static bool has_first(const spec_option_set *options, const char *text)
{
    char option[32], letter;
    snprintf(option, sizeof option, "%.*s", (int)strcspn(text + 2, " "), text + 2);
    return options->has(options->verb, option, &letter);
}

const char *spec_option_hint(char hint[SPEC_OPTION_HINT_SIZE], const char *dashes, const char *name,
                             const spec_option_set *options)
{
    char plain[64], letter = '\0';
    size_t n = 0;
    int i = N_MEANINGS; /* the first meaning whose option the verb has, or else the first */
    for (; name[n] != '\0' && n + 1 < sizeof plain; n++)
        plain[n] = name[n] == '_' ? '-' : (char)tolower((unsigned char)name[n]);
    plain[n] = '\0';
    for (int m = N_MEANINGS; m-- > 0;)
        if (is_among(meanings[m].names, plain)) i = m;
    for (int m = i; m < N_MEANINGS; m++) {
        if (!is_among(meanings[m].names, plain) ||
            !options->has(options->verb, meanings[m].option, &letter))
            continue;
        i = m;
        break;
    }
    if (i == N_MEANINGS) return NULL;
    const meaning *means = &meanings[i];
    const bool own = strcmp(means->option, name) ==
                     0; /* the name is speclab's own, but belongs to another verb */
    if (options->has(options->verb, means->option, &letter)) {
        char both[8] = "";
        if (letter != '\0') snprintf(both, sizeof both, "-%c/", letter);
        snprintf(hint, SPEC_OPTION_HINT_SIZE, "there is no %s%s; %s is %s--%s", dashes, name,
                 means->what, both, means->option);
    } else if (means->elsewhere != NULL && has_first(options, means->elsewhere)) {
        snprintf(hint, SPEC_OPTION_HINT_SIZE, "there is no %s%s here; %s is %s", dashes, name,
                 means->what, means->elsewhere);
    } else {
        char verbs[SPEC_OPTION_HINT_VERBS];
        options->list_verbs(verbs, means->option);
        snprintf(hint, SPEC_OPTION_HINT_SIZE, "there is no %s%s here; %s%s%s%s%s", dashes, name,
                 means->what, own ? " is an option of " : " is --", own ? "" : means->option,
                 own ? "" : " of ", verbs);
    }
    return hint;
}

const char *spec_option_hint_names(int i)
{
    return i < N_MEANINGS ? meanings[i].names : NULL;
}
