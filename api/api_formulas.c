/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The closed forms of the library, which forward to analysis/. */
#include "speclab/speclab.h"

#include "analysis/capped_geometric.h"
#include "analysis/speedup.h"

double speclab_emitted_mean(double alpha, double K)
{
    return spec_capped_geometric_mean(alpha, K);
}

double speclab_emitted_variance(double alpha, int32_t K)
{
    return spec_capped_geometric_variance(alpha, K);
}

double speclab_accepted_probability(double alpha, int32_t K, int32_t k)
{
    return spec_capped_geometric_probability(alpha, K, k);
}

double speclab_speedup(double alpha, double K, double c)
{
    return spec_speedup(alpha, K, c);
}

double speclab_speedup_from_emitted(double emitted, double K, double c)
{
    return spec_speedup_from_emitted(emitted, K, c);
}

double speclab_best_K(double alpha, double c)
{
    return spec_speedup_best_K(alpha, c);
}

double speclab_best_speedup(double alpha, double c)
{
    return spec_speedup_best(alpha, c);
}

double speclab_break_even_alpha(int32_t K, double c)
{
    return spec_speedup_break_even_alpha(K, c);
}

double speclab_ops_factor(double alpha, int32_t K, double ops_ratio)
{
    return spec_speedup_ops_factor(alpha, K, ops_ratio);
}

double speclab_memory_factor(double alpha, int32_t K)
{
    return spec_speedup_memory_factor(alpha, K);
}
