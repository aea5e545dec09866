/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/costs_option.h"

#include "cli/usage.h"

#include <math.h>

void spec_costs_option_read(spec_pass_costs *costs, const char *opt_path, bool c_is_given,
                            const char *verb)
{
    spec_error error;
    *costs = (spec_pass_costs){0};
    if (opt_path == NULL) return;
    if (spec_pass_costs_read(costs, opt_path, &error) != GSL_SUCCESS)
        spec_usage_fail(verb, "--costs: %s", error.text);
    if (costs->of_bench && isnan(costs->c) && !c_is_given)
        spec_usage_fail(verb, "--costs: %s has no c, because it is too uncertain; give it with --c",
                        opt_path);
    if (costs->warning[0] != '\0')
        spec_usage_say(verb, "--costs: %s: %s", opt_path, costs->warning);
}
