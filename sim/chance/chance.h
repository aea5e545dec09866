/* SPDX-License-Identifier: GPL-3.0-or-later */
/* chance: the source of every random decision of a rule, a draft strategy or the decoding loop.
 * Code asks it to accept or to pick. A sampled chance draws from a generator; an enumerated one
 * walks every branch with its exact probability; a scripted one takes the branches that a test
 * chose. A shared one depends only on seed and position, so draft and target decide alike; a probed
 * one estimates the number of branches; a reported one shows each decision. So we compute the exact
 * output law of the very code that Monte Carlo runs. */
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
    SPEC_CHANCE_SHARED,
    SPEC_CHANCE_PROBED,
    SPEC_CHANCE_SCRIPTED, /* this source and the next also see decisions whose outcome is certain */
    SPEC_CHANCE_REPORTED
} spec_chance_source;

typedef struct spec_chance {
    spec_chance_source source;
    gsl_rng *rng;                  /* sampled and probed; not owned */
    struct spec_enumeration *walk; /* enumerated */
    struct spec_script *script;    /* scripted */
    struct spec_report *report;    /* reported */
    double *branches;              /* probed: multiplied by the number of branches of each decision;
                                    * not owned */
    spec_shared_noise *noise;      /* shared; not owned */
} spec_chance;

/* Returns a chance that draws decisions from `rng`, which must outlive it. Any type of generator
 * will do whose gsl_rng_uniform is in [0,1). */
spec_chance spec_chance_sampled(gsl_rng *rng);

/* Returns a chance that picks tokens from rows by shared noise, one per position, from noise->place
 * on; each pick advances the position. It supports only picks. */
spec_chance spec_chance_shared(spec_shared_noise *noise);

/* Returns true with probability min(1, num/den). If num >= den it returns true without drawing (so
 * den = 0 gives true); if num <= 0 < den it returns false without drawing. Draws at most one
 * uniform. num and den must be finite and not negative. */
bool spec_chance_accept(spec_chance *chance, double num, double den);

/* Returns an index in 0..n-1 with probability weight[i] / sum(weight), never one of weight zero,
 * even if rounding carries the scan past the end. If only one weight is positive, a sampled chance
 * still draws a uniform, but an enumerated one makes no decision. The weights must be finite, not
 * negative, with a positive sum. */
int spec_chance_pick(spec_chance *chance, const double *weight, int n);

/* ---- enumerated: replay the code once for every branch --------------------------------------- */

/* A walk over all branches of code that asks one chance:
 *
 *     spec_enumeration_init(&walk, limit);
 *     do {
 *         ... code that asks &walk.chance, the same decisions in the same order ...
 *         law[outcome] += spec_enumeration_probability(&walk);
 *     } while (spec_enumeration_next(&walk));
 *     if (walk.refused) ... more branches than the limit: the law is incomplete ...
 *
 * Branches of probability zero are skipped, and certain decisions take no step. Time: (branches) x
 * (time of one run); memory: the longest path, 16 bytes per decision. The chance points at its
 * walk, so a walk must not be moved or copied. */
typedef struct spec_enumeration {
    spec_chance chance;
    uint64_t branches; /* finished so far, including this one after _next */
    uint64_t limit;    /* maximum branches; 0: none */
    bool refused;      /* the limit was reached before the end, or memory ran out */
    int depth;         /* decisions asked for so far in this run */
    int length;        /* decisions on the path; the ones beyond depth will be replayed */
    int capacity;
    struct spec_enumeration_step {
        /* probability of the branch taken; negative: unknown until the decision is asked for
         * again */
        double probability;
        int choice; /* the branch taken: 0 rejected / 1 accepted, or the picked index */
        bool more;  /* a later branch of positive probability remains */
    } *step;        /* (capacity) */
} spec_enumeration;

int spec_enumeration_init(spec_enumeration *walk, uint64_t limit); /* GSL_ENOMEM */
void spec_enumeration_free(spec_enumeration *walk);
double spec_enumeration_probability(const spec_enumeration *walk); /* of the current branch */
bool spec_enumeration_next(
    spec_enumeration *walk); /* moves to the next branch; false after the last one */

/* ---- scripted: a test forces each decision --------------------------------------------------- */
typedef struct spec_script {
    spec_chance chance;
    /* (n) 0/1 for an accept, an index for a pick; one for every decision, certain ones included */
    const int *answer;
    int n, used; /* answers, and how many are used: used == n after a complete script */
    /* a forced answer had probability zero (so another one was given), or the script ran out */
    bool broken;
    double *opt_asked; /* (n) the probability of each forced answer, or NULL */
} spec_script;

void spec_script_init(spec_script *script, const int *answer, int n, double *opt_asked);

/* ---- reported: each decision is shown, with its uniform number ------------------------------- */
typedef struct {
    bool accepts;         /* an accept, else a pick */
    double num, den;      /* the ratio of an accept */
    const double *weight; /* (n) weights of a pick, valid during the call */
    int n;
    double coin;          /* in [0,1); NaN: the decision was certain, and drew nothing */
    int answer;           /* 0 rejected, 1 accepted; or the picked index */
} spec_decision;

/* Decides as a sampled chance does. It takes its uniform numbers from the coins, and when these are
 * used up, from `rng`. */
typedef struct spec_report {
    spec_chance chance;
    const double *coin; /* (n) in [0,1) */
    int n, used;        /* coins, and how many are used */
    gsl_rng *rng;       /* not owned */
    void (*tell)(void *self, const spec_decision *decision);
    void *self;
} spec_report;

/* Completes `report`, whose other fields are set; it must not be moved. */
void spec_report_init(spec_report *report);

#endif
