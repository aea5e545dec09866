/* mutants: known mistakes of real samplers, each in a few lines over the right one (plain.h), behind the plug-in
 * interface as mutant:NAME. `speclab validate --self-test` finds every one of them; a FAIL names those whose law is
 * nearest to what was seen, as a hint. One table for each theme, a line for each mistake; a name of NULL ends it. */
#ifndef SPECLAB_MUTANTS_H
#define SPECLAB_MUTANTS_H

#include "conformance/mutants/plain.h"

typedef enum {
    SPEC_MUTANT_WRONG,  /* a mistake: must FAIL */
    SPEC_MUTANT_HARD,   /* the same, and shows as something that may never be */
    SPEC_MUTANT_SMALL,  /* a mistake too small or too rare, by a TV below .005, to be found with the default budget */
    SPEC_MUTANT_LOSSY,  /* another law on purpose, and says so */
    SPEC_MUTANT_EXACT   /* no mistake: an algorithm that is often taken for one, and must pass */
} spec_mutant_kind;

typedef struct {
    const char *name;    /* "residual-from-target" */
    spec_mutant_kind kind;
    uint32_t scope;      /* SPEC_SCOPE_*, the one in which it can be told */
    const char *mistake; /* one line */
    const char *where;   /* where it was seen: "vllm-project/vllm #54282", or "" */
    bool chains_only;    /* takes no trees */
    bool everywhere;     /* makes sense in all scopes, though one is enough to find it */
    bool coins;          /* takes its random numbers from the caller */
    spec_plain_hooks hooks;
} spec_mutant;

extern const spec_mutant spec_mutants_law[];        /* what is accepted, and what comes after a rejection */
extern const spec_mutant spec_mutants_block[];      /* block verification */
extern const spec_mutant spec_mutants_draft[];      /* drafts drawn from another law than is claimed */
extern const spec_mutant spec_mutants_numbers[];    /* random numbers used twice, cast, forgotten; low precision */
extern const spec_mutant spec_mutants_rows[];       /* rows, requests and padding mixed up; outputs and inputs */
extern const spec_mutant spec_mutants_parameters[]; /* temperature and filters */
extern const spec_mutant spec_mutants_trees[];
extern const spec_mutant spec_mutants_streams[];    /* contexts and caches */

/* Mutant i of all tables together; NULL after the last. */
const spec_mutant *spec_mutants_at(int i);

/* The mutant of that name, or GSL_EINVAL, naming the nearest. */
int spec_mutants_find(const spec_mutant **ret_mutant, const char *name, spec_error *error);

/* The nearest bfloat16 number, ties to even; finite x. For the tables. */
double spec_mutants_bf16(double x);

#endif
