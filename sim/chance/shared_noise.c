/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/chance/shared_noise.h"

#include "base/noise.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Keeps the noise apart from models that draw rows from the same hash. */
static const uint64_t ours = UINT64_C(0x6e6f697365206f66);

int spec_shared_noise_init(spec_shared_noise *noise, spec_noise_kind kind,
                           const spec_settings *settings, spec_error *error)
{
    *noise = (spec_shared_noise){.kind = SPEC_NOISE_NONE};
    const char *seed = spec_settings_text(settings, "seed");
    if (seed == NULL || strcmp(seed, "none") == 0) return GSL_SUCCESS;
    noise->kind = kind;
    return spec_settings_u64(&noise->seed, settings, "seed", 0, error);
}

static uint64_t key_of(const spec_shared_noise *noise)
{
    uint64_t key = spec_noise_mix(noise->seed ^ spec_noise_mix(ours + noise->kind));
    key = spec_noise_word(key, noise->text);
    return spec_noise_word(key, noise->place);
}

/* Returns a number in (0,1), never 0 or 1. */
static double uniform(uint64_t key, uint64_t i)
{
    return ((double)(spec_noise_word(key, i) >> 12) + 0.5) * 0x1p-52;
}

static int race(uint64_t key, const double *row, int n)
{
    int first = -1;
    double least = 0.0;
    for (int i = 0; i < n; i++) {
        if (!(row[i] > 0.0)) continue;
        const double u = uniform(key, (uint64_t)i);
        if (first >= 0 && 1.0 - u >= least * row[i])
            continue; /* -log(u) is larger: most tokens need no logarithm */
        const double arrival = -log(u) / row[i];
        if (first >= 0 && arrival >= least) continue;
        first = i;
        least = arrival;
    }
    return first;
}

static int throw_darts(uint64_t key, const double *row, int n)
{
    for (uint64_t i = 0;; i += 2) {
        const int token = (int)(uniform(key, i) * n);
        if (uniform(key, i + 1) < row[token]) return token;
    }
}

int spec_shared_noise_pick(spec_shared_noise *noise, const double *row, int n)
{
    assert(noise->kind != SPEC_NOISE_NONE);
    const uint64_t key = key_of(noise);
    noise->place++;
    return noise->kind == SPEC_NOISE_RACES ? race(key, row, n) : throw_darts(key, row, n);
}

int spec_shared_noise_list(int *ret_token, int n, const spec_shared_noise *noise, bool again,
                           const double *row, int vocab, double *at)
{
    assert(noise->kind == SPEC_NOISE_RACES);
    const uint64_t key = key_of(noise);
    int held = 0;
    for (int i = 0; i < vocab; i++) {
        if (!(row[i] > 0.0)) continue;
        double time = 0.0;
        for (uint64_t arrival = 0; arrival == 0 || again; arrival++) {
            const uint64_t clock = arrival == 0 ? key : spec_noise_word(key, ~arrival);
            time -= log(uniform(clock, (uint64_t)i)) / row[i];
            if (held == n && !(time < at[n - 1])) break;
            int place = held < n ? held++ : n - 1;
            for (; place > 0 && at[place - 1] > time; place--) {
                at[place] = at[place - 1];
                ret_token[place] = ret_token[place - 1];
            }
            at[place] = time;
            ret_token[place] = i;
        }
    }
    return held;
}
