/* SPDX-License-Identifier: GPL-3.0-or-later */
/* say: the sentences of an advice: text appended to a buffer, and numbers as words.
 * Ratios and shares have three digits, or more for a narrow interval, which follows in brackets. An
 * unknown number is "not known". */
#ifndef SPECLAB_SAY_H
#define SPECLAB_SAY_H

#include "analysis/acceptance/cluster_ratio.h"

#include <stdbool.h>

enum { SPEC_SENTENCES = 4096 };
typedef char spec_sentences[SPEC_SENTENCES];

/* Appends to the text; cuts off what does not fit. */
__attribute__((format(printf, 2, 3))) void spec_say(spec_sentences text, const char *format, ...);

typedef struct {
    char text[64];
} spec_said;

/* Returns "1.44 [1.39, 1.49]"; without an interval "1.44". The macro takes a struct with these
 * members; its text is valid until the end of the statement. */
spec_said spec_say_ratio(double value, double low, double high);
#define SPEC_SAY_RATIO(x) spec_say_ratio((x).value, (x).low, (x).high).text

/* Returns the same in percent: "57.8 % [50.1, 65.2]". */
spec_said spec_say_share(double value, double low, double high);

/* Returns the share of a cluster_ratio; leaves out its interval if that is vague. */
spec_said spec_say_share_of(const spec_cluster_ratio *share);

/* Returns whether the interval spans nearly all of [0,1], which happens with a few clusters of very
 * different size. */
bool spec_say_is_vague(const spec_cluster_ratio *share);

#endif
