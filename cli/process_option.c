/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/process_option.h"

#include "cli/usage.h"
#include "sim/acceptance.h"

#include <gsl/gsl_errno.h>
#include <stdio.h>

spec_process_option spec_process_option_of(const char *opt_spec, const char *opt_alpha, int from,
                                           const char *verb)
{
    spec_process process;
    spec_process_option ret = {0};
    if (opt_spec == NULL) return ret;
    const int status = spec_acceptance_process_init(&process, opt_spec, 0.5, NULL);
    if (status == GSL_ENOMEM) spec_usage_no_memory(verb);
    if (status != GSL_SUCCESS) return ret;
    ret.lacks_alpha = !spec_acceptance_reads_alpha(&process);
    if (ret.lacks_alpha && opt_alpha != NULL)
        spec_usage_fail(verb, "--alpha: process '%s' has no alpha", opt_spec);
    if (process.kind != SPEC_PROCESS_RATES) return ret;
    ret.n_rates = process.n_rates;
    snprintf(ret.K, sizeof ret.K, "%d:%d:1", from, process.n_rates);
    return ret;
}
