/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/generate_args.h"

#include "base/input_file.h"
#include "cli/prompt.h"
#include "speclab/round.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_K 5
#define TEXT_OF(value) QUOTED(value)
#define QUOTED(text) #text

enum { COUNT_MAX = 1000000000 };
enum { KEY_PROMPT_FILE = 0x7001, KEY_TEXTS, KEY_PLAIN, KEY_BASELINE, KEY_COLOR };

static const struct argp_option options_table[] = {
    {"K", 'K', "N", 0, "draft tokens per round (" TEXT_OF(DEFAULT_K) ")", 1},
    {"plain", KEY_PLAIN, 0, 0, "decode with only the target, without speculation", 1},
    {"baseline", KEY_BASELINE, 0, 0, "also measure plain decoding, on the same text", 1},
    {0, 0, 0, 0, "The text:", 2},
    {"prompt", 'p', "TEXT", 0, "the prompt (none)", 2},
    {"prompt-file", KEY_PROMPT_FILE, "FILE", 0, "read the prompt from a file; - is standard input",
     2},
    {"tokens", 'n', "N", 0, "largest number of tokens (256)", 2},
    {"texts", KEY_TEXTS, "N", 0, "number of texts, each with its own random numbers (1)", 2},
    {"color", KEY_COLOR, "WHEN", 0,
     "colour tokens by their origin: auto (on a terminal), always or never", 2},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    spec_generate_args *args = state->input;
    const char *verb = state->name;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->pair;
        state->child_inputs[1] = &args->common;
        return 0;
    case 'K':
        args->K = (int)spec_options_count(verb, "K", arg, 0, SPEC_K_MAX);
        args->K_given = true;
        return 0;
    case KEY_PLAIN: args->plain = true; return 0;
    case KEY_BASELINE: args->baseline = true; return 0;
    case 'p': args->opt_prompt = arg; return 0;
    case KEY_PROMPT_FILE: args->opt_prompt_file = arg; return 0;
    case 'n': args->tokens = spec_options_count(verb, "tokens", arg, 1, COUNT_MAX); return 0;
    case KEY_TEXTS: args->texts = spec_options_count(verb, "texts", arg, 1, COUNT_MAX); return 0;
    case KEY_COLOR: args->colour = arg; return 0;
    case ARGP_KEY_ARG:
        spec_usage_fail(verb, "'%s' is not an option; 'speclab generate --help' lists the options",
                        arg);
    default: return ARGP_ERR_UNKNOWN;
    }
}

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

void spec_generate_args_parse(spec_generate_args *args, spec_context *context, int argc,
                              char **argv)
{
    static const struct argp_child children[] = {
        {&spec_pair_options_argp, 0, NULL, 0}, {&spec_options_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        options_table,
        parse,
        NULL,
        "generate text from a model, with and without speculation\vTokens are printed as they are "
        "generated. On a terminal the text follows its prompt, colours tell accepted draft tokens, "
        "corrections and bonus tokens apart, and control characters are written as \\xNN; "
        "otherwise the output is exactly the bytes of the text. --format json lists the tokens "
        "with their origins. Texts are separated by a line of dashes. For a model without a "
        "tokenizer, prompt and text are token numbers, separated by blanks.\n"
        "\n"
        "The last line gives the speed, tokens per round, alpha_tested (accepted over tested "
        "tokens, docs/notation.md) and, with a GPU or --device auto, the device of each model. "
        "--baseline adds the speed-up over plain decoding with a 95 % interval: both decode the "
        "same text in the same run, taking turns. A warning follows if the machine is busy or the "
        "text is too short. A seed gives the same text for any number of threads; at temperature 0 "
        "it is the text of --plain.\n"
        "\n"
        "Sampling options apply to target and draft; a spec may set its own instead. A perturb "
        "draft is computed from the target's rows and needs none.\n"
        "\n"
        "  $ speclab generate --target ngram:a.txt --draft 'ngram:a.txt?order=2' -n 99\n"
        "  $ speclab generate --target llama2c:stories.bin --baseline --temperature 0",
        children,
        NULL,
        NULL};
    const char *verb = argv[0];
    *args = (spec_generate_args){.common = SPEC_OPTIONS_DEFAULT(context),
                                 .pair = SPEC_PAIR_OPTIONS_DEFAULT(context),
                                 .K = DEFAULT_K,
                                 .tokens = 256,
                                 .texts = 1,
                                 .colour = "auto"};
    args->common.opt_formats = "json: the tokens with their origins (plain text)";
    args->common.opt_output = SPEC_OPTIONS_TEXT_OUTPUT;
    spec_usage_parse(&argp, argc, argv, args);
    if (args->plain) args->pair.verify = SPEC_VERIFY_AUTO; /* plain decoding verifies nothing */
    args->pair.plain = args->plain;
    spec_pair_options_complete(&args->pair, verb);
    if (args->plain && args->baseline)
        spec_usage_fail(
            verb, "--plain and --baseline cannot be combined: plain decoding is the baseline");
    if (args->plain && args->pair.ahead)
        spec_usage_fail(verb,
                        "--plain and --ahead cannot be combined: plain decoding drafts nothing");
    if (args->opt_prompt != NULL && args->opt_prompt_file != NULL)
        spec_usage_fail(verb, "--prompt and --prompt-file cannot be combined");
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
