/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slo: limits on the times of a request (service level objectives), and the share that meets them.
 * A spec such as ttft=500ms,tpot=50ms,latency=20s sets any of three limits: time to first token,
 * time per token after the first, latency. A plain record without memory. */
#ifndef SPECLAB_SLO_H
#define SPECLAB_SLO_H

#include "tools/serve/replications.h"

typedef struct {
    double first_token, per_token, latency; /* s; INFINITY: no limit */
} spec_slo;

/* Parses a spec; "" sets no limit. Returns GSL_EINVAL or GSL_EDOM with one line for unknown names
 * and wrong times. */
int spec_slo_parse(spec_slo *slo, const char *spec, spec_error *error);

bool spec_slo_limits(const spec_slo *slo); /* Returns whether there is any limit. */

/* Returns the share of all measured requests that meet every limit; NaN without times. */
double spec_slo_share(const spec_slo *slo, const spec_replications *replications);

#endif
