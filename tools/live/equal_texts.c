/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/live/equal_texts.h"

#include "base/int_math.h"

#include <math.h>

int spec_equal_texts_first(const spec_live_tokens *a, const spec_live_tokens *b)
{
    const int n = spec_int_min(a->n, b->n);
    int i = 0;
    while (i < n && a->token[i] == b->token[i]) i++;
    return i == a->n && i == b->n ? -1 : i;
}

double spec_equal_texts_between(const spec_live_place *place, int32_t a, int32_t b)
{
    double sum = 0.0;
    for (int i = 0; i < place->n; i++) {
        const int32_t id = place->top[i].id;
        if ((a < id && id < b) || (b < id && id < a)) sum += exp(place->top[i].log);
    }
    return sum;
}

double spec_equal_texts_detectable(double tokens, int different, double power)
{
    const double t = different, needed = -log1p(-power);
    double low = t, high = t + needed + 1.0;
    while (high - t - (t > 0.0 ? t * log(high / t) : 0.0) < needed) high *= 2.0;
    for (int i = 0; i < 60; i++) {
        const double m = 0.5 * (low + high);
        if (m - t - (t > 0.0 ? t * log(m / t) : 0.0) < needed)
            low = m;
        else
            high = m;
    }
    return high <= tokens ? high / tokens : NAN;
}
