/* SPDX-License-Identifier: MIT */
/* A shared library that exports almost nothing. */
#include <speclab/sampler.h>

uint32_t spec_sampler_abi(void)
{
    return SPEC_SAMPLER_ABI;
}

int spec_sampler_describe(spec_sampler_about *about)
{
    about->name[0] = 'b';
    about->scopes = SPEC_SCOPE_VERIFY;
    return 0;
}
