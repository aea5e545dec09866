/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/chance/probe.h"

#include <math.h>

void spec_probe_init(spec_probe *probe, gsl_rng *rng, double limit)
{
    *probe = (spec_probe){.limit = limit, .product = 1.0};
    probe->chance = (spec_chance){
        .source = SPEC_CHANCE_PROBED, .rng = rng, .branches = &probe->product};
}

void spec_probe_end_path(spec_probe *probe)
{
    probe->n++;
    probe->mean += (probe->product - probe->mean) / (double)probe->n;
    for (int k = 0; k < SPEC_PROBE_BETS; k++)
        probe->log_bet[k] += log1p(ldexp(probe->product / probe->limit - 1.0, -1 - k));
    probe->product = 1.0;
}

double spec_probe_log_e(const spec_probe *probe)
{
    double most = probe->log_bet[0], sum = 0.0;
    for (int k = 1; k < SPEC_PROBE_BETS; k++) most = fmax(most, probe->log_bet[k]);
    for (int k = 0; k < SPEC_PROBE_BETS; k++) sum += exp(probe->log_bet[k] - most);
    return most + log(sum / SPEC_PROBE_BETS);
}
