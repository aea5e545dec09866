/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/serve_advice.h"

#include "cli/usage.h"
#include "cli/verb.h"
#include "experiments/serving/serving_advice.h"

int spec_serve_advice_say(const spec_table *table, const char *verb)
{
    spec_error error = {{0}};
    uint64_t refused;
    if (spec_serving_advice_write(stderr, &refused, table, &error) != GSL_SUCCESS) {
        spec_usage_say(verb, "%s", error.text);
        return SPEC_EXIT_USAGE;
    }
    return refused > 0 ? SPEC_EXIT_UNDECIDED : SPEC_EXIT_HOLDS;
}
