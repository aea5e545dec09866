/* recipe: fixtures by parameters, one table line each. Rows are profiles of probability over ranks; each state shuffles
 * the ranks anew and jitters the weights, so that no row is like another, and says how the draft's order lies to the
 * target's. Everything follows from the fixture's name and the state. Lines stand in fixtures_*.c, one file a theme. */
#ifndef SPECLAB_RECIPE_H
#define SPECLAB_RECIPE_H

#include "experiments/conformance/fixture.h"

typedef enum {
    SPEC_PROFILE_STEPS, /* exp(-sharp r/(V-1)): the last rank is e^sharp times less probable than the first */
    SPEC_PROFILE_ZIPF,  /* (r+1)^-sharp */
    SPEC_PROFILE_MODE,  /* the first rank alone holds `sharp` of all, the others share the rest as 1/r */
    SPEC_PROFILE_TIES   /* the first half of the ranks 3, the others 1, to the bit where V is a power of two */
} spec_profile_shape;

typedef struct {
    spec_profile_shape shape;
    double sharp;
} spec_profile;

/* The draft's ranks. */
typedef enum {
    SPEC_ORDER_SAME,     /* those of the target */
    SPEC_ORDER_NEXT,     /* its first is the target's second, and so on round */
    SPEC_ORDER_REVERSED, /* the target's last comes first */
    SPEC_ORDER_OWN       /* shuffled on its own */
} spec_order;

/* What is done to the rows afterwards, one bit each; ranks are the target's. */
enum {
    SPEC_EDIT_DISJOINT = 1,       /* odd ranks are the draft's alone, even ones the target's */
    SPEC_EDIT_TARGET_ZEROS = 2,   /* odd ranks have target probability 0, and tokens 0 and V-1 are among them */
    SPEC_EDIT_DRAFT_ZEROS = 4,    /* even ranks have draft probability 0 */
    SPEC_EDIT_TARGET_ONE_HOT = 8, /* the target's first alone */
    SPEC_EDIT_DRAFT_ONE_HOT = 16, /* the draft's first alone */
    SPEC_EDIT_DRAFT_TINY = 32,    /* the target's likeliest has the least draft probability there is, a unit */
    SPEC_EDIT_ONE_UNIT = 64,      /* the draft is the target, but for a unit from the first rank to the last */
    SPEC_EDIT_NO_ENDS = 128,      /* tokens 0 and V-1 have probability 0 in both rows */
    SPEC_EDIT_TILES = 256,        /* the first ranks stand at both sides of multiples of powers of 2, and at the ends */
    SPEC_EDIT_FILTERED = 512,     /* only the 40 first ranks of each row are left */
    SPEC_EDIT_HALF_STEPS = 1024   /* V = 16: draft probabilities half-way between those that bf16 can hold */
};

typedef struct {
    spec_fixture_kind kind;     /* .open = spec_recipe_open */
    int vocab, nodes, variants;
    const int *opt_parent;      /* (nodes); NULL: a chain */
    uint32_t drawn;             /* 0: SPEC_DRAWN_IID */
    int batch;                  /* 0: 256 */
    bool blind, shorter, repeats, coins;
    spec_sampling sampling;     /* all 0: nothing to apply */
    spec_profile target, draft;
    spec_order order;
    double blend[2];            /* how much of the target is in the draft, at the first and the last level; 1: equal */
    unsigned edits;
} spec_recipe;

int spec_recipe_open(spec_fixture *fixture, spec_error *error);

#endif
