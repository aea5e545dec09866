/* SPDX-License-Identifier: GPL-3.0-or-later */
/* number_list: lists of numbers as users type them, "0.5,0.7" or "lo:hi:step".
 * Numbers are kept as text, with the fewest digits that read back the same.
 * A list owns its texts. */
#ifndef SPECLAB_NUMBER_LIST_H
#define SPECLAB_NUMBER_LIST_H

#include "speclab/status.h"

/* Bytes of a number as text, and maximum numbers of a list. */
enum { SPEC_NUMBER_SIZE = 32, SPEC_NUMBER_LIST_MAX = 1000000 };

typedef struct {
    char **value; /* (n) */
    int n, capacity;
} spec_number_list;

/* Parses items separated by commas: a number, or a range "lo:hi:step" with step != 0. A range
 * includes hi, up to rounding. Between whole numbers the step may be left out, and is then 1.
 * Values of a range are rounded to 12 digits, so that 0.5:0.7:0.05 gives 0.65 exactly. Returns
 * GSL_EINVAL, naming the list, for an empty range, over a million values, or other text. Failures
 * begin with `name`, and zero the list. */
int spec_number_list_parse(spec_number_list *numbers, const char *name, const char *list,
                           spec_error *error);
void spec_number_list_free(spec_number_list *numbers);

/* Prints a finite number with the fewest digits that read back the same. Returns buffer. */
const char *spec_number_list_text(double value, char buffer[SPEC_NUMBER_SIZE]);

#endif
