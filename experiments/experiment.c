/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/experiment.h"

#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

int spec_experiment_init(spec_experiment *experiment, const char *name, const char *text,
                         const char *measure, spec_error *error)
{
    *experiment = (spec_experiment){.seed = 42};
    if (measure != NULL) {
        int status = spec_measure_find(&experiment->measure, measure, error);
        if (status != GSL_SUCCESS) return status;
    }
    experiment->name = strdup(name);
    experiment->text = strdup(text);
    char **prose[] = {&experiment->title,       &experiment->question, &experiment->theory,
                      &experiment->finding,     &experiment->time,     &experiment->figure,
                      &experiment->finding_for, &experiment->missing,  &experiment->note,
                      &experiment->overrides};
    bool whole = experiment->name != NULL && experiment->text != NULL;
    for (size_t i = 0; i < sizeof prose / sizeof *prose; i++)
        whole = (*prose[i] = strdup("")) != NULL && whole;
    if (whole) return GSL_SUCCESS;
    spec_experiment_free(experiment);
    return spec_no_memory(error);
}

void spec_experiment_free(spec_experiment *experiment)
{
    for (int i = 0; i < experiment->n_show; i++) free(experiment->show[i]);
    free(experiment->show);
    free(experiment->name);
    free(experiment->text);
    free(experiment->title);
    free(experiment->question);
    free(experiment->theory);
    free(experiment->finding);
    free(experiment->time);
    free(experiment->figure);
    free(experiment->finding_for);
    free(experiment->missing);
    free(experiment->note);
    free(experiment->overrides);
    spec_grid_free(&experiment->grid);
    *experiment = (spec_experiment){0};
}

void spec_result_free(spec_result *result)
{
    spec_table_free(&result->table);
    *result = (spec_result){0};
}

void spec_result_count(spec_result *result, spec_check check, size_t row)
{
    result->holds += check == SPEC_CHECK_HOLDS;
    result->fails += check == SPEC_CHECK_FAILS;
    if (check != SPEC_CHECK_LEFT_OUT) return;
    if (result->left_out < SPEC_RESULT_LEFT_OUT) result->left_out_row[result->left_out] = row;
    result->left_out++;
}
