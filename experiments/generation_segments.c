/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/generation_segments.h"

#include "sim/chance/rng.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>

enum { RESAMPLES = 1000 };
static const double interval_error = 0.05, slack = 1e-9; /* tolerance of the bound, for rounding */

int spec_generation_segments_init(spec_generation_segments *segments, const spec_machine_load *load,
                                  double least, spec_error *error)
{
    *segments = (spec_generation_segments){.load = *load, .least = least};
    segments->segment = malloc((SPEC_SEGMENTS_MAX + 1) * sizeof *segments->segment);
    if (segments->segment == NULL) return spec_no_memory(error);
    segments->first_spin = spec_machine_load_spin(load);
    segments->busy_begun = spec_machine_load_busy(load);
    segments->begun = spec_machine_load_read(load);
    return GSL_SUCCESS;
}

void spec_generation_segments_free(spec_generation_segments *segments)
{
    free(segments->segment);
    *segments = (spec_generation_segments){.n = 0};
}

spec_load_reading spec_generation_segments_begin(const spec_generation_segments *segments)
{
    return spec_machine_load_read(&segments->load);
}

void spec_generation_segments_end(spec_generation_segments *segments,
                                  const spec_load_reading *begun)
{
    const spec_load_reading now = spec_machine_load_read(&segments->load);
    segments->spent.wall += now.wall - begun->wall;
    segments->spent.processor += now.processor - begun->processor;
    segments->spent.switched += now.switched - begun->switched;
}

/* Merges pairs of segments to make room for new ones. */
static void merge(spec_generation_segments *segments)
{
    for (int i = 0; i + 1 < segments->n; i += 2) {
        const spec_generation_segment a = segments->segment[i], b = segments->segment[i + 1];
        segments->segment[i / 2] = (spec_generation_segment){
            a.seconds + b.seconds, a.plain + b.plain, a.tokens + b.tokens, b.spin};
    }
    segments->n /= 2;
    segments->least *= 2.0;
}

void spec_generation_segments_add(spec_generation_segments *segments, double seconds, double plain,
                                  double tokens)
{
    segments->open.seconds += seconds;
    segments->open.plain += plain;
    segments->open.tokens += tokens;
    if (segments->open.tokens < segments->least) return;
    segments->open.spin = spec_machine_load_spin(&segments->load);
    segments->segment[segments->n++] = segments->open;
    segments->open = (spec_generation_segment){.tokens = 0.0};
    if (segments->n == SPEC_SEGMENTS_MAX) merge(segments);
}

static void judge(spec_timing_trust *trust, const spec_generation_segments *segments, double *work)
{
    const spec_load_reading now = spec_machine_load_read(&segments->load);
    trust->processors = segments->load.processors;
    spec_timing_trust_load(trust, now.wall - segments->begun.wall,
                           now.processor - segments->begun.processor,
                           spec_machine_load_busy(&segments->load) - segments->busy_begun,
                           segments->spent.processor / segments->spent.wall);
    for (int i = 0; i < segments->n; i++)
        work[i] = segments->segment[i].plain / segments->segment[i].tokens;
    trust->spread = spec_timing_spread(work, segments->n);
    work[segments->n] = segments->first_spin;
    for (int i = 0; i < segments->n; i++) work[i] = segments->segment[i].spin;
    trust->speed_spread = spec_timing_spread(work, segments->n + 1);
}

int spec_generation_segments_speedup(spec_block_interval *ret_speedup,
                                     spec_ratio_verdict *ret_verdict, spec_timing_trust *trust,
                                     const spec_generation_segments *segments,
                                     double tokens_per_round, uint64_t seed, spec_error *error)
{
    const int n = segments->n + (segments->open.tokens > 0.0); /* the last segment may be short */
    double *block = malloc((2 * (size_t)n + 1) * sizeof *block),
           *sum = malloc(2 * (RESAMPLES + 1) * sizeof *sum);
    double value[RESAMPLES + 1], work[RESAMPLES + SPEC_SEGMENTS_MAX + 1];
    int status = GSL_SUCCESS;
    spec_block_interval surely;
    gsl_rng *rng = spec_rng_alloc();
    *ret_speedup = (spec_block_interval){NAN, NAN, NAN, NAN};
    *ret_verdict = SPEC_RATIO_VAGUE;
    if (block == NULL || sum == NULL || rng == NULL) SPEC_TRY(spec_no_memory(error));
    judge(trust, segments, work);
    if (n == 0) goto done;
    for (int i = 0; i < n; i++) {
        const spec_generation_segment *segment =
            i < segments->n ? &segments->segment[i] : &segments->open;
        block[2 * i] = segment->plain;
        block[2 * i + 1] = segment->seconds;
    }
    spec_rng_stream(rng, spec_rng_named_seed(seed, "generation bootstrap"), 0);
    spec_block_bootstrap_sums(sum, block, n, 2, RESAMPLES, rng);
    for (int r = 0; r <= RESAMPLES; r++) value[r] = sum[2 * r] / sum[2 * r + 1];
    spec_block_bootstrap_joint(&surely, value, 1, RESAMPLES, n, 2.0 * SPEC_RATIO_IMPOSSIBLE_ERROR,
                               work);
    spec_block_bootstrap_joint(ret_speedup, value, 1, RESAMPLES, n, interval_error, work);
    *ret_verdict = spec_bounded_ratio(ret_speedup, surely.low > tokens_per_round * (1.0 + slack),
                                      0.0, tokens_per_round, tokens_per_round);
done:
    free(block);
    free(sum);
    if (rng != NULL) gsl_rng_free(rng);
    return status;
}
