#include "experiments/measures.h"

spec_montecarlo_plan spec_point_plan(const spec_point *point)
{
    return (spec_montecarlo_plan){.rounds = point->rounds,
                                  .standard_error = point->standard_error,
                                  .seed = point->seed,
                                  .threads = point->threads};
}

int spec_point_simulate(spec_tally *ret_tally, spec_estimate *ret_emitted, spec_estimate *opt_rate,
                        const spec_point *point, const spec_round_source *source, spec_error *error)
{
    spec_montecarlo_plan plan = spec_point_plan(point);
    spec_montecarlo mc = {0};
    int status = GSL_SUCCESS;
    *ret_tally = (spec_tally){0};
    *ret_emitted = (spec_estimate){0};
    SPEC_TRY(spec_montecarlo_init(&mc, source, &plan, error));
    SPEC_TRY(spec_montecarlo_run(&mc, point->stop, error));
    *ret_tally = mc.tally;
    *ret_emitted = spec_montecarlo_emitted(&mc);
    if (opt_rate != NULL) *opt_rate = spec_montecarlo_rate(&mc);
done:
    spec_montecarlo_free(&mc);
    return status;
}
