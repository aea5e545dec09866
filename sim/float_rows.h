/* float_rows: one token-rule step on fresh float rows, as a real model leaves them, reading no more of them than it must.
 * Draws from the draft row by a scan that stops where the cumulative mass passes the uniform, tests with two loads, and reads both rows
 * through only after a rejection. Sums are kept in double in one fixed order, so AVX-512, AVX2 and C agree bit for bit. */
#ifndef SPECLAB_FLOAT_ROWS_H
#define SPECLAB_FLOAT_ROWS_H

#include "sim/rng.h"

#include <stdbool.h>
#include <stddef.h>

/* target, draft: (V) floats, not negative, each summing to 1 within float rounding. Three uniforms at most.
 * ret_accepted: whether the draft token was. Returns the emitted token. */
int spec_float_rows_step(const float *target, const float *draft, int vocab, spec_rng_state *rng, bool *ret_accepted);
int spec_float_rows_step_ref(const float *target, const float *draft, int vocab, spec_rng_state *rng, bool *ret_accepted);

#endif
