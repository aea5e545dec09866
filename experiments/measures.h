/* measures: every measure by name, and what several of them share.
 * A measure_<name>.c defines one spec_measure; measure.c lists them. Nobody else needs this header. */
#ifndef SPECLAB_MEASURES_H
#define SPECLAB_MEASURES_H

#include "experiments/measure.h"
#include "sim/sources.h"

extern const spec_measure spec_measure_acceptance, spec_measure_predict;

/* The Monte Carlo plan of a point. */
spec_montecarlo_plan spec_point_plan(const spec_point *point);

/* Run a source as the point's plan says: the tally so far, tokens per round and per time. The tally is left where the run was stopped. */
int spec_point_simulate(spec_tally *ret_tally, spec_estimate *ret_emitted, spec_estimate *opt_rate,
                        const spec_point *point, const spec_round_source *source, spec_error *error);

#endif
