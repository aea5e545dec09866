/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plain_serving: the serving engine again, one request at a time with plain structs in lists.
 * It follows sim/serving/serving_run.h to the letter and draws the same random numbers, so that its
 * results equal those of spec_serving_run bit for bit. */
#ifndef SPECLAB_TESTS_PLAIN_SERVING_H
#define SPECLAB_TESTS_PLAIN_SERVING_H

#include "sim/serving/serving_run.h"

/* The plan must be one that can be served, with few slots; running out of memory fails the test.
 * The caller frees the result. */
spec_serving_result plain_serving_run(const spec_serving_plan *plan, uint64_t seed,
                                      uint64_t stream);

#endif
