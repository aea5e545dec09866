/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/fields.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/serve_advice.h"
#include "cli/share.h"
#include "cli/validate_calibrate.h"
#include "cli/verb.h"

#include "base/escape.h"
#include "base/memory_text.h"
#include "experiments/shard_merge.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LINES = 10 /* commands printed at once */, KEY_FORCE = 0xA001 };

typedef struct {
    const char *output;
    bool force;
    const char **path; /* (n) */
    size_t n;
} arguments;

static void read_output(void *arguments_, const char *word, const char *verb)
{
    if (*word == '\0') spec_usage_fail(verb, "--output: the file has no name");
    ((arguments *)arguments_)->output = strcmp(word, "-") == 0 ? NULL : word;
}

static void take(void *arguments_, const char *word, const char *verb)
{
    arguments *args = arguments_;
    (void)verb;
    args->path[args->n++] = word;
}

static const spec_field fields[] = {
    {"output", 'o', "FILE", "write to FILE instead of standard output", .read = read_output},
    {"force", 0, NULL,
     "overwrite FILE; without --force an older file that differs is kept as FILE.bak",
     SPEC_FIELD(arguments, force)},
    {0},
};

/* Returns whether the first line of a text is a command of plain and quoted words alone, as speclab
 * writes it, so that a shell would do nothing else with it. */
static bool is_plain_command(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_./:=,@%+- ";
    bool quoted = false;
    for (; *text != '\0' && *text != '\n'; text++) {
        if (*text == '\'')
            quoted = !quoted;
        else if (!quoted && *text == '\\' && text[1] == '\'')
            text++;
        else if (!quoted && strchr(plain, *text) == NULL)
            return false;
    }
    return !quoted;
}

/* Writes the first line of a text, a command; if it is not as speclab writes it, each word is
 * quoted. */
static void write_words(FILE *out, const char *text)
{
    if (is_plain_command(text)) {
        fwrite(text, 1, strcspn(text, "\n"), out);
        return;
    }
    for (size_t n; *text != '\0' && *text != '\n'; text += n) {
        char *word = strndup(text, n = strcspn(text, " \n"));
        if (word != NULL) spec_escape_shell(out, word);
        free(word);
        if (text[n] == ' ') fputc(text[n++], out);
    }
}

/* For each line of the text that begins with this key, writes `before` and the rest of the line as
 * one word. */
static void write_lines(FILE *out, const char *opt_text, const char *key, const char *before)
{
    for (; opt_text != NULL; opt_text = strstr(opt_text + 1, "\n| ")) {
        if (strncmp(opt_text, key, strlen(key)) != 0) continue;
        const char *value = opt_text + strlen(key);
        char *word = strndup(value, strcspn(value, "\n"));
        fputs(before, out);
        if (word != NULL) spec_escape_shell(out, word);
        free(word);
    }
}

/* Writes "speclab run 'NAME' --set K=3", or the command of another verb, from the lines of the
 * head. */
static void write_command(FILE *out, const spec_parts *parts)
{
    char name[NAME_MAX + sizeof ".cfg"], seed[32], path[PATH_MAX], relative[PATH_MAX];
    spec_table head = {.provenance = parts->head};
    const char *line = strstr(parts->head, "\n| ");
    const bool verb = line != NULL && strncmp(line, "\n| speclab ", 11) == 0;
    if (verb) {
        write_words(out, line + 3);
        write_lines(out, line, "\n| # word ", " ");
    } else {
        if (spec_table_provenance(&head, "experiment", name, NAME_MAX + 1) == NULL) name[0] = '\0';
        snprintf(relative, sizeof relative, "experiments/cfg/%s.cfg", name);
        fputs("speclab run ", out);
        if (spec_share_find(path, sizeof path, relative) != 0) strcat(name, ".cfg");
        spec_escape_shell_file(out, name);
        write_lines(out, line, "\n| # set ", " --set ");
    }
    if (verb && spec_table_provenance(&head, "seed", seed, sizeof seed) != NULL &&
        strcmp(seed, "42") != 0) {
        fputs(" --seed ", out);
        spec_escape_shell(out, seed);
    }
}

/* Prints one line for a shard that is missing (opt_part NULL) or unfinished, with the command to
 * type. */
static void say_unfinished(const spec_parts *parts, const spec_part *opt_part, uint64_t number,
                           const char *verb)
{
    spec_memory_text text;
    if (!spec_memory_text_open(&text)) spec_usage_no_memory(verb);
    write_command(text.out, parts);
    fprintf(text.out, " --%s %llu/%llu", parts->part[0].by_groups ? "batches" : "shard",
            (unsigned long long)number, (unsigned long long)parts->shards);
    fputs(opt_part != NULL ? " --resume -o " : " -o ", text.out);
    spec_escape_shell_file(text.out, opt_part != NULL ? opt_part->path : "FILE");
    char *command = spec_memory_text_take(&text, NULL);
    if (command == NULL) spec_usage_no_memory(verb);
    if (opt_part == NULL)
        spec_usage_say(verb, "shard %llu/%llu is missing: %s", (unsigned long long)number,
                       (unsigned long long)parts->shards, command);
    else
        spec_usage_say(verb, "%s has %llu of the %llu points of shard %llu/%llu: %s",
                       opt_part->path, (unsigned long long)opt_part->done,
                       (unsigned long long)opt_part->size, (unsigned long long)number,
                       (unsigned long long)parts->shards, command);
    free(command);
}

static void say_all_unfinished(const spec_parts *parts, const char *verb)
{
    uint64_t said = 0;
    size_t next = 0;
    for (uint64_t number = 1; number <= parts->shards; number++) {
        const spec_part *part = &parts->part[next];
        const bool there = next < parts->n && part->shard.number == number;
        next += there;
        if (there && part->done == part->size && part->size > 0) continue;
        if (said++ < MOST_LINES) say_unfinished(parts, there ? part : NULL, number, verb);
    }
    if (said > MOST_LINES)
        spec_usage_say(verb, "and %llu more shards are missing or unfinished",
                       (unsigned long long)(said - MOST_LINES));
}

/* Writes the rows of the run, or what the run makes of them, and says what it would say at its
 * end. */
static int merge(const spec_parts *parts, const arguments *args, const char *verb)
{
    const spec_table head = {.provenance = parts->head};
    const bool calibration = spec_validate_calibrate_is(&head);
    const char *path = calibration ? NULL : args->output;
    spec_result result;
    spec_error error = {{0}};
    if (path != NULL) spec_output_say_left_over(path, verb);
    const int status = spec_parts_merge(
        &result, parts, path, path == NULL && !calibration ? spec_output_standard() : NULL, &error);
    if (path != NULL) spec_output_say_kept(path, result.kept, args->force, verb);
    if (status != GSL_SUCCESS) spec_usage_fail(verb, "%s", error.text);
    int code;
    if (calibration) {
        const spec_options options = {.output = args->output, .force = args->force};
        code = spec_validate_calibrate_merge(&result.table, &options, verb);
    } else {
        code = spec_options_checked(&result, spec_measure_of_table(&head), &error);
        if (strstr(parts->head, "\n| speclab serve ") != NULL && !parts->part[0].by_groups) {
            const int after = spec_serve_advice_say(&result.table, verb);
            if (code == SPEC_EXIT_HOLDS) code = after;
        }
        if (error.text[0] != '\0') spec_usage_say(verb, "%s", error.text);
    }
    spec_result_free(&result);
    return code;
}

const spec_fields spec_verb_merge_options = {
    .fields = fields,
    .alone = true,
    .doc =
    "join the parts of a run with --shard or --batches\vParts made with --shard, also those of "
    "'validate --calibrate', merge into the same bytes that the command writes without it. Parts "
    "made with --batches merge into a file of sums, which the same command reads with --sums. All "
    "parts must come from the same command and be finished; if one is missing or unfinished, merge "
    "prints the command to type. The exit status is 1 if a check failed.\n"
    "\n"
    "  $ speclab run speedup_table --shard 1/2 -o part1.csv\n"
    "  $ speclab run speedup_table --shard 2/2 -o part2.csv\n"
    "  $ speclab merge part1.csv part2.csv -o speedup.csv",
    .words = "PART.csv...",
    .word = take,
};

int spec_verb_merge(spec_context *context, int argc, char **argv)
{
    (void)context;
    arguments args = {.path = calloc((size_t)argc, sizeof *args.path)};
    if (args.path == NULL) spec_usage_no_memory(argv[0]);
    spec_fields_parse(&args, NULL, &spec_verb_merge_options, argc, argv);
    if (args.n == 0)
        spec_usage_fail(argv[0], "no part is given; 'speclab run --shard I/N' writes them");

    spec_parts parts;
    spec_error error = {{0}};
    int code = SPEC_EXIT_USAGE;
    if (spec_parts_read(&parts, args.path, args.n, &error) != GSL_SUCCESS)
        spec_usage_fail(argv[0], "%s", error.text);
    if (spec_parts_are_whole(&parts)) code = merge(&parts, &args, argv[0]);
    else say_all_unfinished(&parts, argv[0]);
    spec_parts_free(&parts);
    free(args.path);
    return code;
}
