/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cases: random pairs of rows that are hard for verification rules: zeros, ties, equal rows.
 * Both rows of a pair come from one random stream, so two models with the same seed are related.
 * The caller owns the rows. */
#ifndef SPECLAB_CASES_H
#define SPECLAB_CASES_H

#include <gsl/gsl_rng.h>

/* The relation between the two rows. */
typedef enum {
    SPEC_CASES_PLAIN,    /* two Dirichlet(1) rows */
    SPEC_CASES_ZEROS,    /* each with about half of its tokens at zero */
    SPEC_CASES_LEVELS,   /* weights 1, 2 or 3: ties within and between the rows */
    SPEC_CASES_EQUAL,    /* the same row twice */
    SPEC_CASES_NEAR,     /* the same row except for the last bits */
    SPEC_CASES_DISJOINT, /* no common support (V = 1: the same row) */
    SPEC_CASES_ONE_HOT,  /* all mass on one token each */
    SPEC_CASES_MIXED,    /* any of these */
    SPEC_CASES_FAMILIES
} spec_cases_family;

extern const char *const spec_cases_families[]; /* their names, NULL-terminated */

enum { SPEC_CASES_VOCAB_MAX = 16 };

/* Fills two rows (V), 1 <= V <= SPEC_CASES_VOCAB_MAX. */
void spec_cases_pair(double *target, double *draft, int vocab, spec_cases_family family,
                     gsl_rng *rng);

#endif
