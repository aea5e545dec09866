/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/grid_verb.h"

#include "base/escape.h"
#include "base/memory_text.h"
#include "cli/verb.h"
#include "experiments/grid_references.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_SIZE = 64, MOST_AXES = 32 };

static char *copy_text(const char *verb, const char *text)
{
    char *copy = strdup(text);
    if (copy == NULL) spec_usage_no_memory(verb);
    return copy;
}

/* Writes the name of the field's parameter. */
static void name_parameter(char name[SPEC_VERB_PARAMETER_SIZE], const spec_field *field)
{
    snprintf(name, SPEC_VERB_PARAMETER_SIZE, "%s",
             field->parameter != NULL ? field->parameter : field->name);
    for (char *c = name; *c != '\0'; c++) {
        if (*c == '-') *c = '_';
    }
}

/* Returns whether a text of that length is the name of the field's parameter. */
static bool is_parameter(const spec_field *field, const char *name, size_t length)
{
    char parameter[SPEC_VERB_PARAMETER_SIZE];
    if (field->name == NULL) return false;
    name_parameter(parameter, field);
    return strlen(parameter) == length && strncmp(parameter, name, length) == 0;
}

static const char *option_of(char option[OPTION_SIZE], const spec_grid_verb *verb,
                             const char *parameter, size_t length)
{
    snprintf(option, OPTION_SIZE, "%.*s", (int)length, parameter);
    for (const char *const *pair = verb->option; pair != NULL && *pair != NULL; pair += 2) {
        if (strcmp(option, pair[0]) != 0) continue;
        snprintf(option, OPTION_SIZE, "%s", pair[1]);
        return option;
    }
    for (const spec_field *field = verb->fields; field->help != NULL; field++)
        if (is_parameter(field, parameter, length))
            snprintf(option, OPTION_SIZE, "%s", field->name);
    return option;
}

/* Returns the command as one line for the provenance, as one would type it in a shell: the given
 * axes, in order. */
static char *command_text(const spec_grid_verb *verb)
{
    spec_memory_text made;
    if (!spec_memory_text_open(&made)) spec_usage_no_memory(verb->verb);
    FILE *out = made.out;
    fputs(verb->verb, out);
    for (int i = 0; i < verb->n_axes; i++) {
        const spec_verb_axis *axis = &verb->axis[i];
        char option[OPTION_SIZE];
        if (axis->value == NULL || axis->kind == SPEC_AXIS_MADE) continue;
        fprintf(out, " --%s", option_of(option, verb, axis->name, strlen(axis->name)));
        if (axis->value[0] == '\0') continue;
        fputc(' ', out);
        spec_escape_shell(out, axis->value);
    }
    if (verb->rounds > 0) fprintf(out, " --rounds %llu", (unsigned long long)verb->rounds);
    if (verb->standard_error > 0) fprintf(out, " --standard-error %g", verb->standard_error);
    char *text = spec_memory_text_take(&made, NULL);
    if (text == NULL) spec_usage_no_memory(verb->verb);
    return text;
}

/* Returns whether a list may be a decimal number with a comma: "0,8". */
static bool is_decimal_comma(const spec_verb_axis *axis)
{
    const char *value = axis->value;
    if (axis->kind != SPEC_AXIS_NUMBERS || value == NULL || strncmp(value, "0,", 2) != 0)
        return false;
    return value[2] != '\0' && value[2 + strspn(value + 2, "0123456789")] == '\0';
}

/* Prints an error; if it begins with a parameter, "alpha: ...", names its option instead. */
static void say(const spec_grid_verb *verb, const char *line)
{
    char option[OPTION_SIZE];
    const size_t length = strcspn(line, ":");
    const spec_field *field = verb->fields;
    while (field->help != NULL && !is_parameter(field, line, length)) field++;
    if (field->help == NULL) {
        spec_usage_say(verb->verb, "%s", line);
        return;
    }
    option_of(option, verb, line, length);
    for (int i = 0; i < verb->n_axes; i++) {
        const spec_verb_axis *axis = &verb->axis[i];
        if (!is_parameter(field, axis->name, strlen(axis->name)) || !is_decimal_comma(axis))
            continue;
        spec_usage_say(verb->verb, "--%s%s; '%s' is a list of two numbers, the number is 0.%s",
                       option, line + length, axis->value, axis->value + 2);
        return;
    }
    spec_usage_say(verb->verb, "--%s%s", option, line + length);
}

static const char *typed_for(char typed[OPTION_SIZE], const void *self, const char *parameter)
{
    char option[OPTION_SIZE];
    option_of(option, self, parameter, strlen(parameter));
    snprintf(typed, OPTION_SIZE, "--%.60s ", option);
    return typed;
}

static void set_columns(spec_experiment *experiment, const spec_grid_verb *verb)
{
    if (verb->show == NULL) return;
    char *copy = copy_text(verb->verb, verb->show);
    experiment->show = calloc(strlen(copy) / 2 + 1, sizeof *experiment->show);
    if (experiment->show == NULL) spec_usage_no_memory(verb->verb);
    for (char *rest = copy, *word; (word = strsep(&rest, ",")) != NULL;)
        experiment->show[experiment->n_show++] = copy_text(verb->verb, word);
    free(copy);
}

/* Fills the grid: the _MADE axes zipped, times the product of the other axes. */
static void fill_grid(spec_grid *grid, const spec_grid_verb *verb)
{
    spec_error error = {{0}};
    spec_grid product = {0};
    for (int i = 0; i < verb->n_axes; i++) {
        const spec_verb_axis *axis = &verb->axis[i];
        if (axis->value == NULL) continue;
        switch (axis->kind) {
        case SPEC_AXIS_NUMBERS:
            spec_options_numbers(&product, verb->verb, axis->name, axis->value);
            break;
        case SPEC_AXIS_NAMES:
            spec_options_texts(&product, verb->verb, axis->name, axis->value, ",");
            break;
        case SPEC_AXIS_LINES:
            spec_options_texts(&product, verb->verb, axis->name, axis->value, "\n");
            break;
        case SPEC_AXIS_FLAG: spec_options_numbers(&product, verb->verb, axis->name, "1"); break;
        case SPEC_AXIS_MADE:
            spec_options_texts(grid, verb->verb, axis->name, axis->value, "\n");
            break;
        case SPEC_AXIS_NONE:
        case SPEC_AXIS_ASKED: break;
        }
    }
    if (grid->n_axes == 0) {
        *grid = product;
        product = (spec_grid){0};
    } else {
        grid->zipped = true;
        if (spec_grid_cross(grid, &product, &error) != GSL_SUCCESS)
            spec_usage_fail(verb->verb, "%s", error.text);
    }
    if (spec_grid_references_expand(grid, &error) != GSL_SUCCESS)
        spec_usage_fail(verb->verb, "%s", error.text);
    spec_grid_free(&product);
}

static int run(const spec_grid_verb *verb, const spec_options *options)
{
    spec_error error = {{0}};
    spec_experiment experiment = {0};
    char *text = command_text(verb);
    if (spec_experiment_init(&experiment, strrchr(verb->verb, ' ') + 1, text, verb->measure,
                             &error) != GSL_SUCCESS)
        spec_usage_fail(verb->verb, "%s", error.text);
    free(text);
    if (verb->figure != NULL) {
        free(experiment.figure);
        experiment.figure = copy_text(verb->verb, verb->figure);
    }
    experiment.rounds = verb->rounds;
    experiment.standard_error = verb->standard_error;
    experiment.seed = options->seed;
    fill_grid(&experiment.grid, verb);
    set_columns(&experiment, verb);
    spec_assumed assumed = verb->assumed;
    spec_assumed_add_measure(&assumed, experiment.measure, &experiment.grid, typed_for, verb);
    const spec_options_plan plan = {.no_point = true,
                                    .opt_assumed = &assumed,
                                    .limit = verb->limit,
                                    .what = verb->what,
                                    .after = verb->after};
    const int code = spec_options_run(&experiment, options, &plan, verb->verb, &error);
    if (error.text[0] != '\0') say(verb, error.text);
    spec_experiment_free(&experiment);
    return code;
}

/* Lists the axes of the fields that have a value, in their order. Returns how many there are. */
static int list_axes(spec_verb_axis axis[MOST_AXES], const spec_grid_verb *verb)
{
    int n = 0;
    for (const spec_field *field = verb->fields; field->help != NULL; field++) {
        const char *member = (const char *)verb->arguments + field->at, *value = "";
        if (field->axis == SPEC_AXIS_NONE) continue;
        if (field->type != SPEC_FIELD_FLAG)
            value = *(const char *const *)member;
        else if (!*(const bool *)member)
            value = NULL;
        if (value == NULL) continue;
        assert(n < MOST_AXES);
        axis[n] = (spec_verb_axis){.kind = field->axis, .value = value};
        name_parameter(axis[n++].name, field);
    }
    return n;
}

int spec_grid_verb_run(const spec_grid_verb *verb, const spec_options *options)
{
    spec_verb_axis axis[MOST_AXES];
    spec_grid_verb whole = *verb;
    whole.axis = axis;
    whole.n_axes = list_axes(axis, verb);
    assert(whole.n_axes + verb->n_axes <= MOST_AXES);
    for (int i = 0; i < verb->n_axes; i++) axis[whole.n_axes++] = verb->axis[i];
    return run(&whole, options);
}
