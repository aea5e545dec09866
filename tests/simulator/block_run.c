#include "tests/simulator/block_run.h"

#include "models/gpu/simt.h"
#include "tests/simulator/stack_switch.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_THREADS = 1024, MOST_WARPS = MOST_THREADS / WARP_LANES };

typedef struct {
    uint32_t ready;   /* lanes that can go on, or have not begun */
    uint32_t meeting; /* lanes that wait for their warp */
    uint32_t all;
    simulated_lane lanes[WARP_LANES];
} warp_state;

typedef struct {
    simulated_stack *stack; /* NULL: it has not begun, or has ended */
    simulated_meeting meeting;
    bool waits, ended;
    const char *file; /* where it waits */
    int line;
} thread_state;

simt_place simt;

static const char *const meeting_names[] = {"sync_warp", "shuffle", "vote", "mma_bf16", "mma_int8", "sync_block"};

static struct {
    const simulated_kernel *kernel;
    const void *args;
    simulated_order order;
    uint64_t chance;
    uint32_t warps_ready;
    int threads, warps, ended, at_barrier;
    simulated_stack host, *free_stacks, *running;
    int stacks;
    warp_state warp[MOST_WARPS];
    thread_state thread[MOST_THREADS];
} run;

/* The shared arrays of all kernels. */
extern char __start_simt_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_simt_shared[] __attribute__((weak, visibility("hidden")));

void block_run_fail(const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fflush(stdout);
    if (run.kernel != NULL)
        fprintf(stderr, "simulator: kernel %s, block (%d, %d, %d), thread %d: %s\n", run.kernel->name + strlen("spec_kernel_"),
                simt.block[0], simt.block[1], simt.block[2], simt.thread, text);
    else fprintf(stderr, "simulator: %s\n", text);
    fflush(stderr);
    _exit(3);
}

/* ---- who is next -------------------------------------------------------------------------------------------------- */

static int choose(uint32_t set)
{
    if (run.order == ORDER_FORWARD) return __builtin_ctz(set);
    if (run.order == ORDER_REVERSE) return 31 - __builtin_clz(set);
    run.chance = run.chance * 6364136223846793005u + 1442695040888963407u;
    const unsigned turn = (unsigned)(run.chance >> 59);
    return (int)((unsigned)__builtin_ctz(set >> turn | (set << 1) << (31 - turn)) + turn) % 32;
}

static const char *short_name(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash != NULL ? slash + 1 : file;
}

/* Nobody can go on and not all have ended: names a meeting that will not come about and who is missing. */
static void fail_stuck(void)
{
    int who = -1, missing = -1;
    for (int t = 0; t < run.threads && who < 0; t++)
        if (run.thread[t].waits && run.thread[t].meeting != MEET_SYNC_BLOCK) who = t;
    const bool of_warp = who >= 0;
    for (int t = 0; t < run.threads && who < 0; t++)
        if (run.thread[t].waits) who = t;
    const thread_state *w = &run.thread[who];
    for (int t = of_warp ? who & ~31 : 0; t < run.threads && (!of_warp || t < (who & ~31) + 32) && missing < 0; t++)
        if (run.thread[t].ended || run.thread[t].meeting != w->meeting) missing = t;
    simt.thread = who;
    const char *name = meeting_names[w->meeting], *file = short_name(w->file);
    if (missing < 0)
        block_run_fail("%s at %s:%d: the warp has %d lanes of 32", name, file, w->line, run.threads - (who & ~31));
    const thread_state *m = &run.thread[missing];
    if (m->ended) block_run_fail("%s at %s:%d is not reached by thread %d, which has ended", name, file, w->line, missing);
    block_run_fail("%s at %s:%d is not reached by thread %d, which is in %s at %s:%d", name, file, w->line, missing,
                   meeting_names[m->meeting], short_name(m->file), m->line);
}

/* -1: all have ended. Stays in the warp that ran while one of its lanes can go on, unless turns are by chance. */
static int next_thread(void)
{
    if (run.warps_ready == 0) {
        if (run.ended < run.threads) fail_stuck();
        return -1;
    }
    int warp = simt.thread / WARP_LANES;
    if (run.order == ORDER_SHUFFLED || run.warp[warp].ready == 0) warp = choose(run.warps_ready);
    return warp * WARP_LANES + choose(run.warp[warp].ready);
}

static void not_ready(int t)
{
    warp_state *w = &run.warp[t / WARP_LANES];
    w->ready &= ~(1u << t % WARP_LANES);
    if (w->ready == 0) run.warps_ready &= ~(1u << t / WARP_LANES);
}

/* ---- threads on stacks -------------------------------------------------------------------------------------------- */

static void run_threads(void);

static simulated_stack *stack_for(thread_state *t)
{
    if (t->stack != NULL) return t->stack;
    simulated_stack *s = run.free_stacks;
    if (s != NULL) run.free_stacks = s->next;
    else s = simulated_stack_new(run.stacks++, run_threads);
    return t->stack = s;
}

static void go_to(simulated_stack *to)
{
    simulated_stack *from = run.running;
    if (from == to) return;
    run.running = to;
    simulated_stack_switch(from, to);
}

/* A stack's function: threads, one after another. The next one takes the stack over where it has none of its own yet,
 * so that threads that never wait need a single one. */
static void run_threads(void)
{
    simulated_stack_began();
    for (;;) {
        run.kernel->call(run.args);
        simulated_stack *mine = run.running;
        thread_state *done = &run.thread[simt.thread];
        done->stack = NULL;
        done->ended = true;
        run.ended++;
        not_ready(simt.thread);
        const int next = next_thread();
        if (next >= 0) simt.thread = next;
        if (next >= 0 && run.thread[next].stack == NULL) {
            run.thread[next].stack = mine;
            continue;
        }
        mine->next = run.free_stacks;
        run.free_stacks = mine;
        go_to(next >= 0 ? run.thread[next].stack : &run.host);
    }
}

/* Whoever is next goes on; comes back when it is this thread's turn again. */
static void give_way(void)
{
    simt.thread = next_thread();
    go_to(stack_for(&run.thread[simt.thread]));
}

/* ---- meetings ----------------------------------------------------------------------------------------------------- */

simulated_lane *block_run_lane(void)
{
    return &run.warp[simt.thread / WARP_LANES].lanes[simt.thread % WARP_LANES];
}

static void same_place(const thread_state *other, int number, simulated_meeting meeting, const char *file, int line)
{
    if (other->meeting == meeting && other->line == line && (other->file == file || strcmp(other->file, file) == 0)) return;
    block_run_fail("%s at %s:%d, while thread %d is in %s at %s:%d", meeting_names[meeting], short_name(file), line, number,
                   meeting_names[other->meeting], short_name(other->file), other->line);
}

static void meet_block(thread_state *me)
{
    (void)me;
    if (++run.at_barrier < run.threads) return;
    run.at_barrier = 0;
    for (int t = 0; t < run.threads; t++) {
        same_place(&run.thread[t], t, me->meeting, me->file, me->line);
        run.thread[t].waits = false;
    }
    for (int w = 0; w < run.warps; w++) run.warp[w].ready = run.warp[w].all;
    run.warps_ready = run.warps == 32 ? ~0u : (1u << run.warps) - 1;
}

static void meet_warp(warp_state *w, int lane, thread_state *me, void (*join)(simulated_lane *lanes))
{
    if (w->meeting != 0) {
        const int other = (simt.thread & ~31) + __builtin_ctz(w->meeting);
        same_place(&run.thread[other], other, me->meeting, me->file, me->line);
    }
    w->meeting |= 1u << lane;
    if (w->meeting != ~0u) return;
    if (join != NULL) join(w->lanes);
    for (int l = 0; l < WARP_LANES; l++) run.thread[(simt.thread & ~31) + l].waits = false;
    w->meeting = 0;
    w->ready = ~0u;
    run.warps_ready |= 1u << simt.thread / WARP_LANES;
}

void block_run_meet(simulated_meeting meeting, void (*join)(simulated_lane *lanes), const char *file, int line)
{
    thread_state *me = &run.thread[simt.thread];
    me->meeting = meeting;
    me->waits = true;
    me->file = file;
    me->line = line;
    not_ready(simt.thread);
    if (meeting == MEET_SYNC_BLOCK) meet_block(me);
    else meet_warp(&run.warp[simt.thread / WARP_LANES], simt.thread % WARP_LANES, me, join);
    give_way();
}

/* ---- blocks ------------------------------------------------------------------------------------------------------- */

/* What a block has not written reads as NaN. Not by memset, which the address sanitizer would hold to the arrays' ends. */
static void poison_shared(void)
{
    char *at = __start_simt_shared;
    size_t n = (size_t)(__stop_simt_shared - __start_simt_shared);
#if defined __x86_64__
    __asm__ volatile("rep stosb" : "+D"(at), "+c"(n) : "a"(0xff) : "memory");
#else
    for (volatile char *to = at; n > 0; n--) *to++ = (char)0xff;
#endif
}

static void run_block(void)
{
    poison_shared();
    memset(run.thread, 0, (size_t)run.threads * sizeof run.thread[0]);
    for (int w = 0; w < run.warps; w++) {
        const int lanes = run.threads - w * WARP_LANES;
        run.warp[w].all = run.warp[w].ready = lanes < WARP_LANES ? (1u << lanes) - 1 : ~0u;
        run.warp[w].meeting = 0;
    }
    run.warps_ready = run.warps == 32 ? ~0u : (1u << run.warps) - 1;
    run.ended = run.at_barrier = 0;
    simt.thread = choose(run.warps_ready) * WARP_LANES;
    simt.thread = next_thread();
    run.running = &run.host;
    go_to(stack_for(&run.thread[simt.thread]));
}

void block_run(const simulated_kernel *kernel, const void *args, const int grid[3], int threads, simulated_order order)
{
    run.kernel = kernel;
    run.args = args;
    run.order = order;
    run.threads = threads;
    run.warps = (threads + WARP_LANES - 1) / WARP_LANES;
    simt.threads = threads;
    const int64_t blocks = (int64_t)grid[0] * grid[1] * grid[2];
    for (int i = 0; i < 3; i++) simt.grid[i] = grid[i];
    for (int64_t i = 0; i < blocks; i++) {
        const int64_t block = order == ORDER_FORWARD ? i : blocks - 1 - i;
        simt.block[0] = (int)(block % grid[0]);
        simt.block[1] = (int)(block / grid[0] % grid[1]);
        simt.block[2] = (int)(block / grid[0] / grid[1]);
        run_block();
    }
    run.kernel = NULL;
}
