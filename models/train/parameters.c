/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/train/parameters.h"

#include "base/parallel.h"
#include "speclab/no_memory.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* How many numbers of the arrays one thread updates at a time. */
enum { ALIGN = 16, PART = 1 << 14 };

int spec_parameters_init(spec_parameters *parameters, int capacity, spec_error *error)
{
    *parameters = (spec_parameters){.capacity = capacity};
    parameters->item = calloc((size_t)capacity, sizeof *parameters->item);
    return parameters->item != NULL ? GSL_SUCCESS : spec_no_memory(error);
}

void spec_parameters_free(spec_parameters *parameters)
{
    free(parameters->item);
    free(parameters->value);
    free(parameters->gradient);
    free(parameters->m);
    free(parameters->v);
    *parameters = (spec_parameters){0};
}

int spec_parameters_add(spec_parameters *parameters, const char *name, int rows, int cols)
{
    assert(parameters->n < parameters->capacity && rows >= 1 && cols >= 1);
    spec_parameter *item = &parameters->item[parameters->n];
    const size_t numbers = (size_t)rows * (size_t)cols;
    snprintf(item->name, sizeof item->name, "%s", name);
    item->rows = rows;
    item->cols = cols;
    item->at = parameters->numbers;
    parameters->numbers += (numbers + ALIGN - 1) / ALIGN * ALIGN;
    return parameters->n++;
}

int spec_parameters_allocate(spec_parameters *parameters, bool is_frozen, spec_error *error)
{
    spec_real **const array[] = {&parameters->value, &parameters->gradient, &parameters->m,
                                 &parameters->v};
    for (int i = 0; i < (is_frozen ? 1 : 4); i++) {
        *array[i] = calloc(parameters->numbers, sizeof **array[i]);
        if (*array[i] == NULL) return spec_no_memory(error);
    }
    return GSL_SUCCESS;
}

spec_real *spec_parameters_value(const spec_parameters *parameters, int index)
{
    return parameters->value + parameters->item[index].at;
}

spec_real *spec_parameters_gradient(const spec_parameters *parameters, int index)
{
    return parameters->gradient == NULL ? NULL : parameters->gradient + parameters->item[index].at;
}

void spec_parameters_clear_gradient(spec_parameters *parameters)
{
    memset(parameters->gradient, 0, parameters->numbers * sizeof *parameters->gradient);
}

typedef struct {
    spec_parameters *parameters;
    const spec_elements *elements;
    spec_elements_adamw step;
} update;

static void update_part(void *self, uint64_t part, int worker)
{
    const update *u = self;
    const spec_parameters *p = u->parameters;
    const size_t at = (size_t)part * PART;
    const int n = (int)(p->numbers - at < PART ? p->numbers - at : PART);
    (void)worker;
    u->elements->adamw(p->value + at, p->m + at, p->v + at, p->gradient + at, &u->step, n);
}

double spec_parameters_update(spec_parameters *parameters, const spec_parameters_step *step,
                              const spec_elements *elements, spec_thread_pool *opt_pool)
{
    const size_t parts = (parameters->numbers + PART - 1) / PART;
    double sum = 0.0;
    for (size_t at = 0; at < parameters->numbers; at += PART)
        sum += elements->squares(
            parameters->gradient + at,
            (int)(parameters->numbers - at < PART ? parameters->numbers - at : PART));
    const double norm = sqrt(sum);
    if (!isfinite(norm)) return norm;
    update u = {parameters,
                elements,
                {.rate = (spec_real)step->rate,
                 .beta1 = (spec_real)step->beta1,
                 .beta2 = (spec_real)step->beta2,
                 .epsilon = (spec_real)step->epsilon,
                 .decay = (spec_real)step->decay,
                 .correction1 = (spec_real)(1.0 / (1.0 - pow(step->beta1, (double)step->step))),
                 .correction2 = (spec_real)(1.0 / (1.0 - pow(step->beta2, (double)step->step))),
                 .scale = (spec_real)(norm > step->clip ? step->clip / norm : 1.0)}};
    spec_parallel_run(opt_pool, update_part, &u, parts, spec_thread_pool_size(opt_pool));
    return norm;
}
