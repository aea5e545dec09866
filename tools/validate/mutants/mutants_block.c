/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mistakes in block verification [Sun25], as changes to a correct implementation. */
#include "tools/validate/mutants/mutants.h"

#include <math.h>

enum { RIGHT, SHARE_WRONG, UNSCALED, UNCAPPED, STOPS };

static void load(spec_reference_sampler *s, int place)
{
    s->place = place;
    spec_reference_sampler_load(s, SPEC_REFERENCE_TARGET, place, s->target);
    if (place == s->n_nodes) return;
    if (s->drawn != SPEC_DRAWN_FIXED)
        spec_reference_sampler_load(s, SPEC_REFERENCE_DRAFT, place, s->draft);
    else
        for (int i = 0; i < s->vocab; i++) s->draft[i] = i == s->token[place] ? 1.0 : 0.0;
}

/* Sets s->target to the excess of the scaled target over the draft; returns its mass. */
static double excess(spec_reference_sampler *s, double scale)
{
    double sum = 0.0;
    for (int i = 0; i < s->vocab; i++) {
        s->target[i] = fmax(scale * s->target[i] - s->draft[i], 0.0);
        sum += s->target[i];
    }
    return sum;
}

static void block(spec_reference_sampler *s, int mistake)
{
    double prefix[SPEC_FIXTURE_NODES_MAX + 1] = {1.0}, joint = 1.0;
    const int n = s->n_nodes;
    int kept = 0;
    bool stopped = false;
    for (int i = 0; i <= n; i++) {
        load(s, i);
        if (i < n) {
            const double ratio = s->target[s->token[i]] / s->draft[s->token[i]];
            prefix[i + 1] = fmin(1.0, prefix[i] * ratio);
            joint *= ratio;
        }
        if (i == 0) continue;
        double share = mistake == UNCAPPED ? fmin(1.0, joint) : prefix[n];
        if (i < n) {
            const double more = excess(s, prefix[i]), of = more + 1.0 - prefix[i];
            share = mistake == SHARE_WRONG ? prefix[i] : of > 0.0 ? more / of : 0.0;
        }
        if (spec_reference_sampler_uniform(s, SPEC_REFERENCE_ACCEPTS) < share && !stopped) kept = i;
        else stopped = mistake == STOPS;
    }
    load(s, kept);
    if (kept < n && !(excess(s, mistake == UNSCALED ? 1.0 : prefix[kept]) > 0.0)) load(s, kept);
    for (int i = 0; i < kept; i++) spec_reference_sampler_emit(s, s->token[i]);
    spec_reference_sampler_emit(
        s, spec_reference_sampler_pick(s, s->target,
                                       kept < n ? SPEC_REFERENCE_CORRECTS : SPEC_REFERENCE_CLOSES));
}

static void round_right(spec_reference_sampler *s)
{
    block(s, RIGHT);
}

static void round_share(spec_reference_sampler *s)
{
    block(s, SHARE_WRONG);
}

static void round_unscaled(spec_reference_sampler *s)
{
    block(s, UNSCALED);
}

static void round_uncapped(spec_reference_sampler *s)
{
    block(s, UNCAPPED);
}

static void round_stops(spec_reference_sampler *s)
{
    block(s, STOPS);
}

const spec_mutant spec_mutants_block[] = {
    {"block", SPEC_MUTANT_EXACT, SPEC_SCOPE_VERIFY, "none: block verification", "[Sun25]", true,
     .coins = true, .hooks = {.round = round_right}},
    {"block-texts", SPEC_MUTANT_EXACT, SPEC_SCOPE_STREAM, "none: block verification, writing texts",
     "[Sun25]", true, .hooks = {.round = round_right}},
    {"block-share", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "a prefix is kept with its ratio, not with the share h", "vllm-project/vllm-ascend #7807",
     true, .hooks = {.round = round_share}},
    {"block-unscaled", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "the residual's target is not scaled by the prefix's ratio", "vllm-project/vllm-ascend #7807",
     true, .hooks = {.round = round_unscaled}},
    {"block-uncapped", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "the whole draft is kept with the uncapped joint ratio", "[Zhou26], its code", true,
     .hooks = {.round = round_uncapped}},
    {"block-stops", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "stops at the first prefix that is not kept", "", true, .hooks = {.round = round_stops}},
    {.name = NULL},
};
