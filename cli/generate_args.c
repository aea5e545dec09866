/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/generate_args.h"

#include "base/input_file.h"
#include "cli/fields.h"
#include "cli/prompt.h"
#include "speclab/round.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COUNT_MAX = 1000000000 };
#define FIELD(member) SPEC_FIELD(spec_generate_args, member)
static const spec_field fields[] = {
    {"K", 'K', "N", "draft tokens per round", FIELD(K), .fallback = "5", .high = SPEC_K_MAX},
    {"inner-draft", 0, "SPEC",
     "a smaller model that drafts for the draft model, by the strategy cascade",
     FIELD(pair.inner_draft)},
    {"plain", 0, NULL, "decode with only the target, without speculation", FIELD(plain)},
    {"baseline", 0, NULL, "also measure plain decoding, on the same text", FIELD(baseline)},
    {.help = "The text:", .group = 2},
    {"prompt", 'p', "TEXT", "the prompt (none)", FIELD(opt_prompt), .group = 2},
    {"prompt-file", 0, "FILE", "read the prompt from a file; - is standard input",
     FIELD(opt_prompt_file), .group = 2},
    {"tokens", 'n', "N", "largest number of tokens", FIELD(tokens), .fallback = "256", .low = 1,
     .high = COUNT_MAX, .group = 2},
    {"texts", 0, "N", "number of texts, each with its own random numbers", FIELD(texts),
     .fallback = "1", .low = 1, .high = COUNT_MAX, .group = 2},
    {"color", 0, "WHEN", "colour tokens by their origin: auto (on a terminal), always or never",
     FIELD(colour), .group = 2},
    {0},
};
static const spec_field_relation relations[] = {
    {"plain", false, "baseline", ": plain decoding is the baseline"},
    {"inner-draft", true, "draft", NULL},
    {"inner-draft", false, "ahead", NULL},
    {"prompt", false, "prompt-file", NULL},
    {0},
};

/* ---- the prompt ------------------------------------------------------------------------------ */

static void read_prompt(spec_generate_args *args, const char *verb)
{
    static const spec_input_limit limit = {"a prompt", SPEC_GENERATE_PROMPT_MAX};
    const char *name = args->opt_prompt_file;
    spec_error error = {{0}};
    const int status =
        strcmp(name, "-") == 0
            ? spec_input_file_read_fd(&args->prompt, &args->n_prompt, STDIN_FILENO,
                                      "standard input", &limit, &error)
            : spec_input_file_read(&args->prompt, &args->n_prompt, name, &limit, &error);
    if (status != GSL_SUCCESS) spec_usage_fail(verb, "--prompt-file: %s", error.text);
}

int *spec_generate_args_tokens(size_t *ret_n, const spec_generate_args *args,
                               const spec_model *model, const char *verb)
{
    return spec_prompt_tokens(ret_n, "prompt", args->prompt, args->n_prompt, model, verb);
}

/* ---- all together ---------------------------------------------------------------------------- */

static void choose_output(spec_generate_args *args, const char *verb)
{
    const spec_options *common = &args->common;
    const char *terminal = getenv("TERM");
    args->json = spec_options_json(common, verb);
    const bool always = strcmp(args->colour, "always") == 0,
               automatic = strcmp(args->colour, "auto") == 0;
    if (!always && !automatic && strcmp(args->colour, "never") != 0)
        spec_usage_fail(verb, "--color: '%s' is not auto, always or never", args->colour);
    const char *without = getenv("NO_COLOR");
    const bool wanted = (without == NULL || *without == '\0') &&
                        (terminal == NULL || strcmp(terminal, "dumb") != 0);
    args->shown = common->output == NULL && isatty(STDOUT_FILENO);
    args->coloured = always || (automatic && args->shown && wanted);
}

const spec_fields spec_verb_generate_options = {
    .fields = fields,
    .relations = relations,
    .doc =
    "generate text from a model, with and without speculation\vTokens are printed as they are "
    "generated. On a terminal the text follows its prompt, colours tell accepted draft tokens, "
    "corrections and bonus tokens apart, and control characters are written as \\xNN; otherwise "
    "the output is exactly the bytes of the text. --format json lists the tokens with their "
    "origins. Texts are separated by a line of dashes. For a model without a tokenizer, prompt "
    "and text are token numbers, separated by blanks.\n"
    "\n"
    "The last line gives the speed, tokens per round, alpha_tested (accepted over tested tokens, "
    "docs/notation.md) and, with a GPU or --device auto, the device of each model. --baseline "
    "adds the speed-up over plain decoding with a 95 % interval: both decode the same text in the "
    "same run, taking turns. A warning follows if the machine is busy or the text is too short. A "
    "seed gives the same text for any number of threads; at temperature 0 --plain gives that "
    "text, too.\n"
    "\n"
    "With --inner-draft, a smaller model drafts for the draft model, which verifies these tokens "
    "before the target does. The last line then counts the passes of each model.\n"
    "\n"
    "Sampling options apply to all models; a spec may set its own instead. A perturb draft is "
    "computed from the target's rows and needs none.\n"
    "\n"
    "  $ speclab generate --target ngram:a.txt --draft 'ngram:a.txt?order=2' -n 99\n"
    "  $ speclab generate --target llama2c:stories.bin --baseline --temperature 0",
    .also = spec_pair_options_fields,
    .also_at = offsetof(spec_generate_args, pair),
    .formats = "json: the tokens with their origins (plain text)",
    .output = SPEC_FIELDS_TEXT_OUTPUT,
};

void spec_generate_args_parse(spec_generate_args *args, spec_context *context, int argc,
                              char **argv)
{
    const char *verb = argv[0];
    *args = (spec_generate_args){
        .common = SPEC_OPTIONS_DEFAULT(context), .pair = {.context = context}, .colour = "auto"};
    spec_fields_parse(args, &args->common, &spec_verb_generate_options, argc, argv);
    args->K_given = spec_fields_gave("K");
    if (args->plain) args->pair.verify = SPEC_VERIFY_AUTO; /* plain decoding verifies nothing */
    args->pair.plain = args->plain;
    spec_pair_options_complete(&args->pair, verb);
    if (!args->K_given && args->pair.inner_draft != NULL) args->K = args->pair.levels;
    if (args->plain && args->pair.ahead)
        spec_usage_fail(verb,
                        "--plain and --ahead cannot be combined: plain decoding drafts nothing");
    choose_output(args, verb);
    if (args->opt_prompt_file != NULL) {
        read_prompt(args, verb);
    } else {
        if ((args->prompt = strdup(args->opt_prompt != NULL ? args->opt_prompt : "")) == NULL)
            spec_usage_no_memory(verb);
        args->n_prompt = strlen(args->prompt);
    }
}

void spec_generate_args_free(spec_generate_args *args)
{
    spec_pair_options_free(&args->pair);
    free(args->prompt);
    *args = (spec_generate_args){0};
}
