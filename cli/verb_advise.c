/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/names.h"
#include "base/settings.h"
#include "cli/fields.h"
#include "cli/figure_option.h"
#include "cli/output.h"
#include "cli/stop.h"
#include "cli/verb.h"
#include "speclab/no_memory.h"
#include "tools/advise/advice_report.h"
#include "tools/advise/asked_advice.h"
#include "tools/advise/log_format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 256, COLUMNS_OF_A_FILE = 80 };

typedef struct {
    spec_options common;
    const char *file[MOST_FILES], *plain[MOST_FILES], *before, *after, *engine, *figure, *profile;
    int n_files, n_plain, current[MOST_FILES], n_current;
    spec_advice_question question;
} arguments;

/* Parses lengths and ranges, "0,2,4:6". */
static void read_lengths(void *arguments_, const char *word, const char *verb)
{
    spec_advice_question *question = &((arguments *)arguments_)->question;
    bool considered[SPEC_ADVICE_K] = {false};
    char *copy = strdup(word);
    if (copy == NULL) spec_usage_no_memory(verb);
    for (char *rest = copy, *item; (item = strsep(&rest, ",")) != NULL;) {
        char *high = item, *low = strsep(&high, ":");
        uint64_t from, to;
        if (!spec_settings_parse_u64(&from, low) ||
            !spec_settings_parse_u64(&to, high != NULL ? high : low) || from > to ||
            to >= SPEC_ADVICE_K)
            spec_usage_fail(verb,
                            "--K: '%s%s%s' is neither a length nor LOW:HIGH, whole numbers from 0 "
                            "to %d",
                            low, high != NULL ? ":" : "", high != NULL ? high : "",
                            SPEC_ADVICE_K - 1);
        for (uint64_t K = from; K <= to; K++) considered[K] = true;
    }
    free(copy);
    question->K_low = question->K_high = -1;
    for (int K = 0; K < SPEC_ADVICE_K; K++) {
        question->without[K] = !considered[K];
        if (!considered[K]) continue;
        if (question->K_low < 0) question->K_low = K;
        question->K_high = K;
    }
}

static void read_current(void *arguments_, const char *word, const char *verb)
{
    arguments *args = arguments_;
    char *copy = strdup(word);
    if (copy == NULL) spec_usage_no_memory(verb);
    for (char *rest = copy, *item; (item = strsep(&rest, ",")) != NULL;)
        if (args->n_current < MOST_FILES)
            args->current[args->n_current++] =
                (int)spec_options_count(verb, "current", item, 1, SPEC_ADVICE_K - 1);
    free(copy);
}

static void add_file(const char **list, int *n, const char *path, const char *verb)
{
    if (*path == '\0') spec_usage_fail(verb, "a file has no name");
    if (*n == MOST_FILES) spec_usage_fail(verb, "over %d files; join them with cat", MOST_FILES);
    list[(*n)++] = path;
}

static void read_plain(void *arguments_, const char *word, const char *verb)
{
    arguments *args = arguments_;
    add_file(args->plain, &args->n_plain, word, verb);
}

static void read_file(void *arguments_, const char *word, const char *verb)
{
    arguments *args = arguments_;
    add_file(args->file, &args->n_files, word, verb);
}

#define FIELD(member) SPEC_FIELD(arguments, member)
#define RATIO .low = 1e-6, .high = 1e9 /* of speeds and of times */
static const spec_field fields[] = {
    {"plain", 0, "FILE", "a log or metrics of the same load without speculation; may be repeated",
     .read = read_plain, .repeats = true},
    {"plain-tokens-per-s", 0, "X",
     "the speed without speculation, in tokens/s of one request, instead of a file",
     FIELD(question.plain_tokens_per_s), RATIO},
    {"round-over-plain", 0, "X", "the time of a round at the current K, relative to a plain token",
     FIELD(question.round_over_plain), RATIO},
    {"current", 0, "K,...",
     "the draft length of the files, if they do not say it: one for all, or one per file",
     .read = read_current},
    {"K", 'K', "LIST",
     "draft lengths to consider, 0,2,3 or LOW:HIGH (0 to twice the longest that was run)",
     .read = read_lengths},
    {"before", 0, "FILE", "a log from before a change, to compare its acceptance with --after",
     FIELD(before), .group = 2},
    {"after", 0, "FILE", "a log from after the change; the advice is for this one", FIELD(after),
     .group = 2},
    {"engine", 0, "NAME",
     "read the files as logs of this engine, or in this format; see 'speclab list logs' "
     "(recognised by content)",
     FIELD(engine), .group = 2},
    {"figure", 0, "FILE", SPEC_FIGURE_OPTION_HELP, FIELD(figure), .group = 2},
    {"profile", 0, "FILE",
     "also write the measured acceptance as JSON, for 'speclab profile' and --process profile:FILE",
     FIELD(profile), .group = 2},
    {0},
};
static const spec_field_relation relations[] = {
    {"before", true, "after", NULL},
    {"after", true, "before", NULL},
    {"plain", false, "plain-tokens-per-s round-over-plain", NULL},
    {"plain-tokens-per-s", false, "round-over-plain", NULL},
    {0},
};

static void check_engine(const char *name, const char *verb)
{
    spec_error error;
    if (spec_log_format_check(name, spec_log_formats, &error) != GSL_SUCCESS)
        spec_usage_fail(verb, "--engine: %s", error.text);
}

/* Checks that the profile is a separate file, which can be written. */
static void check_profile(const arguments *args, const char *verb)
{
    const char *output = args->common.output;
    spec_error error;
    if (args->profile == NULL) return;
    if (output != NULL && strcmp(output, args->profile) == 0)
        spec_usage_fail(verb, "--profile and -o name the same file, '%s'", output);
    if (output == NULL && strcmp(args->profile, "-") == 0)
        spec_usage_fail(verb, "--profile: - is where the answer goes; give a file, or -o FILE");
    if (spec_output_probe(args->profile, &error) != GSL_SUCCESS)
        spec_usage_fail(verb, "--profile: %s", error.text);
}

static void complete(arguments *args, const char *verb)
{
    if (args->before != NULL && args->n_files > 0)
        spec_usage_fail(verb, "'%s' cannot be combined with --before and --after", args->file[0]);
    if (args->before == NULL && args->n_files == 0)
        spec_usage_fail(verb, "which log? speclab advise server.log, or - for standard input");
    if (args->profile != NULL) check_profile(args, verb);
    if (args->engine != NULL) check_engine(args->engine, verb);
    spec_figure_option_check(args->figure, &args->common, verb);
    args->question.seed = args->common.seed;
}

static int write_text(FILE *out, const spec_diagnosis_facts *facts, const spec_options *common,
                      spec_error *error)
{
    const int columns = spec_options_columns(common);
    return spec_advice_report_write(out, facts,
                                    common->all   ? 0
                                    : columns > 0 ? columns
                                                  : COLUMNS_OF_A_FILE,
                                    error);
}

/* Writes the table to its file or to standard output, and also the text unless standard output has
 * the table. Returns an exit code. */
static int show(const spec_diagnosis_facts *facts, const arguments *args, const char *verb)
{
    const spec_options *common = &args->common;
    spec_table table = {0};
    spec_output output = {0};
    spec_error error = {{0}};
    int status = GSL_SUCCESS, code = SPEC_EXIT_HOLDS;
    if (spec_options_wants_table(common)) {
        SPEC_TRY(spec_advice_report_table(&table, facts, &error));
        if ((code = spec_options_show(&table, common, verb)) != SPEC_EXIT_HOLDS) goto done;
        if (common->output == NULL) goto done;
        SPEC_TRY(write_text(spec_output_standard(), facts, common, &error));
    } else {
        SPEC_TRY(spec_output_open(&output, common->output, verb, &error));
        SPEC_TRY(spec_output_check(&output, write_text(output.out, facts, common, &error), &error));
        SPEC_TRY(spec_output_close(&output, common->force, verb, &error));
    }
done:
    spec_output_discard(&output);
    spec_table_free(&table);
    if (status == GSL_SUCCESS) return code;
    spec_usage_say(verb, "%s", error.text);
    return SPEC_EXIT_USAGE;
}

/* Writes the profile; returns an exit code. A profile requires a round; without one the answer says
 * so. */
static int write_profile(const spec_diagnosis_facts *facts, const arguments *args, const char *verb)
{
    spec_acceptance_profile profile;
    spec_output output = {0};
    spec_error error = {{0}};
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_advice_profile(&profile, facts, args->question.error, &error));
    SPEC_TRY(spec_output_open(&output, args->profile, verb, &error));
    SPEC_TRY(spec_output_check(&output, spec_acceptance_profile_write(&profile, output.out, &error),
                               &error));
    SPEC_TRY(spec_output_close(&output, args->common.force, verb, &error));
    for (int i = 0; i < facts->advice->n; i++) {
        const spec_advice_length *length = &facts->advice->length[i];
        if (length->K == 0 || length->K == profile.K || !(length->rounds > 0.0)) continue;
        spec_usage_say(verb,
                       "--profile: %s has only the rounds with K = %d, not the ones with K = %d",
                       args->profile, profile.K, length->K);
    }
done:
    spec_output_discard(&output);
    spec_acceptance_profile_free(&profile);
    if (status == GSL_SUCCESS) return SPEC_EXIT_HOLDS;
    spec_usage_say(verb, "%s", error.text);
    return status == GSL_EUNSUP ? SPEC_EXIT_UNDECIDED : SPEC_EXIT_USAGE;
}

static int code_of(const spec_diagnosis_facts *facts)
{
    if (spec_advice_report_wrong(facts)) return SPEC_EXIT_FAILS;
    if (facts->advice->compared) /* the question was about a change */
        return isnan(facts->advice->change.before) ? SPEC_EXIT_UNDECIDED : SPEC_EXIT_HOLDS;
    return facts->advice->verdict == SPEC_ADVICE_MEASURE ||
                   facts->advice->verdict == SPEC_ADVICE_NOTHING
               ? SPEC_EXIT_UNDECIDED
               : SPEC_EXIT_HOLDS;
}

static int code_of_error(int status)
{
    return status == GSL_EUNSUP ? SPEC_EXIT_UNDECIDED : SPEC_EXIT_USAGE;
}

static int advise(const arguments *args, const char *verb)
{
    const bool compare = args->before != NULL;
    const spec_advice_paths paths = {.file = compare ? &args->after : args->file,
                                     .n_files = compare ? 1 : args->n_files,
                                     .plain = args->plain,
                                     .n_plain = args->n_plain,
                                     .opt_before = args->before,
                                     .opt_format = args->engine,
                                     .K = args->current,
                                     .n_K = args->n_current,
                                     .opt_stop = &spec_stop};
    spec_asked_advice asked;
    spec_error error = {{0}};
    int status = GSL_SUCCESS, code;
    SPEC_TRY(spec_asked_advice_init(&asked, &paths, &args->question, &error));
    code = show(&asked.facts, args, verb);
    if (code == SPEC_EXIT_HOLDS && args->profile != NULL)
        code = write_profile(&asked.facts, args, verb);
    if (code == SPEC_EXIT_HOLDS) code = code_of(&asked.facts);
done:
    if (status != GSL_SUCCESS) {
        spec_usage_say(verb, "%s", error.text);
        code = code_of_error(status);
    }
    spec_asked_advice_free(&asked);
    return code;
}

const spec_fields spec_verb_advise_options = {
    .fields = fields,
    .relations = relations,
    .doc =
    "recommend a draft length from an engine's log\vWhich K should this engine run? advise reads "
    "logs, metrics and responses of vLLM, SGLang, llama.cpp, TensorRT-LLM and others (- is "
    "standard input), and answers in one sentence: keep K, change it, turn speculation off, or "
    "measure one thing. Below that are the setting to paste, the evidence, with intervals that "
    "allow for dependent tokens, and anything that looks wrong in the numbers. Several files are "
    "read in order as one set of evidence; successive scrapes of counters are subtracted.\n"
    "\n"
    "Speed-ups need the speed of plain decoding: --plain, --plain-tokens-per-s or "
    "--round-over-plain. Exit status: 0 advice, 1 something is wrong, 2 bad input, 3 not enough "
    "data. docs/advise.md has a section for each engine.\n"
    "\n"
    "  $ speclab advise server.log --plain plain.log\n"
    "  $ speclab advise metrics-1.prom metrics-2.prom --round-over-plain 1.4\n"
    "  $ speclab advise server.log -o advice.csv --figure advice.svg\n"
    "  $ speclab advise server.log --profile seen.json\n"
    "  $ speclab advise --before monday.log --after tuesday.log",
    .words = "FILE...",
    .word = read_file,
    .formats =
        "table (the text, default), or rows by K as csv, json, markdown, latex or vertical",
    .output =
        "write the text to FILE; for FILE.csv and FILE.json write the rows, and print the text",
};

int spec_verb_advise(spec_context *context, int argc, char **argv)
{
    arguments args = {.common = SPEC_OPTIONS_DEFAULT(context), .question = SPEC_ADVICE_QUESTION};
    args.common.opt_figure = "advice";
    spec_fields_parse(&args, &args.common, &spec_verb_advise_options, argc, argv);
    complete(&args, argv[0]);
    return spec_figure_option_draw(args.figure, "advice", &args.common, argv[0],
                                   advise(&args, argv[0]));
}
