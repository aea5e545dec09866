/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/live/penalties.h"

#include "base/int_math.h"

static int count_in(const int32_t *token, int n, int32_t id)
{
    int count = 0;
    for (int i = 0; i < n; i++) count += token[i] == id;
    return count;
}

/* Moves candidate i forward to where it belongs in descending order. */
static void insert(spec_live_place *place, int i)
{
    const spec_live_candidate moved = place->top[i];
    for (; i > 0 && place->top[i - 1].log < moved.log; i--) place->top[i] = place->top[i - 1];
    place->top[i] = moved;
}

void spec_penalties_apply(spec_served_text *text, double presence, double frequency, int last)
{
    for (int at = 0; at < text->n; at++) {
        spec_live_place *place = &text->place[at];
        const int end = text->n_prompt + at,
                  begin = last > 0 ? spec_int_max(end - last, 0) : text->n_prompt;
        if (place->n == 0) continue;
        place->unlisted = place->top[place->n - 1].log;
        for (int i = 0; i < place->n; i++) {
            const int count = count_in(text->all.token + begin, end - begin, place->top[i].id);
            if (count > 0) place->top[i].log -= presence + frequency * count;
            insert(place, i);
        }
        if (place->top[0].log < place->unlisted) place->n = 0;
    }
}
