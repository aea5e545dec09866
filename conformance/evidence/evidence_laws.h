/* evidence_laws: what is computed once of a fixture's rows, to draw from them and to judge by them.
 * Read only, so that threads share it; for evidence*.c and tests_table.c. Owns its arrays; the fixture must outlive
 * it. */
#ifndef SPECLAB_EVIDENCE_LAWS_H
#define SPECLAB_EVIDENCE_LAWS_H

#include "conformance/fixtures/fixture.h"

#include <gsl/gsl_rng.h>

/* Sets of tokens, by the rows of a state: one bit a set. */
enum {
    SPEC_SET_DRAFT_MORE,  /* draft > target */
    SPEC_SET_TARGET_MORE, /* target > draft */
    SPEC_SET_TARGET_MODE, /* the target's argmax */
    SPEC_SET_DRAFT_MODE,  /* the draft's argmax */
    SPEC_SET_FIRST,       /* token 0 */
    SPEC_SET_LAST,        /* token V - 1 */
    SPEC_SET_TAIL,        /* the least probable tokens, that hold at most 2 % of the target */
    SPEC_SETS
};

/* A cumulative row, and where to begin to look in it: guide[g] is the first token whose cumulative mass exceeds g/V. */
typedef struct {
    double *cdf;    /* (n_states, V) */
    int32_t *guide; /* (n_states, V) */
} spec_cumulative;

typedef struct {
    const spec_fixture *fixture;
    size_t cells;                  /* n_states V */
    spec_cumulative target, draft;
    double *rank_below;            /* (n_states, V) target's mass on more probable tokens (of equals, lower ids) */
    uint8_t *set;                  /* (n_states, V) bits */
    double (*set_mass)[SPEC_SETS]; /* (n_states) target's; exactly 0 or 1 where it is certain */
    double *tilt;                  /* (n_states, V) log draft/target, less its mean, in standard deviations, within
                                      +-SPEC_TILT_MOST: mean 0 under the target; all 0 where the rows are the same */
    double *surplus;               /* (n_states) target's mass on draft > target as a share of the draft's; 0: none */

    bool pairs;                    /* are the cells of pairs of tokens few enough? */
    int block;                     /* tokens of a block from level 0 on, at least 3; 0: too many cells */
    size_t block_cells;            /* V^block */
    double *block_law;             /* (variants, V^block) */
} spec_laws;

#define SPEC_TILT_MOST 4.0

int spec_laws_init(spec_laws *laws, const spec_fixture *fixture, spec_error *error);
void spec_laws_free(spec_laws *laws);

/* The first token after `state` whose cumulative mass exceeds a uniform share of all: never one of mass zero. */
int spec_laws_draw(const spec_laws *laws, const spec_cumulative *side, int state, gsl_rng *rng);

#endif
