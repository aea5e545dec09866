/* SPDX-License-Identifier: GPL-3.0-or-later */
/* drawn_dflash: dflash files with random weights, for tests.
 * The same seed gives the same file on every machine. */
#ifndef SPECLAB_TESTS_DRAWN_DFLASH_H
#define SPECLAB_TESTS_DRAWN_DFLASH_H

#include "models/dflash/dflash.h"
#include "models/model.h"

typedef struct {
    spec_dflash_shape shape; /* what the file says, even if it is wrong; scales of 0 are left out */
    uint64_t lacks;          /* bits of the parts that are missing, 1 << part */
    const char *opt_lacks_key, *opt_extra_tensor; /* a key that is missing; a tensor too many */
    const char *opt_architecture;                 /* in place of "dflash" */
    int bad_token;                                /* of row 1 of d2t, if not 0 */
    bool not_finite;                              /* the first weight of the last tensor */
    uint64_t seed;
} drawn_dflash_config;

/* The default: two layers of 2 heads with 1 key head of width 4, the last with a window if there is
 * one; a block of 4 from 2 taps; a Markov head of rank 3, or 2 candidates of rank 3 with kernels of
 * 2 over groups of half the width. It has no ends of its own, post norms or layer scales. */
drawn_dflash_config drawn_dflash(spec_dflash_kind kind, const spec_shape *target);

/* Writes the file, replacing an older one. Weights have the scale that keeps that of activations;
 * gains are near 1. A reduced vocabulary has the odd tokens, descending, then the even ones. */
void drawn_dflash_write(const char *path, const drawn_dflash_config *config);

/* Opens the same as a draft of a transformer, by way of a file; `keys` are those of its spec, such
 * as "temperature=0", or "". */
spec_model *drawn_dflash_open(const drawn_dflash_config *config, const char *keys,
                              const spec_model *target);

#endif
