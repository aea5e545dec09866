/* SPDX-License-Identifier: GPL-3.0-or-later */
/* advice_text: numbers of an advice as words: ratios, shares and ranges, each with its interval.
 * They have three digits, or more for a narrow interval. An unknown number is "not known". */
#ifndef SPECLAB_ADVICE_TEXT_H
#define SPECLAB_ADVICE_TEXT_H

#include "analysis/acceptance/cluster_ratio.h"

#include <stdbool.h>

enum { SPEC_ADVICE_TEXT = 64 };
typedef char spec_advice_text[SPEC_ADVICE_TEXT];

/* Writes "1.44 [1.39, 1.49]"; without an interval "1.44". Returns text. */
const char *spec_advice_text_ratio(spec_advice_text text, double value, double low, double high);

/* Writes the same in percent: "57.8 % [50.1, 65.2]". */
const char *spec_advice_text_share(spec_advice_text text, double value, double low, double high);

/* Returns whether the interval spans nearly all of [0,1], which happens with a few clusters of very
 * different size. */
bool spec_advice_text_vague(const spec_cluster_ratio *share);

/* Writes the share of a cluster_ratio; leaves out its interval if that is vague. */
const char *spec_advice_text_of(spec_advice_text text, const spec_cluster_ratio *share);

/* Appends to a text of `size` bytes; cuts off what does not fit. */
__attribute__((format(printf, 3, 4))) void spec_advice_text_add(char *text, size_t size,
                                                                const char *format, ...);

#endif
