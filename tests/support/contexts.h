/* SPDX-License-Identifier: GPL-3.0-or-later */
/* contexts: the contexts and thread pools of a test, made on first use and freed at its end.
 * A test thus shares one context per number of threads. */
#ifndef SPECLAB_TESTS_CONTEXTS_H
#define SPECLAB_TESTS_CONTEXTS_H

#include "models/context.h"

/* Returns the context whose pool has this many threads, 0..128; 0: OpenMP's number. */
spec_context *spec_test_context(int threads);
spec_thread_pool *spec_test_pool(int threads);

#endif
