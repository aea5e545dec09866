/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/serving/single_server.h"

#include <math.h>

double spec_single_server_wait(double rate, double mean, double square)
{
    if (!(rate >= 0.0 && mean > 0.0 && square >= mean * mean * (1.0 - 1e-12))) return NAN;
    const double load = rate * mean;
    return load < 1.0 ? rate * square / (2.0 * (1.0 - load)) : INFINITY;
}

double spec_single_server_latency(double rate, double mean, double square)
{
    return mean + spec_single_server_wait(rate, mean, square);
}
