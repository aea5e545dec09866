/* SPDX-License-Identifier: GPL-3.0-or-later */
/* counted_log: writes the counters of a simulated engine as the real engine would have logged them.
 * Numbers are rounded as the engine rounds them. All three count accepted tokens before they cut an
 * output at its end. vLLM counts output tokens after the cut, the other two before it. */
#ifndef SPECLAB_COUNTED_LOG_H
#define SPECLAB_COUNTED_LOG_H

#include "sim/observed/engine_counters.h"

#include <stdio.h>

/* The engines, and what one set of counters covers. */
typedef enum {
    SPEC_COUNTED_VLLM,     /* log with one window of time per entry: a line of throughput and a line
                            * of speculation */
    SPEC_COUNTED_SGLANG,   /* log with SPEC_COUNTED_LOG_STEPS steps per line */
    SPEC_COUNTED_LLAMACPP, /* responses of llama-server, one line per request */
} spec_counted_log;

/* Decode steps per line of SGLang's log. */
enum { SPEC_COUNTED_LOG_STEPS = 40 };

/* Prompt tokens per request. */
enum { SPEC_COUNTED_LOG_PROMPT = 64 };

/* Writes n counters of the engine, in order; engine->K = 0 is plain decoding, and the log then does
 * not mention speculation. The caller checks the stream for errors. */
void spec_counted_log_write(FILE *out, spec_counted_log engine_log,
                            const spec_counted_engine *engine, const spec_engine_counters *counters,
                            int n);

#endif
