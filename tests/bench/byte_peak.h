/* SPDX-License-Identifier: GPL-3.0-or-later */
/* byte_peak: the most byte products per second of one thread, by a loop that reads no memory.
 * The same instructions as in models/transformer/kernels/product*. */
#ifndef SPECLAB_TESTS_BYTE_PEAK_H
#define SPECLAB_TESTS_BYTE_PEAK_H

#include <stdint.h>

/* Does `operations` or a few more, a multiply-add counting as two; returns how many. `ret_sink` is
 * written, so that the compiler keeps the loop. */
uint64_t byte_peak_avx2(int32_t *ret_sink, uint64_t operations);
uint64_t byte_peak_vnni(int32_t *ret_sink, uint64_t operations);

#endif
