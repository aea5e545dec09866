/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bench_times: times and tokens that the client of a benchmark measures.
 * vllm bench serve prints these numbers in a table, and writes them to a JSON file. A request
 * decodes from its first token to its last, which takes the mean time per output token, multiplied
 * by the number of tokens after the first. */
#ifndef SPECLAB_BENCH_TIMES_H
#define SPECLAB_BENCH_TIMES_H

#include "tools/advise/observation.h"

typedef struct {
    double requests, tokens; /* number and output tokens of requests that succeeded */
    double duration;         /* s */
    double token_time;       /* s, mean over requests of the time per output token but the first */
} spec_bench_times;          /* NaN: not given */

/* Adds seconds, running requests and tokens emitted by decoding to an observation that has K,
 * rounds and accepted tokens. The client counts tokens of the requests that succeeded, but the
 * engine counts rounds of all requests; if the two differ by at most 10 %, we use the engine's
 * numbers. */
void spec_bench_times_add(spec_observation *o, const spec_bench_times *times);

#endif
