/* SPDX-License-Identifier: GPL-3.0-or-later */
/* timing_limit: the least time that a pass can take on a device, from its measured roofline.
 * The roofline is measured in the same run as the passes. docs/formulas/costs.md#measured-roofline.
 * Borrows the backend. */
#ifndef SPECLAB_TIMING_LIMIT_H
#define SPECLAB_TIMING_LIMIT_H

#include "models/model.h"
#include "models/transformer/engine/pass_work.h"

typedef struct {
    /* the model's backend; NULL: it is not a transformer, and has no limit */
    const spec_backend *opt_backend;
    spec_pass_work work;
    spec_roofline roofline;
} spec_timing_limit;

/* Measures the device of a model, or copies the measurement from opt_other if that has the same
 * device. Fails if the device does. */
int spec_timing_limit_init(spec_timing_limit *ret, const spec_model *opt_model,
                           const spec_timing_limit *opt_other, spec_error *error);

/* Returns the seconds of a pass of n tokens that reads `experts` of each mixture
 * (spec_pass_work_bytes), at the end of a text of `text` tokens, which include them:
 *
 *     max(bytes / read, sum over types of FLOP / rate) + launches launch
 *                                                          docs/formulas/costs.md#measured-roofline
 *
 * Rates that were not measured are omitted. NaN if reading was not measured, or there is no
 * limit. */
double spec_timing_limit_seconds(const spec_timing_limit *limit, int n, double experts,
                                 double text);

/* Returns the share of the measured bandwidth that a pass uses: the bytes of weights, divided by
 * these seconds and by the bandwidth. NaN as above. */
double spec_timing_limit_share(const spec_timing_limit *limit, double experts, double seconds);

/* Returns the expected number of distinct experts of each mixture that a pass of n tokens reads, if
 * tokens choose independently (analysis/roofline.h). NaN for a model without mixtures. */
double spec_timing_limit_experts(const spec_timing_limit *limit, int n);

#endif
