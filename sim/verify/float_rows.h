/* float_rows: one token-rule step on fresh float rows, as a real model leaves them, reading no more than it must.
 * Scans the draft row until its mass passes the uniform, tests with two loads, reads both rows through only after a
 * rejection. Sums are kept in double in one fixed order, so AVX-512, AVX2 and C agree bit for bit. */
#ifndef SPECLAB_FLOAT_ROWS_H
#define SPECLAB_FLOAT_ROWS_H

#include "base/cpu.h"
#include "sim/chance/rng.h"

#include <stdbool.h>

/* The kernels of an instruction set, all with the same results: take those of spec_cpu_isa() once, for many steps. */
typedef struct spec_float_rows_kernels spec_float_rows_kernels;
const spec_float_rows_kernels *spec_float_rows_kernels_of(spec_isa isa);

/* target, draft: (V) floats, not negative, each summing to 1 within float rounding; V >= 1. Nothing else is read, and
 * no row is normalised: mass that rounding left out goes to the last token of positive probability, so the law is the
 * target's up to the rows' own rounding. A token is never drafted with draft 0, accepted with target 0, or emitted as a
 * correction with target <= draft, except that the correction comes from the target where rounding left no residual at
 * all. One to three uniforms: draft, test unless target >= draft, correction. ret_accepted: whether the draft token
 * was. Returns the emitted token. */
int spec_float_rows_step(const spec_float_rows_kernels *kernels, const float *target, const float *draft, int vocab,
                         spec_rng_state *rng, bool *ret_accepted);

#endif
