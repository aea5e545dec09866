/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/progress.h"
#include "cli/device_option.h"
#include "cli/fields.h"
#include "cli/large_file.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress_reports.h"
#include "cli/side_models.h"
#include "cli/stop.h"
#include "cli/verb.h"
#include "speclab/no_memory.h"

#include "base/settings.h"
#include "experiments/rows_make.h"
#include "experiments/rows_summary.h"
#include "models/ngram/corpus.h"

#include <stdlib.h>
#include <string.h>

/* The largest vocabulary stored exactly without --cutoff; maximum bytes of text read per token. */
enum { EXACT_VOCAB = 512, TOKEN_BYTES = 64 };
#define CUTOFF 1e-7
#define COUNT_MAX 1e12

typedef struct {
    spec_options common;
    const char *file, *spec[SPEC_ROWS_SIDES_MAX], *device, *text, *split, *prompt;
    int drafts;
    uint64_t n, length, every;
    double cutoff; /* < 0: not given */
} arguments;

static void read_draft(void *arguments_, const char *spec, const char *verb)
{
    arguments *args = arguments_;
    if (++args->drafts == SPEC_ROWS_SIDES_MAX)
        spec_usage_fail(verb, "--draft: a file has at most %d drafts", SPEC_ROWS_SIDES_MAX - 1);
    args->spec[args->drafts] = spec;
}

static void read_device(void *arguments_, const char *device, const char *verb)
{
    spec_device_option_check(device, verb);
    ((arguments *)arguments_)->device = device;
}

static void take(void *arguments_, const char *word, const char *verb)
{
    arguments *args = arguments_;
    if (args->file != NULL) spec_usage_fail(verb, "'%s' is a second file; give one", word);
    args->file = word;
}

#define FIELD(member) SPEC_FIELD(arguments, member)
static const spec_field fields[] = {
    {.help = "Write a file of rows (-o FILE):"},
    {"target", 0, "SPEC", "the target model", FIELD(spec[0])},
    {"draft", 0, "SPEC", "a draft model; may be repeated, for up to 7 of them", .read = read_draft,
     .repeats = true},
    {"device", 0, "DEVICE", SPEC_DEVICE_OPTION_HELP, .read = read_device},
    {"text", 0, "FILE", "the text: a file, or a pattern that matches several", FIELD(text)},
    {"split", 0, "TEXT", "separator between two texts in the file ($'\\n\\n' is an empty line)",
     FIELD(split)},
    {"positions", 'n', "N",
     "largest number of positions; without --text, the target generates the texts (--seed)",
     FIELD(n), .low = 1, .high = COUNT_MAX},
    {"prompt", 0, "TEXT",
     "prompt of the texts that the target generates (the model's own prompts, or none)",
     FIELD(prompt)},
    {"length", 0, "N",
     "largest length of a text in tokens, after which the context starts again (the context window "
     "of the models)",
     FIELD(length), .low = 1, .high = COUNT_MAX},
    {"every", 0, "N", "store the rows of every Nth position (1)", FIELD(every), .low = 1,
     .high = COUNT_MAX},
    {"cutoff", 0, "P",
     "leave out tokens of smaller probability, and store the rest as floats; 0: store all rows "
     "exactly (0 for vocabularies up to 512 tokens, else 1e-7)",
     FIELD(cutoff), .high = SPEC_ROWS_CUTOFF_MAX},
    {0},
};

static void check(const arguments *args, const char *verb)
{
    const bool makes = args->spec[0] != NULL;
    const bool asks = args->drafts > 0 || args->device != NULL || args->text != NULL ||
                      args->split != NULL || args->prompt != NULL || args->n > 0 ||
                      args->length > 0 || args->every > 0 || args->cutoff >= 0.0;
    if (args->file != NULL && (makes || asks))
        spec_usage_fail(verb, "'%s' is a file to show; name the file to write with -o", args->file);
    if (args->file != NULL) return;
    if (!makes)
        spec_usage_fail(verb,
                        "give FILE.rows to show a file, or --target SPEC to write one; see --help");
    if (args->common.output == NULL) spec_usage_fail(verb, "name the file to write: -o FILE.rows");
    if (args->text == NULL && args->n == 0)
        spec_usage_fail(
            verb, "give --text FILE, or -n N for N positions of text that the target generates");
    if (args->split != NULL && args->text == NULL) spec_usage_fail(verb, "--split needs --text");
    if (args->text != NULL && args->prompt != NULL)
        spec_usage_fail(verb, "--text and --prompt cannot be combined");
}

static int announce(void *self, const spec_rows_forecast *forecast, spec_error *error)
{
    const arguments *args = self;
    return spec_large_file_announce("speclab rows", args->common.output, forecast->bytes,
                                    forecast->seconds, "-n N writes fewer positions", error);
}

/* ---- texts ----------------------------------------------------------------------------------- */

typedef struct {
    char *bytes;
    size_t n, capacity;
} text;

static int append(text *into, const unsigned char *bytes, size_t n, spec_error *error)
{
    if (n > into->capacity - into->n) {
        const size_t capacity = 2 * into->capacity + n;
        char *more = realloc(into->bytes, capacity);
        if (more == NULL)
            return spec_fail(error, GSL_ENOMEM,
                             "out of memory for the text; -n N reads fewer positions");
        into->bytes = more;
        into->capacity = capacity;
    }
    if (n > 0) memcpy(into->bytes + into->n, bytes, n);
    into->n += n;
    return GSL_SUCCESS;
}

static int read_text(text *into, const arguments *args, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_corpus corpus = {.descriptor = -1};
    spec_block block;
    const double most = TOKEN_BYTES * (double)args->n * (double)(args->every > 0 ? args->every : 1);
    const bool less = args->n > 0 && most < (double)SPEC_CORPUS_BYTES_MAX;
    SPEC_TRY(spec_corpus_init(&corpus, args->text, spec_context_share(args->common.context),
                              less ? (uint64_t)most : 0, error));
    do {
        SPEC_TRY(spec_corpus_next(&block, &corpus, 0, error));
        if (block.text != NULL) SPEC_TRY(append(into, block.text, block.length, error));
    } while (block.text != NULL);
done:
    spec_corpus_free(&corpus);
    return status;
}

typedef struct {
    int *token;
    size_t n, capacity;
    size_t *end; /* (n_texts) */
    size_t n_texts, texts_capacity;
} tokens;

/* Appends one text in the target's tokens. */
static int tokenize(tokens *into, const spec_model *target, const char *bytes, size_t length,
                    spec_error *error)
{
    if (target->kind->tokenize == NULL)
        return spec_fail(
            error, GSL_EINVAL,
            "%.200s has no tokenizer for --text; use -n N, with text that the target generates",
            target->spec);
    for (size_t n = length + 16;;) { /* hardly ever more tokens than bytes */
        const size_t wanted = into->n + n;
        if (wanted > into->capacity) {
            int *token = realloc(into->token, (wanted + wanted / 2) * sizeof *token);
            if (token == NULL)
                return spec_fail(error, GSL_ENOMEM, "out of memory for %zu tokens", wanted);
            into->token = token;
            into->capacity = wanted + wanted / 2;
        }
        n = target->kind->tokenize(target, bytes, length, into->token + into->n,
                                   into->capacity - into->n);
        if (n == SPEC_TOKENS_LOST)
            return spec_fail(error, GSL_ENOMEM, "out of memory for the tokens of the text");
        if (n > into->capacity - into->n) continue;
        into->n += n;
        break;
    }
    if (into->n_texts == into->texts_capacity) {
        const size_t capacity = 2 * into->texts_capacity + 64;
        size_t *end = realloc(into->end, capacity * sizeof *end);
        if (end == NULL)
            return spec_fail(error, GSL_ENOMEM, "out of memory for %zu texts", capacity);
        into->end = end;
        into->texts_capacity = capacity;
    }
    into->end[into->n_texts++] = into->n;
    return GSL_SUCCESS;
}

static int tokenize_all(tokens *into, const spec_model *target, const text *given,
                        const char *opt_split, spec_error *error)
{
    int status = GSL_SUCCESS;
    const char *at = given->bytes, *const end = given->bytes + given->n;
    for (;;) {
        const char *next =
            opt_split != NULL ? memmem(at, (size_t)(end - at), opt_split, strlen(opt_split)) : NULL;
        SPEC_TRY(tokenize(into, target, at, (size_t)((next != NULL ? next : end) - at), error));
        if (next == NULL) break;
        at = next + strlen(opt_split);
    }
done:
    return status;
}

/* ---- the verb -------------------------------------------------------------------------------- */

static int make(const arguments *args, const char *verb, spec_error *error)
{
    int status = GSL_SUCCESS, kept = 0;
    spec_model *model[SPEC_ROWS_SIDES_MAX] = {NULL};
    char *spec[SPEC_ROWS_SIDES_MAX] = {NULL};
    tokens read = {0};
    text given = {0};
    spec_rows_plan plan = {.sides = args->drafts + 1,
                           .places = args->n,
                           .every = args->every > 0 ? args->every : 1,
                           .length = args->length,
                           .seed = args->common.seed,
                           .opt_kept = &kept,
                           .opt_stop = &spec_stop,
                           .progress = spec_progress_reports_places,
                           .opt_forecast = announce,
                           .self = (void *)(uintptr_t)args};
    spec_progress_phase("loading the models");
    for (int s = 0; s < plan.sides; s++) {
        if ((spec[s] = strdup(args->spec[s])) == NULL) SPEC_TRY(spec_no_memory(error));
        spec_device_option_add(&spec[s], args->device, verb);
    }
    SPEC_TRY(spec_side_models_open(model, (const char *const *)spec, plan.sides,
                                   args->common.context, error));
    for (int s = 0; s < plan.sides; s++) plan.model[s] = model[s];
    spec_progress_phase(NULL);
    if (args->text != NULL) SPEC_TRY(read_text(&given, args, error));
    else if (args->prompt != NULL)
        SPEC_TRY(append(&given, (const unsigned char *)args->prompt, strlen(args->prompt), error));
    if (args->text != NULL || args->prompt != NULL)
        SPEC_TRY(tokenize_all(&read, model[0], &given, args->split, error));
    *(args->text != NULL ? &plan.opt_text : &plan.opt_prompt) = read.token;
    plan.n_prompt = read.n;
    plan.text_end = read.end;
    plan.n_texts = read.n_texts;
    plan.cutoff = args->cutoff >= 0.0              ? args->cutoff
                  : model[0]->vocab <= EXACT_VOCAB ? 0.0
                                                   : CUTOFF;
    spec_output_say_left_over(args->common.output, verb);
    SPEC_TRY(spec_rows_make(args->common.output, &plan, error));
done:
    spec_output_say_kept(args->common.output, kept, args->common.force, verb);
    for (int s = plan.sides - 1; s >= 0; s--) {
        spec_model_close(model[s]);
        free(spec[s]);
    }
    free(given.bytes);
    free(read.token);
    free(read.end);
    return status;
}

const spec_fields spec_verb_rows_options = {
    .fields = fields,
    .doc =
    "record the distributions of a target and its drafts along a text\vThe file stores, for "
    "each position of the text, the next-token distributions of the target and of each draft. "
    "Every verb takes rows:FILE and rows:FILE?side=draft as models: real distributions, "
    "without the models that computed them. The table describes the file, and how far its "
    "rows are from those of the models.\n"
    "\n"
    "  $ speclab rows --target big.gguf --draft small.gguf -n 1000 -o p.rows\n"
    "  $ speclab accept --target p.rows --draft 'p.rows?side=draft' --contexts all\n"
    "  $ speclab rows p.rows",
    .words = "[FILE]",
    .word = take,
};

int spec_verb_rows(spec_context *context, int argc, char **argv)
{
    arguments args = {.common = SPEC_OPTIONS_DEFAULT(context), .cutoff = -1.0};
    spec_error error = {{0}};
    spec_table table;
    spec_fields_parse(&args, &args.common, &spec_verb_rows_options, argc, argv);
    if (args.split != NULL && *args.split == '\0')
        spec_usage_fail(argv[0], "--split: the separator is empty");
    check(&args, argv[0]);
    spec_options show = args.common;
    const char *file = args.file;
    if (file == NULL) {
        if (make(&args, argv[0], &error) != GSL_SUCCESS) {
            spec_usage_say(argv[0], "%s", error.text);
            return SPEC_EXIT_USAGE;
        }
        file = args.common.output;
        show.output = NULL;
    }
    if (spec_rows_summary(&table, file, context->pool, &error) != GSL_SUCCESS)
        spec_usage_fail(argv[0], "%s", error.text);
    const int code = spec_options_show(&table, &show, argv[0]);
    spec_table_free(&table);
    return code;
}
