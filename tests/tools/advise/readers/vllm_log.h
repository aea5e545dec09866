/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vllm_log: lines of a vLLM server's log with chosen counts, and what the reader takes from them.
 * Headers only. */
#ifndef SPECLAB_TESTS_VLLM_LOG_H
#define SPECLAB_TESTS_VLLM_LOG_H

#include "tests/support/read_lines.h"
#include "tools/advise/log_format.h"

#define AT(time) "(APIServer pid=1) INFO 05-01 14:" time " [metrics.py:101] "
#define V1 "SpecDecoding metrics: "
#define V0 "Speculative metrics: "
#define ENGINE(number, prompt, generated, running)                                                 \
    "Engine " number ": Avg prompt throughput: " prompt                                            \
    " tokens/s, Avg generation throughput: " generated " tokens/s, Running: " running              \
    " reqs, Waiting: 0 reqs, GPU KV cache usage: 0.3%, Prefix cache hit rate: 0.0%\n"
/* 1000 rounds of 3 in 10 s. */
#define ROUNDS_1000                                                                                \
    V1 "Mean acceptance length: 2.59, Accepted throughput: 159.00 tokens/s, Drafted throughput: "  \
       "300.00 tokens/s, Accepted: 1590 tokens, Drafted: 3000 tokens, Per-position acceptance "    \
       "rate: 0.800, 0.500, 0.290, Avg Draft acceptance rate: 53.0%\n"
/* Of vLLM pull request 24127. */
#define ROUNDS_59                                                                                  \
    V1 "Draft acceptance rate: 88.8%, Mean acceptance length: 5.44, Accepted throughput: 4.37 "    \
       "tokens/s, Drafted throughput: 4.92 tokens/s, Accepted: 262 tokens, Drafted: 295 tokens, "  \
       "Per-position acceptance rate: 0.983, 0.949, 0.915, 0.881, 0.712\n"

static read_lines r;

static inline const spec_observation *only(const char *text, int K)
{
    return read_lines_only(&r, &spec_reader_vllm_log, text, K);
}

static inline void assert_rounds(const spec_observation *o, int K, double rounds, double drafted,
                                 double accepted)
{
    assert_int_equal(o->K, K);
    assert_same(o->rounds, rounds);
    assert_same(o->rounds_low, rounds);
    assert_same(o->rounds_high, rounds);
    assert_same(o->drafted, drafted);
    assert_same(o->accepted, accepted);
}

#endif
