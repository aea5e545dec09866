/* SPDX-License-Identifier: GPL-3.0-or-later */
/* suffix_array: the positions of a text, sorted by the tokens that follow them.
 * So all occurrences of a string are adjacent. Positions are sorted by the first `reach` tokens
 * there, ties by position: O(n log reach) for any text [Manber93]. The array owns its positions and
 * borrows the text. */
#ifndef SPECLAB_SUFFIX_ARRAY_H
#define SPECLAB_SUFFIX_ARRAY_H

#include "speclab/status.h"

#include <stddef.h>

/* Maximum tokens of a text. */
enum { SPEC_SUFFIX_ARRAY_MAX = 1 << 30 };

typedef struct {
    const int *token; /* (n) */
    int n;
    int *position; /* (n) */
} spec_suffix_array;

/* Tokens are 0..vocab-1; n is 0..SPEC_SUFFIX_ARRAY_MAX. Temporarily takes 12 n bytes more. */
int spec_suffix_array_init(spec_suffix_array *array, const int *token, int n, int vocab, int reach,
                           spec_error *error);
void spec_suffix_array_free(spec_suffix_array *array); /* accepts a zeroed one */

/* Returns the end of the range low..end-1, within low..high-1, whose token at `offset` equals that
 * of low. All must share the tokens before that one; offset is below `reach`, and at low the text
 * must be long enough to have that token. */
int spec_suffix_array_end(const spec_suffix_array *array, int low, int high, int offset);

/* Finds the occurrences low..high-1 of a string of 1..reach tokens; low = high if there are
 * none. */
void spec_suffix_array_find(int *ret_low, int *ret_high, const spec_suffix_array *array,
                            const int *string, int length);

#endif
