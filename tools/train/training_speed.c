/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/train/training_speed.h"

#include "sim/chance/rng.h"
#include "speclab/no_memory.h"
#include "tools/bench/timing_passes.h"

#include <assert.h>
#include <math.h>

enum { VISITS = 8 };

/* Measures the shortest times of passes of widths 1..widths. Other programs only add time, so the
 * fastest visit is the best estimate. */
static int time_passes(double *ret_seconds, int widths, const spec_model *model,
                       const spec_model *target, const int *text, size_t n, spec_error *error)
{
    int status = GSL_SUCCESS, width[SPEC_EXACT_WALK_K_MAX + 1];
    const spec_clock clock = spec_clock_wall();
    spec_timing_passes passes = {0};
    gsl_rng *rng = spec_rng_alloc();
    if (rng == NULL) SPEC_TRY(spec_no_memory(error));
    spec_rng_stream(rng, 1, 0);
    for (int i = 0; i < widths; i++) {
        width[i] = i + 1;
        ret_seconds[i] = INFINITY;
    }
    SPEC_TRY(spec_timing_passes_init(&passes, model, target, NULL, width, widths, false, error));
    for (int visit = 0; visit < VISITS; visit++) {
        spec_timing_sum sum[SPEC_EXACT_WALK_K_MAX + 1] = {{0}};
        SPEC_TRY(spec_timing_passes_visit(&passes, sum, NULL, text, n, &clock, rng, error));
        for (int i = 0; i < widths; i++)
            ret_seconds[i] = fmin(ret_seconds[i], sum[i].seconds / sum[i].n);
    }
done:
    spec_timing_passes_free(&passes);
    if (rng != NULL) gsl_rng_free(rng);
    return status;
}

int spec_training_speed_measure(spec_training_speed *ret_speed, const spec_model *target,
                                const spec_model *opt_draft, const spec_training_plan *plan,
                                const int *text, size_t n, spec_error *error)
{
    int status = GSL_SUCCESS;
    double seconds[SPEC_EXACT_WALK_K_MAX + 1], call;
    assert(plan->K <= SPEC_EXACT_WALK_K_MAX && n > (size_t)plan->K);
    *ret_speed = (spec_training_speed){.K = plan->K, .draft_measured = opt_draft != NULL};
    SPEC_TRY(time_passes(seconds, plan->K + 1, target, NULL, text, n, error));
    for (int i = 0; i <= plan->K; i++) ret_speed->pass[i + 1] = seconds[i] / seconds[0];
    if (opt_draft != NULL) SPEC_TRY(time_passes(&call, 1, opt_draft, target, text, n, error));
    for (int k = 1; k <= plan->K; k++)
        ret_speed->draft[k] = opt_draft == NULL ? spec_training_speed_of_draft(plan, k)
                                                : (opt_draft->one_pass ? 1 : k) * call / seconds[0];
done:
    return status;
}

/* Returns the weights that one pass of a model reads. */
static double of_pass(const spec_shape *s)
{
    const double queries = (double)s->n_heads * s->head_dim,
                 keys = (double)s->n_kv_heads * s->head_dim,
                 layer = s->dim * (2.0 * (queries + keys) + 3.0 * s->ffn_dim);
    return s->n_layers * layer + (double)s->vocab * s->dim;
}

/* Returns the weights of a head for k depths. A part has one copy per depth, or a single one for
 * all depths. A single copy is read again at each depth, or only once if one pass computes all
 * depths. EAGLE-3's fc reads only the target. */
static double of_head(const spec_head_shape *shape, int k)
{
    const bool in_one_pass = shape->kind == SPEC_HEAD_PARALLEL,
               reads_output = spec_head_has_target_output(shape);
    double sum = reads_output ? (double)k * shape->shape.vocab * shape->shape.dim : 0.0;
    for (int i = 0; i < SPEC_HEAD_PARTS; i++) {
        const spec_head_part part = (spec_head_part)i;
        const int copies = spec_head_copies(part, shape);
        if (part == SPEC_HEAD_EMBEDDING || part == SPEC_HEAD_MASK_EMBEDDING ||
            part == SPEC_HEAD_MASK_STATE)
            continue; /* a row of each */
        for (int copy = 0; copy < copies; copy++) {
            const bool is_once = copies > 1 || in_one_pass ||
                                 (part == SPEC_HEAD_FC && shape->kind == SPEC_HEAD_EAGLE3);
            int rows, cols;
            spec_head_part_shape(&rows, &cols, part, copy, shape);
            if (copies > 1 && copy >= k) continue;
            sum += (is_once ? 1.0 : k) * rows * cols;
        }
    }
    return sum;
}

double spec_training_speed_of_draft(const spec_training_plan *plan, int k)
{
    if (k == 0) return 0.0;
    const spec_shape *start =
        plan->opt_start != NULL ? &plan->opt_start->shape : &plan->shape.shape;
    return (plan->opt_head != NULL ? of_head(plan->opt_head, k) : k * of_pass(start)) /
           of_pass(&plan->opt_target->shape);
}

double spec_training_speed_of_exit(const spec_shape *target, int exit)
{
    spec_shape draft = *target;
    draft.n_layers = exit;
    return of_pass(&draft) / of_pass(target);
}

double spec_training_speed_best(int *ret_K, const spec_training_speed *speed,
                                const spec_exact_walk *walk)
{
    double best = 1.0;
    *ret_K = 0;
    for (int k = 1; k <= speed->K; k++) {
        const double gain =
            spec_exact_walk_tokens_per_round(walk, k) / (speed->draft[k] + speed->pass[k + 1]);
        if (gain > best) {
            best = gain;
            *ret_K = k;
        }
    }
    return best;
}
