/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/bench/timing_trust.h"

#include "models/context.h"
#include "models/transformer/engine/device.h"
#include "models/transformer/engine/transformer.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

void spec_timing_trust_of_models(spec_timing_trust *trust, const spec_model *target,
                                 const spec_model *opt_draft)
{
    const spec_model *const model[] = {target, opt_draft};
    trust->threads = 1;
    trust->waits_on_card = false;
    for (int i = 0; i < 2; i++) {
        const spec_transformer *transformer =
            model[i] != NULL ? spec_transformer_of(model[i]) : NULL;
        if (transformer == NULL) continue;
        if (spec_device_is_cpu(transformer->weights->backend))
            trust->threads = spec_thread_pool_size(
                spec_context_pool(transformer->weights->backend->opt_context));
        else trust->waits_on_card = true;
    }
}

void spec_timing_trust_load(spec_timing_trust *trust, double wall, double processor, double busy,
                            double share)
{
    const bool known = wall >= SPEC_TRUST_SHORTEST;
    trust->others =
        known && busy >= 0.0 ? fmax(0.0, busy - processor - SPEC_TRUST_COUNTS) / wall : NAN;
    if (trust->threads == 1 && !trust->waits_on_card) {
        trust->lost = isnan(share) ? NAN : fmax(0.0, 1.0 - share);
    } else {
        const double wanted = trust->others + trust->threads - trust->processors;
        trust->lost = isnan(trust->others) || trust->processors == 0
                          ? NAN
                          : fmax(0.0, wanted) / trust->threads;
    }
}

double spec_timing_spread(double *value, int n)
{
    if (n < 4) return NAN;
    for (int i = 0; i < n; i++)
        if (isnan(value[i])) return NAN;
    gsl_sort(value, 1, (size_t)n);
    const double low = gsl_stats_quantile_from_sorted_data(value, 1, (size_t)n, 0.25);
    const double high = gsl_stats_quantile_from_sorted_data(value, 1, (size_t)n, 0.75);
    return (high - low) / gsl_stats_median_from_sorted_data(value, 1, (size_t)n);
}

int spec_timing_idle(const spec_timing_trust *trust)
{
    const double others = isnan(trust->others) ? 0.0 : trust->others;
    return (int)fmax(0.0, trust->processors - others + 0.5);
}

static bool is_lost(const spec_timing_trust *trust)
{
    return !trust->processor_clock && trust->lost > SPEC_TRUST_LOST;
}

bool spec_timing_trusted(const spec_timing_trust *trust)
{
    return !is_lost(trust) && !(trust->spread > SPEC_TRUST_SPREAD) &&
           !(trust->speed_spread > SPEC_TRUST_SPEED);
}

/* ---- the line -------------------------------------------------------------------------------- */

typedef struct {
    char *text;
    size_t size, used;
    const char *between; /* the separator before the next part of the line */
} sentence;

__attribute__((format(printf, 3, 4))) static void add(sentence *s, const char *between,
                                                      const char *format, ...)
{
    va_list args;
    if (s->used < s->size)
        s->used += (size_t)snprintf(s->text + s->used, s->size - s->used, "%s", s->between);
    va_start(args, format);
    if (s->used < s->size)
        s->used += (size_t)vsnprintf(s->text + s->used, s->size - s->used, format, args);
    va_end(args);
    s->between = between;
}

static void add_remedies(sentence *s, const spec_timing_trust *trust, bool noisy, bool changed,
                         const char *remedy, bool clock)
{
    const bool lost = is_lost(trust), own_time = clock && !trust->waits_on_card;
    const int idle = isnan(trust->others) ? 0 : spec_timing_idle(trust);
    if (lost) add(s, ", or ", "close other programs");
    if (lost && idle < trust->threads && idle >= (own_time ? 2 : 1))
        add(s, ", or ", "use --threads %d", idle);
    if (lost && own_time) add(s, ", or ", "use --clock processor --threads 1");
    if (changed) add(s, ", or ", "fix the processor's frequency");
    if (noisy) add(s, ", or ", "give %s", remedy);
}

bool spec_timing_trust_line(char *line, size_t size, const spec_timing_trust *trust,
                            const char *opt_withheld, const char *remedy, bool clock)
{
    const bool lost = is_lost(trust);
    const bool spread = trust->spread > SPEC_TRUST_SPREAD,
               changed = trust->speed_spread > SPEC_TRUST_SPEED;
    sentence s = {line, size, 0, "warning: "};
    line[0] = '\0';
    if (spec_timing_trusted(trust) && opt_withheld == NULL) return false;
    if (lost) {
        add(&s, "; ", "this run lost %.0f %% of its time to other programs", 100.0 * trust->lost);
        if (trust->others >= 0.0) {
            s.between = "";
            add(&s, "; ", ", which took %.1f of %d processors", trust->others, trust->processors);
        }
    }
    if (spread) add(&s, "; ", "the time of a plain token varies by %.0f %%", 100.0 * trust->spread);
    if (changed)
        add(&s, "; ", "the processor's speed varies by %.0f %%", 100.0 * trust->speed_spread);
    if (opt_withheld != NULL) add(&s, "; ", "withheld: %s", opt_withheld);
    s.between = ": ";
    add_remedies(&s, trust, spread || opt_withheld != NULL, changed, remedy, clock);
    return true;
}
