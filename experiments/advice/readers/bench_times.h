/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bench_times: times and tokens of a benchmark that its client measures.
 * vllm bench serve prints these numbers in a table, and writes them to a JSON file. A request
 * decodes from its first token to its last: the mean time per output token times all its tokens but
 * the first. */
#ifndef SPECLAB_BENCH_TIMES_H
#define SPECLAB_BENCH_TIMES_H

#include "experiments/advice/observation.h"

typedef struct {
    double requests, tokens; /* number and output tokens of requests that succeeded */
    double duration;         /* s */
    double token_time;       /* s, mean over requests of the time per output token but the first */
} spec_bench_times;          /* NaN: not given */

/* Adds the seconds, the running requests, and the tokens emitted by decoding, to an observation of
 * K with its rounds and accepted tokens. The client counts tokens of requests that succeeded, the
 * engine counts rounds of all; if they differ by at most 10 %, the engine's numbers are used. */
void spec_bench_times_add(spec_observation *o, const spec_bench_times *times);

#endif
