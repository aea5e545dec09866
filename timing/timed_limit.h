/* timed_limit: the least time that a device allows for a pass: its roofline, measured in the same run, and what the
 * pass has to do. docs/formulas.md#measured-roofline. Borrows the backend. */
#ifndef SPECLAB_TIMED_LIMIT_H
#define SPECLAB_TIMED_LIMIT_H

#include "models/model.h"
#include "models/transformer/engine/pass_work.h"

typedef struct {
    const spec_backend *opt_backend; /* where the model runs; NULL: it is no transformer, and there is no limit */
    spec_pass_work work;
    spec_roofline roofline;
} spec_timed_limit;

/* Measure the device of a model; what opt_other has measured of the same one is taken over. Fails as the device does. */
int spec_timed_limit_init(spec_timed_limit *ret, const spec_model *opt_model, const spec_timed_limit *opt_other,
                          spec_error *error);

/* Seconds of a pass of n tokens at the end of a text of `text` tokens, these among them:
 *
 *     max(bytes / read, sum over types of FLOP / rate) + launches launch           docs/formulas.md#measured-roofline
 *
 * What the device was not measured for is left out. NaN where its reading was not measured, or there is no limit. */
double spec_timed_limit_seconds(const spec_timed_limit *limit, int n, double text);

/* Bytes of weights over these seconds and over the measured reading: the share of it that a pass gets; NaN as above. */
double spec_timed_limit_share(const spec_timed_limit *limit, double seconds);

#endif
