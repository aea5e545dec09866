/* SPDX-License-Identifier: GPL-3.0-or-later */
/* alias: Walker's alias tables: draws from a fixed distribution in constant time.
 * [Walker77; Vose91] One 64-bit word per draw: the high half of word * n is the column, the low
 * half is a fraction that chooses the side. The tables are built in integers, so the probabilities
 * differ from weight/sum by less than 2^-51 + n 2^-64 per token. Owns its memory. */
#ifndef SPECLAB_ALIAS_H
#define SPECLAB_ALIAS_H

#include "sim/chance/rng.h"
#include "speclab/status.h"

#include <stddef.h>

typedef struct {
    int n;
    struct spec_alias_column {
        uint64_t keep; /* the draw is `own` if the fraction is below keep/2^64, else `other` */
        uint32_t own, other;
    } *column;         /* (n) */
} spec_alias;

/* Returns GSL_EDOM unless weight (n) is finite and not negative with a positive sum, and GSL_EINVAL
 * for n < 1. A token of weight zero is never drawn. */
int spec_alias_init(spec_alias *alias, const double *weight, int n, spec_error *error);
void spec_alias_free(spec_alias *alias);

/* Fills ret_probability with weight/sum, which sum to 1 up to rounding. Makes the same checks as
 * _init. ret_probability may be `weight`. */
int spec_alias_normalise(double *ret_probability, const double *weight, int n, spec_error *error);

/* Draws a token; takes one word. */
int spec_alias_draw(const spec_alias *alias, spec_rng_state *rng);

/* Returns the exact probability that _draw returns `token` if all 2^64 words are equally likely,
 * rounded once. O(n), for tests. */
double spec_alias_probability(const spec_alias *alias, int token);

#endif
