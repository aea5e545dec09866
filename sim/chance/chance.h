/* chance: every random decision of a rule, a draft or the loop, asked for in one of two ways: accept or pick.
 * Sampled (drawn from a generator), enumerated (every branch walked, with its exact probability) or scripted (a test
 * forces the branches): the code that Monte Carlo runs is the code whose output law is computed exactly. Or shared: a
 * function of seed and place, the same for draft and target. */
#ifndef SPECLAB_CHANCE_H
#define SPECLAB_CHANCE_H

#include "sim/chance/shared_noise.h"
#include "speclab/status.h"

#include <gsl/gsl_rng.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum {
    SPEC_CHANCE_SAMPLED,
    SPEC_CHANCE_ENUMERATED,
    SPEC_CHANCE_SCRIPTED,
    SPEC_CHANCE_SHARED
} spec_chance_source;

typedef struct spec_chance {
    spec_chance_source source;
    gsl_rng *rng;                   /* sampled; not owned */
    struct spec_enumeration *walk;  /* enumerated */
    struct spec_script *script;     /* scripted */
    spec_shared_noise *noise;       /* shared; not owned */
} spec_chance;

/* Decisions drawn from `rng`, which must outlive it: of any type, with gsl_rng_uniform in [0,1). */
spec_chance spec_chance_sampled(gsl_rng *rng);

/* Tokens picked from rows by shared noise, one a place, beginning at noise->place: each pick goes on to the next. It
 * only picks. */
spec_chance spec_chance_shared(spec_shared_noise *noise);

/* True with probability min(1, num/den). num >= den is true without drawing (so den = 0 is true), num <= 0 < den is
 * false without drawing. At most one uniform. num and den must be finite and not negative. */
bool spec_chance_accept(spec_chance *chance, double num, double den);

/* An index of 0..n-1 with probability weight[i] / sum(weight): never one of weight zero, nor where rounding carries the
 * scan past the end. Sampled: one uniform, also where only one weight is positive. Enumerated: no decision in that
 * case. The weights must be finite, not negative, with a positive sum. */
int spec_chance_pick(spec_chance *chance, const double *weight, int n);

/* ---- enumerated: replay the code once for every branch
 * -----------------------------------------------------------------------
 *
 *     spec_enumeration_init(&walk, limit);
 *     do {
 *         ... code that asks &walk.chance ...                  the same decisions must be asked in the same order
 *         law[outcome] += spec_enumeration_probability(&walk);
 *     } while (spec_enumeration_next(&walk));
 *     if (walk.refused) ...                                    more branches than the limit: the law is not complete
 *
 * Branches of probability zero are skipped and certain decisions take no step. Time: (branches) x (time of one run);
 * memory: the longest path, 16 bytes a decision. The chance points at its walk, so a walk must not be moved or
 * copied. */
typedef struct spec_enumeration {
    spec_chance chance;
    uint64_t branches; /* finished so far, this one included once _next was called */
    uint64_t limit;    /* most branches; 0: none */
    bool refused;      /* the limit was met before the end, or memory ran out */
    int depth;         /* decisions asked so far in this run */
    int length;        /* decisions on the path: those beyond depth are still to be replayed */
    int capacity;
    struct spec_enumeration_step {
        double probability; /* of the branch taken; negative: not known before the decision is asked again */
        int choice;         /* the branch taken: 0 rejected / 1 accepted, or the picked index */
        bool more;          /* a later branch of positive probability is left */
    } *step;                /* (capacity) */
} spec_enumeration;

int spec_enumeration_init(spec_enumeration *walk, uint64_t limit); /* GSL_ENOMEM */
void spec_enumeration_free(spec_enumeration *walk);
double spec_enumeration_probability(const spec_enumeration *walk); /* of the branch just walked */
bool spec_enumeration_next(spec_enumeration *walk);                /* go to the next branch; false after the last */

/* ---- scripted: a test forces each decision ----------------------------------------------------------------------- */
typedef struct spec_script {
    spec_chance chance;
    const int *answer; /* (n) 0/1 for an accept, an index for a pick; a certain decision takes one all the same */
    int n, used;       /* answers, and how many were taken: a script that was followed to its end has used == n */
    bool broken;       /* an answer of probability zero was forced (it fell otherwise), or the script ran out */
    double *opt_asked; /* (n) the probability of each forced answer, or NULL */
} spec_script;

void spec_script_init(spec_script *script, const int *answer, int n, double *opt_asked);

#endif
