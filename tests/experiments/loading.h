/* SPDX-License-Identifier: GPL-3.0-or-later */
/* loading: an experiment file in the state in which its axes and columns are read.
 * The measure is known; the text has only grid, points, labels and show. */
#ifndef SPECLAB_TESTS_LOADING_H
#define SPECLAB_TESTS_LOADING_H

#include "experiments/experiment_loader.h"
#include "tests/support/support.h"

#include <string.h>

typedef struct {
    spec_experiment experiment;
    spec_experiment_loader in;
    spec_error error;
} loading;

/* `l` must not move. */
static inline void loading_init(loading *l, const char *measure, const char *text,
                                const char *const *opt_set)
{
    *l = (loading){.in = {.experiment = &l->experiment}};
    if (spec_experiment_init(&l->experiment, "x", text, measure, &l->error) != GSL_SUCCESS ||
        spec_config_init(&l->in.config, "x.cfg", text, strlen(text), opt_set, &l->error) !=
            GSL_SUCCESS)
        fail_msg("%s", l->error.text);
}

static inline void loading_free(loading *l)
{
    spec_config_free(&l->in.config);
    spec_experiment_free(&l->experiment);
}

/* Returns the values of an axis, in order, joined by '|'; NULL: no such axis. */
static inline const char *loading_axis(char text[200], const loading *l, const char *name)
{
    const spec_axis *axis = spec_grid_axis(&l->experiment.grid, name);
    if (axis == NULL) return NULL;
    text[0] = '\0';
    for (int i = 0; i < axis->n; i++) {
        const size_t n = strlen(text);
        snprintf(text + n, 200 - n, "%s%s", i > 0 ? "|" : "", axis->value[i]);
    }
    return text;
}

#endif
