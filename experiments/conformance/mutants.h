/* mutants: known mistakes of real samplers, each in a few lines over the right one, behind the plug-in interface.
 * `speclab validate --self-test` finds every one of them; a FAIL names those whose law is nearest to what was seen, as
 * a hint. Lines of the table spec_mutants. */
#ifndef SPECLAB_MUTANTS_H
#define SPECLAB_MUTANTS_H

#include "experiments/conformance/caller.h"

typedef struct {
    const char *name;     /* "residual-from-target" */
    const char *mistake;  /* one line */
    const char *where;    /* where it was seen: "vllm-project/vllm #54282", or "" */
    uint32_t scope;       /* SPEC_SCOPE_*, the one in which it can be told */
    bool exact;           /* not a mistake: an algorithm that is often taken for one, and must pass */
    bool hard;            /* shows as something that may never be, not as a difference of laws */
    spec_sampler_api api;
} spec_mutant;

extern const spec_mutant *const spec_mutants[]; /* NULL-terminated */
int spec_mutant_find(const spec_mutant **ret, const char *name, spec_error *error);

#endif
