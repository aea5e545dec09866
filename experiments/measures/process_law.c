/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/process_law.h"

#include "analysis/alpha.h"
#include "analysis/capped_geometric.h"
#include "analysis/modulated.h"
#include "analysis/rounded_normal.h"

#include <math.h>

double spec_process_tail(const spec_process *process, int K, int k)
{
    if (k <= 0 || k > K) return k <= 0 ? 1.0 : 0.0;
    switch (process->kind) {
    case SPEC_PROCESS_IID: return spec_capped_geometric_tail(process->alpha, K, k);
    case SPEC_PROCESS_DECAY:
        return pow(process->alpha, k) * pow(process->decay, 0.5 * k * (k - 1.0));
    case SPEC_PROCESS_MINIMUM_VARIANCE: return fmin(1.0, fmax(0.0, process->length - k));
    case SPEC_PROCESS_GEOMETRIC:
        return spec_capped_geometric_tail(spec_alpha_from_emitted(process->length, K), K, k);
    case SPEC_PROCESS_ROUNDED_NORMAL: return spec_rounded_normal_tail(process->length, K, k);
    case SPEC_PROCESS_RATES: return process->rate[k - 1];
    case SPEC_PROCESS_MARKOV:
    case SPEC_PROCESS_CONTEXT: break;
    }
    return NAN;
}

int spec_process_moments(double *ret_mean, double *ret_variance, const spec_process *process, int K)
{
    double mean = 0.0, square = 0.0;
    if (process->kind == SPEC_PROCESS_MARKOV)
        return spec_modulated_pair(ret_mean, ret_variance, process->alpha, process->spread,
                                   process->rho, K);
    for (int k = 1; k <= K; k++) {
        const double tail = spec_process_tail(process, K, k);
        mean += tail;
        square += (2 * k - 1) * tail;
    }
    *ret_mean = 1.0 + mean;
    *ret_variance = fmax(square - mean * mean, 0.0);
    return GSL_SUCCESS;
}
