/* SPDX-License-Identifier: GPL-3.0-or-later */
/* shared_noise: common random numbers: draft and target choose tokens without communication.
 * The noise is a pure function of seed, text, position in the text and token [Daliri24]. Over
 * random seeds the token picked from a row has the row's distribution. For a given seed it depends
 * only on the row, so a text does not depend on its drafts. */
#ifndef SPECLAB_SHARED_NOISE_H
#define SPECLAB_SHARED_NOISE_H

#include "base/settings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How the noise selects a token from a row. docs/formulas/acceptance.md#coupling says how often two
 * rows then agree. */
typedef enum {
    SPEC_NOISE_NONE,
    /* token k arrives at its exponential time divided by row[k], and the first to arrive is taken
     * (Gumbel-max) */
    SPEC_NOISE_RACES,
    /* darts (k, height) are thrown at tokens x [0,1], and the first one below row[k] is taken
     * (MinHash) */
    SPEC_NOISE_DARTS
} spec_noise_kind;

typedef struct {
    spec_noise_kind kind;
    uint64_t seed;
    uint64_t text;  /* number of the text; each text has its own noise */
    uint64_t place; /* position of the next pick: the number of tokens before it */
} spec_shared_noise;

/* Reads the key "seed", an integer. If it is missing or "none", the kind becomes NONE. */
int spec_shared_noise_init(spec_shared_noise *noise, spec_noise_kind kind,
                           const spec_settings *settings, spec_error *error);

/* Picks the token at noise->place of a row (n) and advances noise->place. Never picks a token of
 * weight zero. The kind must not be NONE. The row must sum to 1; darts then need about n throws.
 * O(n). */
int spec_shared_noise_pick(spec_shared_noise *noise, const double *row, int n);

/* Lists the n tokens that arrive first in the race at noise->place, in their order; returns their
 * number. The first one is the token that _pick takes. The kind must be RACES.
 *
 *   again   each token's later arrivals count, too: the times between them are exponential and
 *           divided by row[k]. The arrivals are a Poisson process, so over the seeds the list is n
 *           independent draws from the row [LiuY26]. false: each token of positive weight once, as
 *           without replacement
 *   at      (n) workspace
 * O(vocab + n^2). */
int spec_shared_noise_list(int *ret_token, int n, const spec_shared_noise *noise, bool again,
                           const double *row, int vocab, double *at);

#endif
