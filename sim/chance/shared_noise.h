/* shared_noise: common random numbers, by which draft and target choose their tokens without knowing of each other: a
 * pure function of seed, text, place in the text and token [Daliri24]. What is picked from a row has the row's law over
 * the seeds, and from one seed it is a function of the row alone: so a text does not depend on its drafts. */
#ifndef SPECLAB_SHARED_NOISE_H
#define SPECLAB_SHARED_NOISE_H

#include "base/settings.h"

#include <stddef.h>
#include <stdint.h>

/* How a row's token follows from the noise. Over the noise, two rows then agree as docs/formulas.md#coupling says. */
typedef enum {
    SPEC_NOISE_NONE,
    SPEC_NOISE_RACES, /* token k arrives at its exponential clock over row[k], and the first is taken: Gumbel-max */
    SPEC_NOISE_DARTS  /* darts (k, height) over tokens and [0,1], and the first below row[k] is taken: MinHash */
} spec_noise_kind;

typedef struct {
    spec_noise_kind kind;
    uint64_t seed;
    uint64_t text;  /* number of the text: others have other noise */
    uint64_t place; /* of the next pick: the number of tokens before it */
} spec_shared_noise;

/* Read the key "seed": a whole number. Without it, or where it is "none", the kind is NONE. */
int spec_shared_noise_init(spec_shared_noise *noise, spec_noise_kind kind, const spec_settings *settings,
                           spec_error *error);

/* The token at noise->place of a row (n), which goes one on. Never one of weight zero. The kind must not be NONE, and
 * the row must be a law: darts need about n throws where it sums to 1. O(n). */
int spec_shared_noise_pick(spec_shared_noise *noise, const double *row, int n);

#endif
