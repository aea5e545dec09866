/* SPDX-License-Identifier: GPL-3.0-or-later */
/* peak: the most operations per second of one thread, by loops that read no memory.
 * They use the best of the instructions of models/transformer/kernels. */
#ifndef SPECLAB_TESTS_PEAK_H
#define SPECLAB_TESTS_PEAK_H

#include <stdint.h>

/* The init and free of their rows (bench.h), which have no state. */
const char *peak_open(void **ret_state, const void *setup);
void peak_close(void *state);

/* Do `operations` or a few more, a multiply-add counting as two; return how many. */
uint64_t peak_bytes(uint64_t operations);
uint64_t peak_floats(uint64_t operations);

#endif
