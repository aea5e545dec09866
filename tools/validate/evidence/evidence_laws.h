/* SPDX-License-Identifier: GPL-3.0-or-later */
/* evidence_laws: tables computed once from a fixture's rows, for drawing tokens and testing them.
 * They are read-only, so threads can share them. Owns its arrays; the fixture must outlive it. Used
 * by evidence*.c and tests_table.c. */
#ifndef SPECLAB_EVIDENCE_LAWS_H
#define SPECLAB_EVIDENCE_LAWS_H

#include "tools/validate/fixtures/fixture.h"

#include <gsl/gsl_rng.h>

/* Sets of tokens of a state: one bit per set. */
enum {
    SPEC_SET_DRAFT_MORE,  /* draft > target */
    SPEC_SET_TARGET_MORE, /* target > draft */
    SPEC_SET_TARGET_MODE, /* the target's argmax */
    SPEC_SET_DRAFT_MODE,  /* the draft's argmax */
    SPEC_SET_FIRST,       /* token 0 */
    SPEC_SET_LAST,        /* token V - 1 */
    SPEC_SET_TAIL,        /* the least probable tokens, which hold at most 2 % of the target */
    SPEC_SETS
};

/* A cumulative row, and where to start searching it: guide[g] is the first token whose cumulative
 * mass exceeds g/V. */
typedef struct {
    double *cdf;    /* (n_states, V) */
    int32_t *guide; /* (n_states, V) */
} spec_cumulative;

typedef struct {
    const spec_fixture *fixture;
    size_t cells;                  /* n_states V */
    spec_cumulative target, draft;
    /* (n_states, V) the target's mass on more probable tokens and, among equals, on lower ids */
    double *rank_below;
    uint8_t *set;                  /* (n_states, V) bits */
    /* (n_states) the target's mass; exactly 0 or 1 for certain sets */
    double (*set_mass)[SPEC_SETS];
    /* (n_states, V) log draft/target, standardised under the target and cut to +-SPEC_TILT_MOST;
     * all 0 if the rows are equal */
    double *tilt;
    double *
        /* (n_states) the target's mass on the tokens with draft > target, divided by the draft's
         * mass on them; 0 if there are no such tokens */
        surplus;

    bool pairs;                    /* pairs of tokens are counted */
    int block; /* tokens of a block from level 0 on, at least 3; 0: blocks are not counted */
    size_t block_cells;            /* V^block */
    double *block_law;             /* (variants, V^block) */
} spec_laws;

#define SPEC_TILT_MOST 4.0

/* Computes the tables. Call spec_evidence_laws_fill once an empty fixture has been filled. */
int spec_evidence_laws_init(spec_laws *laws, const spec_fixture *fixture, spec_error *error);
int spec_evidence_laws_fill(spec_laws *laws, spec_error *error);
void spec_evidence_laws_free(spec_laws *laws);

/* Draws a token after `state`, never one of probability zero. */
int spec_evidence_laws_draw(const spec_laws *laws, const spec_cumulative *side, int state,
                            gsl_rng *rng);

#endif
