/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sglang_rates: the draft length and the meaning of SGLang's "accept rate", from its lines.
 * The rate is length / (K + 1), or since November 2025 (length - 1) / K, where length counts the
 * bonus token. Only a few K agree with all lines under either meaning. A zeroed struct has seen no
 * line. */
#ifndef SPECLAB_SGLANG_RATES_H
#define SPECLAB_SGLANG_RATES_H

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    SPEC_SGLANG_OPEN,   /* both meanings agree with the lines, or neither does */
    SPEC_SGLANG_BONUS,  /* length / (K + 1) */
    SPEC_SGLANG_DRAFTS, /* (length - 1) / K */
} spec_sglang_meaning;

/* Bit K - 1 is set if a line disagrees with K, for K = 1..64. */
typedef struct {
    uint64_t not_bonus, not_drafts;
} spec_sglang_rates;

/* Adds a line. Each of its numbers may be off by half a unit of its last digit. Returns false if no
 * K agrees with this line and the earlier ones. The struct then forgets the earlier lines; if no K
 * agrees with this line alone, it forgets this one too. */
bool spec_sglang_rates_add(spec_sglang_rates *rates, double length, double length_half, double rate,
                           double rate_half);

/* Returns the only K that agrees, under either meaning; -1 if several do. */
int spec_sglang_rates_K(const spec_sglang_rates *rates);

/* Returns whether K agrees under this meaning; OPEN: under at least one. */
bool spec_sglang_rates_agree(const spec_sglang_rates *rates, spec_sglang_meaning meaning, int K);

spec_sglang_meaning spec_sglang_rates_meaning(const spec_sglang_rates *rates);

#endif
