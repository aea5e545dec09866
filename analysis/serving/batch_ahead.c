/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/serving/batch_ahead.h"

#include <math.h>
#include <stdbool.h>

static bool is_chance(double x)
{
    return x >= 0.0 && x <= 1.0;
}

double spec_batch_ahead_step(double hit, double B, int K, double draft, double verify)
{
    if (!(is_chance(hit) && B >= 1.0 && K >= 1 && draft >= 0.0 && verify >= 0.0)) return NAN;
    return fmax(verify, (K + 1.0) * draft) + (1.0 - pow(hit, B)) * K * draft;
}

double spec_batch_ahead_gain(double hit, double B, int K, double draft, double verify)
{
    return (verify + K * draft) / spec_batch_ahead_step(hit, B, K, draft, verify);
}

double spec_batch_ahead_drafted(double hit, double guessed)
{
    if (!(is_chance(hit) && is_chance(guessed))) return NAN;
    return guessed / (1.0 - hit + guessed);
}

double spec_batch_ahead_ride(double hit, double guessed, double emitted)
{
    if (!(emitted >= 1.0)) return NAN;
    return 1.0 + spec_batch_ahead_drafted(hit, guessed) * (emitted - 1.0);
}

double spec_batch_ahead_halves(double draft, double verify)
{
    if (!(draft >= 0.0 && verify >= 0.0)) return NAN;
    return fmax(draft + verify, 2.0 * fmax(draft, verify));
}
