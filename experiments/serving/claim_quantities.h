/* SPDX-License-Identifier: GPL-3.0-or-later */
/* claim_quantities: the numbers with which published claims about serving are settled.
 * Quantities are entries of a table. Each computes one number from the parameters of a claim:
 * exactly, or by simulation, with an interval. */
#ifndef SPECLAB_CLAIM_QUANTITIES_H
#define SPECLAB_CLAIM_QUANTITIES_H

#include "experiments/serving/claim.h"

typedef struct {
    const char *name, *summary;
    /* GSL_EDOM with one line if the claim lacks a number that it needs. */
    int (*compute)(spec_claim_value *ret, const spec_claim *claim, spec_error *error);
} spec_claim_quantity;
extern const spec_claim_quantity spec_claim_quantities[]; /* ends with a NULL name */

/* NULL if there is no such quantity; the message then lists them. */
const spec_claim_quantity *spec_claim_quantity_find(const char *name, spec_error *error);

/* How a claim compares the value with the printed number; IS tolerates a relative difference. */
typedef enum {
    SPEC_CLAIM_AT_LEAST,
    SPEC_CLAIM_AT_MOST,
    SPEC_CLAIM_MORE_THAN,
    SPEC_CLAIM_IS
} spec_claim_relation;
extern const char *const spec_claim_relations[]; /* as the enum, NULL-terminated */

/* "holds" or "refuted" where the whole interval agrees, else "undecided"; for IS "reproduced" or
 * "differs", by the value. */
const char *spec_claim_verdict(const spec_claim_value *value, spec_claim_relation relation,
                               double printed, double within);

#endif
