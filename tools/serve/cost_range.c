/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/serve/cost_range.h"

#include "speclab/no_memory.h"
#include "tools/serve/serving_theory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OUTPUT = 512 };

/* Creates the cost at a corner of the uncertain ranges. *ret_uncertain says whether corners
 * differ. */
static int corner_cost(spec_step_cost **ret_cost, bool *ret_uncertain, const char *cost,
                       const char *draft_cost, int corner, spec_error *error)
{
    const size_t size = strlen(cost) + strlen(draft_cost) + SPEC_STEP_COST_DEFAULTS;
    char *target = malloc(size), *draft = malloc(size);
    int status = GSL_SUCCESS;
    *ret_cost = NULL;
    if (target == NULL || draft == NULL) SPEC_TRY(spec_no_memory(error));
    const bool of_target = spec_step_cost_corner(target, size, cost, false, corner),
               of_draft = spec_step_cost_corner(draft, size, draft_cost, true, corner);
    *ret_uncertain = of_target || of_draft;
    SPEC_TRY(spec_step_cost_create(ret_cost, target, draft_cost[0] != '\0' ? draft : NULL, error));
done:
    free(target);
    free(draft);
    return status;
}

static int latency_of(double *ret, const spec_serving_question *question,
                      const spec_serving_way *way, spec_error *error)
{
    spec_serving_theory theory;
    const int status = spec_serving_theory_fill(&theory, question, way, error);
    *ret = theory.capacity <= question->rate ? INFINITY : theory.latency;
    return status;
}

int spec_cost_range_fill(spec_cost_range *range, const spec_serving_question *question,
                         const spec_serving_way *way, const char *cost, const char *draft_cost,
                         spec_error *error)
{
    spec_serving_question at = *question;
    int status = GSL_SUCCESS;
    *range = (spec_cost_range){NAN, NAN, NAN, NAN};
    if (question->requests.output.most > MOST_OUTPUT) return GSL_SUCCESS;
    for (int corner = 0; corner < SPEC_STEP_COST_CORNERS; corner++) {
        double latency = NAN, plain = NAN;
        spec_step_cost *made;
        bool uncertain;
        SPEC_TRY(corner_cost(&made, &uncertain, cost, draft_cost, corner, error));
        at.cost = made;
        at.plan.cost = made;
        if (uncertain) status = latency_of(&latency, &at, way, error);
        if (status == GSL_SUCCESS && !isnan(latency))
            status =
                latency_of(&plain, &at, &question->choices.way[question->choices.plain], error);
        spec_step_cost_free(made);
        SPEC_TRY(status);
        if (isnan(latency)) break;
        range->latency_low = fmin(range->latency_low, latency);
        range->latency_high = fmax(range->latency_high, latency);
        if (isinf(latency) || !isfinite(plain)) continue;
        range->speedup_low = fmin(range->speedup_low, plain / latency);
        range->speedup_high = fmax(range->speedup_high, plain / latency);
    }
done:
    return status;
}
