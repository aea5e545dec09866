/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bench: rows of the speed table, each timed in turns with a yardstick.
 * To add rows: write bench_<family>.c with an array of rows, and add its name here and to
 * `families` (bench.c). NumPy yardsticks are functions of tests/bench/<family>.py. Each row has its
 * own state; an array ends with a row without a name. */
#ifndef SPECLAB_TESTS_BENCH_H
#define SPECLAB_TESTS_BENCH_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    const char *work; /* title of the work in the table */
    const char *unit; /* unit of work: "rounds", "steps", "B" */

    /* Prepares; returns NULL, or the reason why the row cannot run here ("no AVX-512"). */
    const char *(*init)(void **ret_state, const void *setup);
    /* Does n units of work or a few more; returns how many. */
    uint64_t (*run)(void *state, uint64_t n);
    void (*free)(void *state);
    const void *setup; /* passed to init */
    bool wall; /* threads matter, so use the wall clock; otherwise processor time, which other
                * processes hardly affect */

    /* The yardstick: "FILE.py:FUNCTION", or "row:WORK", another row of the table; NULL: none. */
    const char *yardstick;
    double per; /* yardstick units that one unit of work takes; 0 means 1 */

    double asked;       /* the goal in units per second; 0: none */
    double asked_ratio; /* goal in multiples of the yardstick's speed; 0: none */
} spec_bench_row;

extern const spec_bench_row spec_bench_rng[], spec_bench_acceptance[], spec_bench_montecarlo[],
    spec_bench_fixed_pair[], spec_bench_decode[], spec_bench_drafts[], spec_bench_filters[],
    spec_bench_multi_draft[], spec_bench_ngram[], spec_bench_conformance[], spec_bench_trace[],
    spec_bench_transformer[], spec_bench_vector[], spec_bench_product[], spec_bench_tokenizer[],
    spec_bench_train[], spec_bench_serving[], spec_bench_advice[];

/* Selects an instruction set by name until the next call (NULL: the best); false if this machine
 * lacks it. */
bool spec_bench_choose_isa(const char *opt_name);

#endif
