/* alias: Walker's alias tables [Walker77; Vose91], exact draws from a fixed distribution in constant time.
 * One 64-bit word a draw: its high part chooses the column, the rest the side; the table's law differs from the weights by at most
 * 2^-52 a token. The table owns its memory. */
#ifndef SPECLAB_ALIAS_H
#define SPECLAB_ALIAS_H

#include "sim/rng.h"
#include "speclab/status.h"

#include <stddef.h>

typedef struct {
    int n;
    struct spec_alias_column {
        uint64_t keep; /* stay in this column if the fraction is below keep/2^64 */
        uint32_t own, other;
    } *column;         /* (n) */
} spec_alias;

/* weight (n): finite, not negative, positive sum; else GSL_EDOM. A token of weight zero is never drawn. */
int spec_alias_init(spec_alias *alias, const double *weight, int n, spec_error *error);
void spec_alias_free(spec_alias *alias);

int spec_alias_draw(const spec_alias *alias, spec_rng_state *rng);
double spec_alias_probability(const spec_alias *alias, int token); /* of the table itself; O(n), for tests */

#endif
