/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/simulator/block_run.h"

#include "models/gpu/simt.h"
#include "tests/simulator/access_watch.h"
#include "tests/simulator/kernel_fault.h"
#include "tests/simulator/launch_profile.h"
#include "tests/simulator/ptx/ptx_compare.h"
#include "tests/simulator/ptx/ptx_run.h"
#include "tests/simulator/simulated_driver.h"
#include "tests/simulator/stack_switch.h"
#include "tests/simulator/warp_product.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_THREADS = 1024, MOST_WARPS = MOST_THREADS / WARP_LANES };

/* A live lane is ready (or has not started), waits at a meeting of its warp, or waits at the
 * block's barrier. */
typedef struct {
    uint32_t all, ready, meets, ended;
    uint32_t syncs;
    simulated_meeting meeting; /* the meeting in which the lanes of `meets` wait */
    int line;
    const char *file;
    simulated_lane lanes[WARP_LANES];
} warp_state;

simt_place simt;

static const char *const meeting_names[] = {"sync_warp", "shuffle", "vote", "mma_bf16", "mma_int8"};

static struct {
    const simulated_kernel *kernel;
    const void *args;
    simulated_order order;
    uint64_t chance;
    uint32_t warps_ready;
    int threads, warps, ended;
    bool early;
    bool waited[MOST_THREADS]; /* has waited for the previous launch */
    int at_barrier, barrier_first, barrier_line;
    const char *barrier_file;
    uint32_t barriers;
    struct {
        const char *begin, *end;
    } shared; /* the range of all shared arrays that a kernel has touched */
    simulated_stack host, *free_stacks, *running;
    int n_stacks;
    simulated_stack *stacks[MOST_THREADS]; /* NULL: the thread has not started, or has ended */
    warp_state warp[MOST_WARPS];
} run;

void block_run_fail(const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fflush(stdout);
    if (run.kernel != NULL)
        fprintf(stderr, "simulator: kernel %s, block (%d, %d, %d), thread %d: %s\n",
                run.kernel->name + strlen("spec_kernel_"), simt.block[0], simt.block[1],
                simt.block[2], simt.thread, text);
    else fprintf(stderr, "simulator: %s\n", text);
    fflush(stderr);
    _exit(3);
}

static const char *short_name(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash != NULL ? slash + 1 : file;
}

void block_run_settle(void)
{
    if (access_watch_forget != NULL) access_watch_forget();
}

bool block_run_is_early(void) { return run.early && !run.waited[simt.thread]; }

void simt_after_previous(const char *file, int line)
{
    if (run.waited[simt.thread])
        block_run_fail("after_previous at %s:%d for the second time", short_name(file), line);
    run.waited[simt.thread] = true;
}

simulated_epoch block_run_epoch(int thread)
{
    return (simulated_epoch){run.barriers, run.warp[thread / WARP_LANES].syncs};
}

bool block_run_shared_has(const void *at)
{
    const char *byte = at;
    return byte >= run.shared.begin && byte < run.shared.end;
}

bool block_run_stack_has(const void *at)
{
    const char *bottom = run.running->bottom, *byte = at;
    return byte >= bottom && byte < bottom + run.running->size;
}

/* -- scheduling -- */

static int by_chance(uint32_t set)
{
    run.chance = run.chance * 6364136223846793005u + 1442695040888963407u;
    const unsigned turn = (unsigned)(run.chance >> 59);
    return (int)((unsigned)__builtin_ctz(set >> turn | (set << 1) << (31 - turn)) + turn) % 32;
}

static inline int choose(uint32_t set)
{
    if (run.order == ORDER_FORWARD) return __builtin_ctz(set);
    return run.order == ORDER_REVERSE ? 31 - __builtin_clz(set) : by_chance(set);
}

/* Deadlock: names the incomplete meeting and the missing thread. */
__attribute__((noreturn)) static void fail_stuck(void)
{
    int missing = 0;
    for (int i = 0; i < run.warps; i++) {
        const warp_state *w = &run.warp[i];
        if (w->meets == 0) continue;
        simt.thread = i * WARP_LANES + __builtin_ctz(w->meets);
        const char *name = meeting_names[w->meeting], *file = short_name(w->file);
        if (w->meets == w->all)
            block_run_fail("%s at %s:%d in a warp of %d lanes", name, file, w->line,
                           __builtin_popcount(w->all));
        missing = i * WARP_LANES + __builtin_ctz(w->all & ~w->meets);
        if (w->ended >> missing % WARP_LANES & 1)
            block_run_fail("%s at %s:%d is not reached by thread %d, which has ended", name, file,
                           w->line, missing);
        block_run_fail("%s at %s:%d is not reached by thread %d, which is in sync_block at %s:%d",
                       name, file, w->line, missing, short_name(run.barrier_file),
                       run.barrier_line);
    }
    for (int i = run.warps - 1; i >= 0; i--)
        if (run.warp[i].ended != 0) missing = i * WARP_LANES + __builtin_ctz(run.warp[i].ended);
    simt.thread = run.barrier_first;
    block_run_fail("sync_block at %s:%d is not reached by thread %d, which has ended",
                   short_name(run.barrier_file), run.barrier_line, missing);
}

/* Returns the next thread to run; -1: all have ended. Stays in the current warp while one of its
 * lanes is ready, unless the order is random. */
static inline int next_thread(void)
{
    unsigned warp = (unsigned)simt.thread / WARP_LANES;
    if (run.order == ORDER_SHUFFLED || run.warp[warp].ready == 0) {
        if (run.warps_ready == 0) {
            if (run.ended < run.threads) fail_stuck();
            return -1;
        }
        warp = (unsigned)choose(run.warps_ready);
    }
    return (int)warp * WARP_LANES + choose(run.warp[warp].ready);
}

static inline void not_ready(unsigned warp, uint32_t bit)
{
    if ((run.warp[warp].ready &= ~bit) == 0) run.warps_ready &= ~(1u << warp);
}

/* ---- threads on stacks ----------------------------------------------------------------------- */

static void run_threads(void);

static simulated_stack *some_stack(int thread)
{
    simulated_stack *s = run.free_stacks;
    if (s != NULL) run.free_stacks = s->next;
    else s = simulated_stack_new(run.n_stacks++, run_threads);
    return run.stacks[thread] = s;
}

static inline void go_to(simulated_stack *to)
{
    simulated_stack *from = run.running;
    if (from == to) return;
    run.running = to;
    simulated_stack_switch(from, to);
}

/* Switches to the next thread; returns when this thread is scheduled again. */
static inline void give_way(void)
{
    const int next = next_thread();
    simulated_stack *stack = run.stacks[next];
    simt.thread = next;
    go_to(stack != NULL ? stack : some_stack(next));
}

/* The function at the bottom of a stack: runs threads one after another. The next thread reuses the
 * stack if it has none, so that threads that never wait need only one. */
static void run_threads(void)
{
    simulated_stack_began();
    for (;;) {
        run.kernel->call(run.args);
        if (block_run_is_early()) block_run_fail("it ends without after_previous");
        const unsigned warp = (unsigned)simt.thread / WARP_LANES;
        const uint32_t bit = 1u << simt.thread % WARP_LANES;
        simulated_stack *mine = run.running;
        run.stacks[simt.thread] = NULL;
        run.warp[warp].ended |= bit;
        run.ended++;
        not_ready(warp, bit);
        const int next = next_thread();
        if (next >= 0) simt.thread = next;
        if (next >= 0 && run.stacks[next] == NULL) {
            run.stacks[next] = mine;
            continue;
        }
        mine->next = run.free_stacks;
        run.free_stacks = mine;
        go_to(next >= 0 ? run.stacks[next] : &run.host);
    }
}

/* ---- meetings -------------------------------------------------------------------------------- */

static inline bool same_place(const char *file, int line, const char *other_file, int other_line)
{
    return line == other_line && (file == other_file || strcmp(file, other_file) == 0);
}

void block_run_barrier(const char *file, int line)
{
    const unsigned warp = (unsigned)simt.thread / WARP_LANES;
    not_ready(warp, 1u << simt.thread % WARP_LANES);
    if (run.at_barrier++ == 0) {
        run.barrier_first = simt.thread;
        run.barrier_file = file;
        run.barrier_line = line;
    } else if (!same_place(file, line, run.barrier_file, run.barrier_line))
        block_run_fail("sync_block at %s:%d, while thread %d is in sync_block at %s:%d",
                       short_name(file), line, run.barrier_first, short_name(run.barrier_file),
                       run.barrier_line);
    if (run.at_barrier == run.threads) {
        run.at_barrier = 0;
        run.barriers++;
        for (int w = 0; w < run.warps; w++) run.warp[w].ready = run.warp[w].all;
        run.warps_ready = ~0u >> (MOST_WARPS - run.warps);
    }
    give_way();
}

uint64_t block_run_meet(simulated_meeting meeting, void (*join)(simulated_lane *lanes),
                        uint64_t value, int from, const char *file, int line)
{
    const unsigned warp = (unsigned)simt.thread / WARP_LANES,
                   lane = (unsigned)simt.thread % WARP_LANES;
    warp_state *w = &run.warp[warp];
    simulated_lane *mine = &w->lanes[lane];
    mine->value = value;
    mine->from = from;
    not_ready(warp, 1u << lane);
    if (w->meets == 0) {
        w->meeting = meeting;
        w->file = file;
        w->line = line;
    } else if (w->meeting != meeting || !same_place(file, line, w->file, w->line))
        block_run_fail("%s at %s:%d, while thread %d is in %s at %s:%d", meeting_names[meeting],
                       short_name(file), line, (int)warp * WARP_LANES + __builtin_ctz(w->meets),
                       meeting_names[w->meeting], short_name(w->file), w->line);
    w->meets |= 1u << lane;
    if (w->meets == ~0u) {
        if (join != NULL) join(w->lanes);
        else w->syncs++;
        w->meets = 0;
        w->ready = ~0u;
        run.warps_ready |= 1u << warp;
    }
    give_way();
    return mine->result;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Unwritten shared memory reads as NaN. Without memset, which the address sanitizer would check
 * against the array's end. */
void simt_shared_begins(char *begin, const char *end)
{
    if (run.shared.begin == NULL || begin < run.shared.begin) run.shared.begin = begin;
    if (end > run.shared.end) run.shared.end = end;
    size_t n = (size_t)(end - begin);
#if defined __x86_64__
    __asm__ volatile("rep stosb" : "+D"(begin), "+c"(n) : "a"(0xff) : "memory");
#else
    for (volatile char *to = begin; n > 0; n--) *to++ = (char)0xff;
#endif
}

static void run_block(void)
{
    simt.blocks++;
    if (access_watch_block != NULL) access_watch_block();
    for (int i = 0; i < run.warps; i++) {
        warp_state *w = &run.warp[i];
        const int lanes = run.threads - i * WARP_LANES;
        w->all = w->ready = lanes < WARP_LANES ? (1u << lanes) - 1 : ~0u;
        w->meets = w->ended = w->syncs = 0;
    }
    run.warps_ready = ~0u >> (MOST_WARPS - run.warps);
    run.ended = run.at_barrier = 0;
    run.barriers = 0;
    simt.thread = choose(run.warps_ready) * WARP_LANES;
    run.running = &run.host;
    give_way();
}

static void run_blocks(bool by_ptx)
{
    const int *const grid = simt.grid;
    const int64_t blocks = (int64_t)grid[0] * grid[1] * grid[2];
    for (int64_t i = 0; i < blocks; i++) {
        const int64_t block = run.order == ORDER_FORWARD ? i : blocks - 1 - i;
        simt.block[0] = (int)(block % grid[0]);
        simt.block[1] = (int)(block / grid[0] % grid[1]);
        simt.block[2] = (int)(block / grid[0] / grid[1]);
        memset(run.waited, 0, sizeof run.waited);
        if (by_ptx)
            ptx_run_block(run.kernel, run.args, run.threads, run.order, &run.chance, i == 0);
        else run_block();
    }
}

void block_run(const simulated_kernel *kernel, const void *args, const int grid[3], int threads,
               simulated_order order, bool early)
{
    const launch_mark began = launch_profile_begin();
    run.kernel = kernel;
    run.args = args;
    run.order = order;
    run.early = early;
    run.threads = threads;
    run.warps = (threads + WARP_LANES - 1) / WARP_LANES;
    simt.threads = threads;
    for (int i = 0; i < 3; i++) simt.grid[i] = grid[i];
    warp_product_is_of(simulated_capability());
    if (access_watch_begin != NULL) access_watch_begin();
    kernel_fault_watch();
    if (ptx_compare_begin != NULL && ptx_compare_begin()) {
        run_blocks(false);
        ptx_compare_between();
        run_blocks(true);
        ptx_compare_end(kernel);
    } else {
        run_blocks(ptx_run_block != NULL);
    }
    kernel_fault_watched();
    launch_profile_end(began, kernel, (int64_t)grid[0] * grid[1] * grid[2]);
    run.kernel = NULL;
}
