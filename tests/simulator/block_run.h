/* block_run: the threads of a block, one stack each, run by turns until all have ended.
 * A thread runs until it waits for others: of its warp (shuffle, vote, product) or of its block (barrier). Whoever can
 * go on is chosen in the order asked for. Blocks run one after another. One launch at a time in a process. */
#ifndef SPECLAB_BLOCK_RUN_H
#define SPECLAB_BLOCK_RUN_H

#include "tests/simulator/kernel_table.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum { ORDER_FORWARD, ORDER_REVERSE, ORDER_SHUFFLED } simulated_order;

/* What a warp does together; where all 32 lanes have to meet at one line. */
typedef enum { MEET_SYNC_WARP, MEET_SHUFFLE, MEET_VOTE, MEET_MMA_BF16, MEET_MMA_INT8 } simulated_meeting;

/* What a lane brings to a meeting, and what it takes away. */
typedef struct {
    uint64_t value, result;
    int from; /* of a shuffle: the lane whose value is wanted */
} simulated_lane;

/* Comes back with `result` when all lanes of the warp are there; the last to come calls `join` with the 32 of them. */
uint64_t block_run_meet(simulated_meeting meeting, void (*join)(simulated_lane *lanes), uint64_t value, int from,
                        const char *file, int line);

/* Comes back when all threads of the block are there. */
void block_run_barrier(const char *file, int line);

/* Runs all blocks of a launch. A thread that breaks a rule ends the process: one line, exit code 3. early: the launch may
 * begin before the one before it has ended, so that each thread has to call after_previous. */
void block_run(const simulated_kernel *kernel, const void *args, const int grid[3], int threads, simulated_order order,
               bool early);

/* Everything that was launched has ended: the next launch finds nothing under way that it could be early for. */
void block_run_settle(void);

/* Whether the thread that runs may be doing so before the launch before this one has ended. */
bool block_run_is_early(void);

/* "simulator: kernel norm, block (0, 0, 0), thread 17: ..." and exit code 3; without the place where no kernel runs. */
void block_run_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Barriers of the block, and of the thread's warp, that came about since the block began. */
typedef struct {
    uint32_t block, warp;
} simulated_epoch;
simulated_epoch block_run_epoch(int thread);

/* Whether the address is of a shared array. */
bool block_run_shared_has(const void *at);

/* Whether the address is of the stack of the thread that runs. */
bool block_run_stack_has(const void *at);

#endif
