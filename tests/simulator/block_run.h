/* SPDX-License-Identifier: GPL-3.0-or-later */
/* block_run: a cooperative scheduler for the threads of a block, one stack per thread.
 * A thread runs until it waits for others of its warp (shuffle, vote, product) or of its block
 * (barrier). The requested order chooses among ready threads. Blocks run one after another, and a
 * process runs one launch at a time. */
#ifndef SPECLAB_BLOCK_RUN_H
#define SPECLAB_BLOCK_RUN_H

#include "tests/simulator/kernel_table.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum { ORDER_FORWARD, ORDER_REVERSE, ORDER_SHUFFLED } simulated_order;

/* Collective operations of a warp, at which all 32 lanes must meet in one line. */
typedef enum {
    MEET_SYNC_WARP,
    MEET_SHUFFLE,
    MEET_VOTE,
    MEET_MMA_BF16,
    MEET_MMA_INT8
} simulated_meeting;

/* A lane's input to a meeting, and its result. */
typedef struct {
    uint64_t value, result;
    int from; /* source lane of a shuffle */
} simulated_lane;

/* Returns `result` once all lanes of the warp have called; the last one calls `join` with the 32
 * lanes. */
uint64_t block_run_meet(simulated_meeting meeting, void (*join)(simulated_lane *lanes),
                        uint64_t value, int from, const char *file, int line);

/* Returns once all threads of the block have called. */
void block_run_barrier(const char *file, int line);

/* Runs all blocks of a launch. A thread that breaks a rule ends the process with one line and exit
 * code 3. early: the launch may begin before the previous one ends, so each thread must call
 * after_previous. */
void block_run(const simulated_kernel *kernel, const void *args, const int grid[3], int threads,
               simulated_order order, bool early);

/* Says that all launches have ended, so the next one cannot be early. */
void block_run_settle(void);

/* Returns whether the current thread may run before the previous launch has ended. */
bool block_run_is_early(void);

/* Prints "simulator: kernel norm, block (0, 0, 0), thread 17: ..." and exits with 3; outside
 * kernels it names no place. */
void block_run_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Return the number of completed barriers of the block, and of the thread's warp, since the block
 * started. */
typedef struct {
    uint32_t block, warp;
} simulated_epoch;
simulated_epoch block_run_epoch(int thread);

/* Returns whether the address is in a shared array. */
bool block_run_shared_has(const void *at);

/* Returns whether the address is in the current thread's stack. */
bool block_run_stack_has(const void *at);

#endif
