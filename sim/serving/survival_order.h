/* SPDX-License-Identifier: GPL-3.0-or-later */
/* survival_order: sorts draft tokens of a batch by their chance to be reached and accepted.
 * The survival of token j is the product of the acceptance chances of tokens 1..j of its request.
 * It never increases with j, so any prefix of the order contains a prefix of each draft. */
#ifndef SPECLAB_SURVIVAL_ORDER_H
#define SPECLAB_SURVIVAL_ORDER_H

#include <stdint.h>

/* Sorts n survivals, each in [0, 1], at indices 0 .. n - 1. On return the low 32 bits of key[0 ..]
 * are the indices in order of decreasing survival; ties keep the order of indices. scratch (n). */
void spec_survival_order(uint64_t *key, uint64_t *scratch, const float *survival, int64_t n);

static inline int64_t spec_survival_index(uint64_t key)
{
    return (int64_t)(key & UINT32_MAX);
}

#endif
