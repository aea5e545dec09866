#include "cli/grid_verb.h"

#include "cli/verb.h"

#include <stdlib.h>
#include <string.h>

static char *copy_text(const char *verb, const char *text)
{
    char *copy = strdup(text);
    if (copy == NULL) spec_options_fail(verb, "out of memory");
    return copy;
}

/* What was asked, as one line for the provenance: the axes that were given, in order. */
static char *command_text(const spec_grid_verb *verb)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) spec_options_fail(verb->verb, "out of memory");
    fputs(verb->verb, out);
    for (int i = 0; i < verb->n_axes; i++) {
        if (verb->axis[i].value != NULL) fprintf(out, " --%s %s", verb->axis[i].name, verb->axis[i].value);
    }
    if (verb->rounds > 0) fprintf(out, " --rounds %llu", (unsigned long long)verb->rounds);
    if (verb->standard_error > 0) fprintf(out, " --standard-error %g", verb->standard_error);
    if (fclose(out) != 0) spec_options_fail(verb->verb, "out of memory");
    return text;
}

static void set_columns(spec_experiment *experiment, const spec_grid_verb *verb)
{
    if (verb->show == NULL) return;
    char *copy = copy_text(verb->verb, verb->show);
    experiment->show = calloc(strlen(copy) / 2 + 1, sizeof *experiment->show);
    if (experiment->show == NULL) spec_options_fail(verb->verb, "out of memory");
    for (char *rest = copy, *word; (word = strsep(&rest, ",")) != NULL;)
        experiment->show[experiment->n_show++] = copy_text(verb->verb, word);
    free(copy);
}

int spec_grid_verb_run(const spec_grid_verb *verb, const spec_options *options)
{
    spec_error error = {{0}};
    spec_experiment experiment = {0};
    char *text = command_text(verb);
    if (spec_experiment_init(&experiment, strrchr(verb->verb, ' ') + 1, text, verb->measure, &error) != GSL_SUCCESS)
        spec_options_fail(verb->verb, "%s", error.text);
    free(text);
    if (verb->figure != NULL) {
        free(experiment.figure);
        experiment.figure = copy_text(verb->verb, verb->figure);
    }
    experiment.rounds = verb->rounds;
    experiment.standard_error = verb->standard_error;
    experiment.seed = options->seed;
    for (int i = 0; i < verb->n_axes; i++) {
        const spec_verb_axis *axis = &verb->axis[i];
        if (axis->value == NULL) continue;
        switch (axis->kind) {
        case SPEC_AXIS_NUMBERS: spec_options_numbers(&experiment.grid, verb->verb, axis->name, axis->value); break;
        case SPEC_AXIS_NAMES: spec_options_texts(&experiment.grid, verb->verb, axis->name, axis->value, ","); break;
        case SPEC_AXIS_LINES: spec_options_texts(&experiment.grid, verb->verb, axis->name, axis->value, "\n"); break;
        }
    }
    if (spec_grid_expand(&experiment.grid, &error) != GSL_SUCCESS) spec_options_fail(verb->verb, "%s", error.text);
    set_columns(&experiment, verb);
    int code = spec_options_run(&experiment, options, verb->resume, verb->limit, verb->verb);
    spec_experiment_free(&experiment);
    return code;
}
