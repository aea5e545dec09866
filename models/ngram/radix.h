/* SPDX-License-Identifier: GPL-3.0-or-later */
/* radix: sorts records of 64-bit words by their leading words, in linear time.
 * It starts with the least significant byte and makes a stable counting pass for each byte in which
 * the records differ. The workspace is as large as the records. */
#ifndef SPECLAB_RADIX_H
#define SPECLAB_RADIX_H

#include <stddef.h>
#include <stdint.h>

/* Sorts n records of `stride` words (1..3), ascending by their first `words` words (1 or 2); word 0
 * is the least significant. Both arrays are (n, stride). Returns the array that holds the result;
 * the other one's content is lost. */
uint64_t *spec_radix_sort(uint64_t *record, uint64_t *workspace, size_t n, int stride, int words);

#endif
