/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mutants: the catalogue of known mistakes of real samplers, each selectable as mutant:NAME.
 * Each takes a few lines on top of the reference sampler (reference_sampler.h), behind the plug-in
 * interface. `speclab validate --self-test` checks that they are found. After a FAIL, the report
 * names those whose law is nearest. One table per theme, one line per mistake; a name of NULL ends
 * a table. */
#ifndef SPECLAB_MUTANTS_H
#define SPECLAB_MUTANTS_H

#include "tools/validate/mutants/reference_sampler.h"

typedef enum {
    SPEC_MUTANT_WRONG, /* a mistake: must FAIL */
    SPEC_MUTANT_HARD,  /* a mistake that breaks a hard rule: must FAIL */
    /* a mistake too small or too rare for the default budget, with a TV below .005 */
    SPEC_MUTANT_SMALL,
    SPEC_MUTANT_LOSSY, /* deliberately has another law, and declares it */
    SPEC_MUTANT_EXACT  /* not a mistake, though often taken for one: must pass */
} spec_mutant_kind;

typedef struct {
    const char *name;    /* "residual-from-target" */
    spec_mutant_kind kind;
    uint32_t scope;      /* SPEC_SCOPE_*: the scope in which it shows */
    const char *mistake; /* one line */
    const char *where;   /* where it occurred: "vllm-project/vllm #54282", or "" */
    bool chains_only;    /* supports only chains */
    uint32_t trees;      /* otherwise the trees that it supports, SPEC_DRAWN_*; 0: all kinds */
    int max_vocab;       /* 0: any */
    bool everywhere;     /* it can occur in all scopes, but `scope` is enough to find it */
    bool coins;          /* takes its random numbers from spec_step.coin */
    const char *filters; /* the declared order of filters; NULL: joint */
    spec_reference_sampler_hooks hooks;
} spec_mutant;

extern const spec_mutant
    spec_mutants_law[]; /* mistakes in acceptance, and in the token after a rejection */
extern const spec_mutant spec_mutants_block[];      /* block verification */
extern const spec_mutant spec_mutants_draft[]; /* drafts whose law is not the declared one */
extern const spec_mutant
    spec_mutants_numbers[]; /* random numbers that are reused, badly cast or ignored; low
                             * precision */
extern const spec_mutant
    spec_mutants_rows[]; /* mixed-up rows, requests and padding; outputs and inputs */
extern const spec_mutant spec_mutants_parameters[]; /* temperature and filters */
extern const spec_mutant spec_mutants_trees[];
extern const spec_mutant spec_mutants_streams[];    /* contexts and caches */
/* exact samplers with unusual draws, coins and lengths */
extern const spec_mutant spec_mutants_exact[];
extern const spec_mutant
    spec_mutants_exact_trees[]; /* exact samplers with other orders and rules for siblings */

/* Returns generated mistakes in a combination of two values of the design; NULL after the last. */
const spec_mutant *spec_mutants_pair(int i);

/* Returns mutant i over all tables and pairs; NULL after the last. */
const spec_mutant *spec_mutants_at(int i);

/* Finds a mutant by name. Returns GSL_EINVAL, naming the nearest one, if there is none. */
int spec_mutants_find(const spec_mutant **ret_mutant, const char *name, spec_error *error);

/* Returns the nearest bfloat16 number, ties to even; x must be finite. For the tables. */
double spec_mutants_bf16(double x);

#endif
