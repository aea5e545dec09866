/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/memory_text.h"
#include "base/text_width.h"
#include "cli/fields.h"
#include "cli/output.h"
#include "cli/verb.h"
#include "experiments/report/say.h"
#include "speclab/no_memory.h"
#include "tools/advise/profile_settings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_OF_A_FILE = 80 };

typedef struct {
    spec_options common;
    const char *file;
    const spec_profile_tool *tool;
} arguments;

static void read_tool(void *arguments_, const char *word, const char *verb)
{
    spec_error error;
    const int tool = spec_profile_tool_find(word, &error);
    if (tool < 0) spec_usage_fail(verb, "--for: %s", error.text);
    ((arguments *)arguments_)->tool = &spec_profile_tools[tool];
}

static void read_file(void *arguments_, const char *word, const char *verb)
{
    arguments *args = arguments_;
    if (args->file != NULL)
        spec_usage_fail(verb, "'%s' and '%s' are two profiles; give only one", args->file, word);
    args->file = word;
}

static const spec_field fields[] = {
    {"for", 0, "TOOL",
     "print the setting of this tool: vllm, sglang, tensorrt-llm, atom, aiconfigurator, dynamo or "
     "inferencex",
     .read = read_tool},
    {0},
};

/* ---- as a table ------------------------------------------------------------------------------ */

static const char *const columns[] = {
    "depth",       "unconditional",   "unconditional_low", "unconditional_high",
    "conditional", "conditional_low", "conditional_high",  "tokens_per_round"};

static int fill_table(spec_table *table, const spec_acceptance_profile *profile, spec_error *error)
{
    if (spec_table_init(table, columns, sizeof columns / sizeof *columns) != GSL_SUCCESS)
        return spec_no_memory(error);
    for (int i = 0; i < profile->K; i++) {
        const spec_profile_number *all = &profile->unconditional[i],
                                  *reached = &profile->conditional[i];
        const double number[] = {all->value,
                                 all->low,
                                 all->high,
                                 reached->value,
                                 reached->low,
                                 reached->high,
                                 spec_acceptance_profile_length(profile, i + 1)};
        spec_table_integer(table, columns[0], i + 1);
        for (int c = 1; c < 8; c++) spec_table_number(table, columns[c], number[c - 1]);
        if (spec_table_append(table) != GSL_SUCCESS) return spec_no_memory(error);
    }
    return GSL_SUCCESS;
}

/* ---- as a text ------------------------------------------------------------------------------- */

static int write_depths(FILE *out, const spec_acceptance_profile *profile, spec_error *error)
{
    static const char *const name[] = {"depth", "of all rounds", "of those that reach it",
                                       "tokens/round"};
    spec_table table = {0};
    int status = GSL_SUCCESS;
    if (spec_table_init(&table, name, 4) != GSL_SUCCESS) SPEC_TRY(spec_no_memory(error));
    for (int i = 0; i < profile->K; i++) {
        const spec_profile_number *all = &profile->unconditional[i],
                                  *reached = &profile->conditional[i];
        spec_table_integer(&table, name[0], i + 1);
        spec_table_text(&table, name[1], spec_say_share(all->value, all->low, all->high).text);
        spec_table_text(&table, name[2],
                        spec_say_share(reached->value, reached->low, reached->high).text);
        spec_table_text(
            &table, name[3],
            spec_say_ratio(spec_acceptance_profile_length(profile, i + 1), NAN, NAN).text);
        if (spec_table_append(&table) != GSL_SUCCESS) SPEC_TRY(spec_no_memory(error));
    }
    SPEC_TRY(spec_table_write(&table, SPEC_FORMAT_TABLE, out, error));
done:
    spec_table_free(&table);
    return status;
}

static int write_profile(FILE *out, const spec_acceptance_profile *profile, spec_error *error)
{
    const spec_profile_number *length = &profile->length;
    fprintf(out,
            "With K = %d a round emits %s tokens, the bonus or correction token included; without "
            "it, %s are accepted.\n\n",
            profile->K, SPEC_SAY_RATIO(*length),
            spec_say_ratio(length->value - 1.0, length->low - 1.0, length->high - 1.0).text);
    const int status = write_depths(out, profile, error);
    if (status != GSL_SUCCESS) return status;
    fprintf(out, "\n[low, high]: 95 %% interval; tokens/round: with drafts cut at this depth.\n");
    if (profile->one_rate)
        fprintf(out, "\n"
                     "The engine printed only the mean length, so the rates by depth assume that "
                     "all depths have the same conditional rate.\n");
    if (profile->rounds > 0.0)
        fprintf(out, "\nSeen in %.0f rounds%s%s.\n", profile->rounds,
                profile->engine[0] != '\0' ? " of " : "", profile->engine);
    return GSL_SUCCESS;
}

/* Wraps prose; lines with two blanks in a row are settings and tables, which stay whole. */
static void wrap(FILE *out, char *text, int width)
{
    for (char *line = text, *end; *line != '\0'; line = end + 1) {
        end = line + strcspn(line, "\n");
        *end = '\0';
        spec_text_wrap(line, strstr(line, "  ") != NULL ? 0 : width, 0, out);
        fputc('\n', out);
    }
}

/* Writes the text, wrapped to the terminal, or to the usual width in a file. */
static int write_text(FILE *out, const spec_acceptance_profile *profile, const arguments *args,
                      spec_error *error)
{
    const int width = spec_options_columns(&args->common);
    spec_memory_text made;
    int status = GSL_SUCCESS;
    if (!spec_memory_text_open(&made)) return spec_no_memory(error);
    if (args->tool != NULL)
        spec_profile_tool_write(made.out, args->tool, profile);
    else
        status = write_profile(made.out, profile, error);
    char *text = spec_memory_text_take(&made, NULL);
    if (status == GSL_SUCCESS && text == NULL) status = spec_no_memory(error);
    if (status == GSL_SUCCESS)
        wrap(out, text, args->common.all ? 0 : width > 0 ? width : COLUMNS_OF_A_FILE);
    free(text);
    return status;
}

static int show(const spec_acceptance_profile *profile, const arguments *args, const char *verb)
{
    const spec_options *common = &args->common;
    spec_table table = {0};
    spec_output output = {0};
    spec_error error = {{0}};
    int status = GSL_SUCCESS, code = SPEC_EXIT_HOLDS;
    if (args->tool == NULL && spec_options_wants_table(common)) {
        SPEC_TRY(fill_table(&table, profile, &error));
        code = spec_options_show(&table, common, verb);
    } else {
        SPEC_TRY(spec_output_open(&output, common->output, verb, &error));
        SPEC_TRY(spec_output_check(&output, write_text(output.out, profile, args, &error), &error));
        SPEC_TRY(spec_output_close(&output, common->force, verb, &error));
    }
done:
    spec_output_discard(&output);
    spec_table_free(&table);
    if (status == GSL_SUCCESS) return code;
    spec_usage_say(verb, "%s", error.text);
    return SPEC_EXIT_USAGE;
}

const spec_fields spec_verb_profile_options = {
    .fields = fields,
    .doc =
    "show the acceptance that advise measured, and the settings that reproduce it in other "
    "tools\vA profile is the JSON file that 'speclab advise --profile FILE' writes: acceptance by "
    "depth at one K. Engines and simulators that accept drafts at a given rate want it in "
    "different forms: some count the bonus token, some take rates of all rounds, others rates of "
    "those that reach a depth. --for prints the setting of one of them and says what it counts. "
    "predict, sweep and serve read the file with --process profile:FILE.\n"
    "\n"
    "  $ speclab advise server.log --profile seen.json\n"
    "  $ speclab profile seen.json\n"
    "  $ speclab profile seen.json --for vllm",
    .words = "FILE",
    .word = read_file,
    .formats =
        "table (the text, default), or rows by depth as csv, json, markdown, latex or vertical",
    .output = SPEC_FIELDS_TEXT_OUTPUT,
};

int spec_verb_profile(spec_context *context, int argc, char **argv)
{
    arguments args = {.common = SPEC_OPTIONS_DEFAULT(context)};
    spec_acceptance_profile profile;
    spec_error error;
    spec_fields_parse(&args, &args.common, &spec_verb_profile_options, argc, argv);
    if (args.file == NULL)
        spec_usage_fail(argv[0],
                        "which profile? 'speclab advise server.log --profile FILE' writes one");
    if (args.tool != NULL && args.common.format_given)
        spec_usage_fail(argv[0], "--for prints a setting, and --format a table; give only one");
    if (spec_acceptance_profile_load(&profile, args.file, &error) != GSL_SUCCESS) {
        spec_usage_say(argv[0], "%s", error.text);
        return SPEC_EXIT_USAGE;
    }
    const int code = show(&profile, &args, argv[0]);
    spec_acceptance_profile_free(&profile);
    return code;
}
