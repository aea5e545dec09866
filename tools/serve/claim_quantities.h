/* SPDX-License-Identifier: GPL-3.0-or-later */
/* claim_quantities: the numbers that settle published claims about serving.
 * Quantities are entries of a table. Each computes one number from the parameters of a claim,
 * either exactly or by simulation with an interval. */
#ifndef SPECLAB_CLAIM_QUANTITIES_H
#define SPECLAB_CLAIM_QUANTITIES_H

#include "tools/serve/claim.h"

typedef struct {
    const char *name, *summary;
    /* Returns GSL_EDOM with one line if the claim lacks a number that the quantity needs. */
    int (*compute)(spec_claim_value *ret, const spec_claim *claim, spec_error *error);
} spec_claim_quantity;
extern const spec_claim_quantity spec_claim_quantities[]; /* ends with a NULL name */

/* Returns NULL if there is no such quantity; the message then lists them. */
const spec_claim_quantity *spec_claim_quantity_find(const char *name, spec_error *error);

/* How a claim compares the value with the printed number. IS tolerates a small relative
 * difference. */
typedef enum {
    SPEC_CLAIM_AT_LEAST,
    SPEC_CLAIM_AT_MOST,
    SPEC_CLAIM_MORE_THAN,
    SPEC_CLAIM_IS
} spec_claim_relation;
extern const char *const spec_claim_relations[]; /* in the order of the enum, NULL-terminated */

/* Returns "holds" or "refuted" if the whole interval agrees, else "undecided". For IS it returns
 * "reproduced" or "differs", from the value alone. */
const char *spec_claim_verdict(const spec_claim_value *value, spec_claim_relation relation,
                               double printed, double within);

#endif
