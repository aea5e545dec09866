/* bench: rows of the speed table. A row does units of work; the program times it, in turns with its yardstick, and prints both.
 * To add rows: a file bench_<family>.c with an array of rows, and its name here and in `families` (bench.c). NumPy yardsticks are
 * functions of tests/bench/<family>.py. A row's state is its own; an array ends with a row without a name. */
#ifndef SPECLAB_TESTS_BENCH_H
#define SPECLAB_TESTS_BENCH_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    const char *work; /* what is done, as the table shows it */
    const char *unit; /* of work: "rounds", "steps", "B" */

    /* Prepare; NULL, or the reason why the row cannot run here ("no AVX-512"). */
    const char *(*init)(void **ret_state, const void *setup);
    /* Do n units of work or a little more; returns how many. */
    uint64_t (*run)(void *state, uint64_t n);
    void (*free)(void *state);
    const void *setup; /* handed to init */
    bool wall;         /* threads matter: time by the clock on the wall, else by processor time, which the load of others hardly touches */

    /* What it is compared with: "FILE.py:FUNCTION", or "row:WORK", another row of the table; NULL: nothing. */
    const char *yardstick;
    double per; /* units of the yardstick that one unit of work takes; 0 means 1 */

    double asked;       /* units per second that are asked for; 0: none */
    double asked_ratio; /* times the yardstick's speed; 0: none */
} spec_bench_row;

extern const spec_bench_row spec_bench_rng[], spec_bench_acceptance[], spec_bench_montecarlo[], spec_bench_fixed_pair[],
    spec_bench_float_rows[], spec_bench_decode[], spec_bench_filters[], spec_bench_multi_draft[], spec_bench_ngram[],
    spec_bench_conformance[], spec_bench_trace[], spec_bench_transformer[], spec_bench_vector[], spec_bench_product[],
    spec_bench_tokenizer[];

/* Choose an instruction set by name until the next choice (NULL: the best); false where this machine lacks it. */
bool spec_bench_choose_isa(const char *opt_name);

#endif
