/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slo: limits on the times of a request (service level objectives), and the share that meets them.
 * A spec is ttft=500ms,tpot=50ms,latency=20s, any of them: time to first token, time per token
 * after the first, latency. A plain record without memory. */
#ifndef SPECLAB_SLO_H
#define SPECLAB_SLO_H

#include "experiments/serving/replications.h"

typedef struct {
    double first_token, per_token, latency; /* s; INFINITY: no limit */
} spec_slo;

/* "" sets no limit. GSL_EINVAL or GSL_EDOM with one line for unknown names and wrong times. */
int spec_slo_parse(spec_slo *slo, const char *spec, spec_error *error);

bool spec_slo_limits(const spec_slo *slo); /* is there any limit? */

/* The share of all measured requests that meet every limit; NaN without times. */
double spec_slo_share(const spec_slo *slo, const spec_replications *replications);

#endif
