/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/live/scorer_noise.h"

#include <math.h>

static const double telling = 1e-3; /* probabilities below this are left out of `worst` */

static const spec_live_candidate *find(const spec_live_place *place, int32_t id)
{
    for (int i = 0; i < place->n; i++)
        if (place->top[i].id == id) return &place->top[i];
    return NULL;
}

static void add_place(spec_scorer_noise *noise, const spec_live_place *once,
                      const spec_live_place *again)
{
    double off[2] = {0.0, 0.0}, up = 0.0, down = 0.0;
    for (int i = 0; i < once->n; i++) {
        const spec_live_candidate *other = find(again, once->top[i].id);
        if (other == NULL) continue;
        const double chance = exp(once->top[i].log), d = other->log - once->top[i].log;
        noise->square += chance * d * d;
        up += fmax(exp(other->log) - chance, 0.0);
        down += fmax(chance - exp(other->log), 0.0);
        if (chance > telling) noise->worst = fmax(noise->worst, fabs(d));
        if (i < 2) off[i] = d;
    }
    noise->variation = fmax(noise->variation, fmax(up, down));
    noise->margin = fmax(noise->margin, fabs(off[0] - off[1]));
    noise->places++;
}

spec_scorer_noise spec_scorer_noise_of(const spec_served_text *once, const spec_served_text *again,
                                       int n)
{
    spec_scorer_noise noise = {.places = 0};
    for (int i = 0; i < n; i++)
        for (int k = 0; again[i].place != NULL && k < once[i].n; k++)
            add_place(&noise, &once[i].place[k], &again[i].place[k]);
    if (noise.places > 0) noise.square /= noise.places;
    return noise;
}

/* With D = places * square / 2, the Renyi divergence of order s of all positions is about s D, and
 * P(e >= x) <= exp(-(1 - 1/s)(log x - s D)), least at s = sqrt(log x / D). */
double spec_scorer_noise_needed(const spec_scorer_noise *noise, double places, double rate)
{
    const double root = sqrt(-log(rate)) + sqrt(0.5 * places * noise->square);
    return root * root;
}
