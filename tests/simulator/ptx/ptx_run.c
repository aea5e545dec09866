/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/simulator/ptx/ptx_run.h"

#include "models/gpu/simt.h"
#include "tests/simulator/ptx/ptx_lanes.h"
#include "tests/simulator/ptx/ptx_memory.h"
#include "tests/simulator/ptx/ptx_module.h"
#include "tests/simulator/ptx/ptx_warp.h"
#include "tests/simulator/simulated_driver.h"

#include <limits.h>
#include <stdlib.h>

enum { MOST_WARPS = 32, LINE = 64 };

/* A live lane is ready, waits at a meeting of its warp, or waits with its whole warp at the
 * barrier. */
typedef struct {
    uint32_t all, ended, waits;
    bool at_barrier;
    int at[PTX_LANES]; /* the next instruction */
    char *registers;
} warp_state;

char ptx_shared[PTX_SHARED_BYTES] __attribute__((aligned(256)));

static struct {
    const ptx_kernel *kernel;
    simulated_order order;
    uint64_t *chance;
    int threads, n_warps;
    char *memory, *fixed; /* registers of all warps and local memory of the threads; constants */
    size_t room;
    warp_state warps[MOST_WARPS];
} run;

static int choose(uint32_t set)
{
    if (run.order == ORDER_FORWARD) return __builtin_ctz(set);
    if (run.order == ORDER_REVERSE) return 31 - __builtin_clz(set);
    *run.chance = *run.chance * 6364136223846793005u + 1442695040888963407u;
    for (int turn = (int)(*run.chance >> 33) % __builtin_popcount(set); turn > 0; turn--)
        set &= set - 1;
    return __builtin_ctz(set);
}

/* -- setup of a block -- */

static void fill(const ptx_constant *c, char *base, int warp)
{
    const int axis = (int)(c->number & 3);
    void *const to = base + (c->place & ~PTX_CONSTANT);
    for (int l = 0; l < PTX_LANES; l++) {
        uint64_t value = c->number;
        const int thread = warp * PTX_LANES + l;
        switch (c->what) {
        case FIXED_NUMBER: break;
        case FIXED_BLOCK: value = (uint64_t)simt.block[axis]; break;
        case FIXED_GRID: value = (uint64_t)simt.grid[axis]; break;
        case FIXED_THREADS: value = axis == 0 ? (uint64_t)run.threads : 1; break;
        case FIXED_ARGS: value += (uintptr_t)ptx_reached.args; break;
        case FIXED_THREAD: value = axis == 0 ? (uint64_t)thread : 0; break;
        case FIXED_LANE: value = (uint64_t)l; break;
        case FIXED_LOCAL:
            value += (uintptr_t)ptx_reached.local + (size_t)thread * run.kernel->local;
            break;
        }
        if (c->width == PTX_LONG) memcpy((char *)to + 8 * l, &value, 8);
        else if (c->width == PTX_WORD) memcpy((char *)to + 4 * l, &value, 4);
        else memcpy(to, &value, 4);
    }
}

/* Registers without a value, and leftovers of other blocks, read as NaN. */
static void begin_launch(const simulated_kernel *kernel, const void *args, int threads)
{
    const ptx_kernel *const k = ptx_module_kernel(kernel->name, simulated_capability());
    if (k->args != kernel->args_size)
        block_run_fail("its PTX has %zu bytes of arguments, and the host gives %zu", k->args,
                       kernel->args_size);
    run.kernel = k;
    run.threads = threads;
    run.n_warps = (threads + PTX_LANES - 1) / PTX_LANES;
    const size_t of_warps = (size_t)run.n_warps * k->registers, local = (size_t)threads * k->local;
    const size_t room = of_warps + k->fixed + local + LINE;
    if (room > run.room) {
        free(run.memory);
        run.memory = aligned_alloc(LINE, run.room = (room + LINE - 1) / LINE * LINE);
        if (run.memory == NULL) block_run_fail("no memory for its registers");
    }
    memset(run.memory, 0xff, room);
    run.fixed = run.memory + of_warps;
    ptx_reached = (ptx_reach){k, args, run.fixed + k->fixed, threads, block_run_is_early()};
    for (int i = 0; i < k->n_code; i++) k->code[i].begin = k->code[i].end = NULL;
    for (int w = 0; w < run.n_warps; w++)
        run.warps[w].registers = run.memory + (size_t)w * k->registers;
    for (int i = 0; i < k->n_constants; i++) {
        const ptx_constant *const c = &k->constants[i];
        if (c->what < FIXED_THREAD && c->what != FIXED_BLOCK) fill(c, run.fixed, 0);
        for (int w = 0; c->what >= FIXED_THREAD && w < run.n_warps; w++)
            fill(c, run.warps[w].registers, w);
    }
}

static void begin_block(void)
{
    memset(ptx_shared, 0xff, run.kernel->shared);
    memset(ptx_reached.local, 0xff, (size_t)run.threads * run.kernel->local);
    for (int i = 0; i < run.kernel->n_constants; i++)
        if (run.kernel->constants[i].what == FIXED_BLOCK)
            fill(&run.kernel->constants[i], run.fixed, 0);
    for (int i = 0; i < run.n_warps; i++) {
        warp_state *const w = &run.warps[i];
        const int lanes = run.threads - i * PTX_LANES;
        w->all = lanes < PTX_LANES ? (1u << lanes) - 1 : ~0u;
        w->ended = w->waits = 0;
        w->at_barrier = false;
        memset(w->at, 0, sizeof w->at);
    }
}

/* ---- meetings -------------------------------------------------------------------------------- */

static const char *name_of(const ptx_instruction *i)
{
    switch (i->op) {
    case PTX_bar_sync: return "bar.sync";
    case PTX_bar_warp_sync: return "bar.warp.sync";
    case PTX_shfl: return "shfl.sync";
    case PTX_vote_any: return "vote.sync";
    default: return "mma.sync";
    }
}

/* Deadlock: no lane is ready, and the live lanes wait at different places. */
__attribute__((noreturn)) static void fail_apart(const warp_state *w, int number)
{
    const char *const file = run.kernel->file;
    const int lane = __builtin_ctz(w->waits);
    const ptx_instruction *const here = &run.kernel->code[w->at[lane]];
    simt.thread = number * PTX_LANES + lane;
    for (uint32_t rest = w->waits; rest != 0; rest &= rest - 1) {
        const int other = __builtin_ctz(rest);
        const ptx_instruction *const there = &run.kernel->code[w->at[other]];
        if (there != here)
            block_run_fail("%s at %s:%d, while thread %d is in %s at %s:%d", name_of(here), file,
                           here->line, number * PTX_LANES + other, name_of(there), file,
                           there->line);
    }
    if ((w->all & w->ended) != 0)
        block_run_fail("%s at %s:%d is not reached by thread %d, which has ended", name_of(here),
                       file, here->line, number * PTX_LANES + __builtin_ctz(w->all & w->ended));
    block_run_fail("%s at %s:%d in a warp of %d lanes", name_of(here), file, here->line,
                   __builtin_popcount(w->all));
}

/* All live lanes wait. Returns true if the warp waits at the barrier for other warps. */
static bool meet(warp_state *w, int number)
{
    const int at = w->at[__builtin_ctz(w->waits)];
    const ptx_instruction *const i = &run.kernel->code[at];
    char *const base[2] = {w->registers, run.fixed};
    for (int l = 0; l < PTX_LANES; l++)
        if ((w->waits >> l & 1) != 0 && w->at[l] != at) fail_apart(w, number);
    if (w->waits != (i->op == PTX_bar_sync ? w->all : ~0u)) fail_apart(w, number);
    if (i->op == PTX_bar_sync) return w->at_barrier = true;
    simt.thread = number * PTX_LANES;
    if (!ptx_warp(i, base))
        block_run_fail("%s at %s:%d is not of all lanes, which is not known here", name_of(i),
                       run.kernel->file, i->line);
    for (int l = 0; l < PTX_LANES; l++) w->at[l]++;
    w->waits = 0;
    return false;
}

/* ---- warps ----------------------------------------------------------------------------------- */

static void go_on(warp_state *w, uint32_t lanes, int at)
{
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) w->at[__builtin_ctz(rest)] = at;
}

/* Lanes of `ready` that continue together, and where; *ret_stop: the instruction at which further
 * lanes wait. */
static uint32_t together(const warp_state *w, uint32_t ready, int *ret_stop)
{
    *ret_stop = INT_MAX;
    if (run.order != ORDER_FORWARD) return 1u << choose(ready);
    int least = INT_MAX;
    uint32_t lanes = 0;
    for (uint32_t rest = ready; rest != 0; rest &= rest - 1) {
        const int l = __builtin_ctz(rest);
        if (w->at[l] < least) {
            if (lanes != 0) *ret_stop = least;
            least = w->at[l];
            lanes = 0;
        }
        if (w->at[l] == least) lanes |= 1u << l;
        else if (w->at[l] < *ret_stop) *ret_stop = w->at[l];
    }
    return lanes;
}

/* Executes the instruction at which all of `lanes` are, one that ptx_lanes does not handle. */
static void step(warp_state *w, int number, uint32_t lanes, int at, ptx_instruction *i)
{
    char *const base[2] = {w->registers, run.fixed};
    const uint32_t holds = ptx_guard(i, lanes, base);
    switch (i->op) {
    case PTX_bra:
        go_on(w, holds, i->target);
        go_on(w, lanes & ~holds, at + 1);
        break;
    case PTX_ret:
        for (uint32_t rest = holds; rest != 0; rest &= rest - 1) {
            simt.thread = number * PTX_LANES + __builtin_ctz(rest);
            if (block_run_is_early()) block_run_fail("it ends without griddepcontrol.wait");
        }
        w->ended |= holds;
        go_on(w, lanes & ~holds, at + 1);
        break;
    case PTX_after_previous:
        for (uint32_t rest = holds; rest != 0; rest &= rest - 1) {
            simt.thread = number * PTX_LANES + __builtin_ctz(rest);
            simt_after_previous(run.kernel->file, i->line);
        }
        go_on(w, lanes, at + 1);
        break;
    case PTX_load:
    case PTX_store:
    case PTX_atom_add:
    case PTX_atom_max:
    case PTX_copy_async:
    case PTX_copy_commit:
    case PTX_copy_wait:
        ptx_memory(i, holds, base, number);
        go_on(w, lanes, at + 1);
        break;
    default:
        w->waits |= holds;
        go_on(w, holds, at);
        go_on(w, lanes & ~holds, at + 1);
        break;
    }
}

/* Runs until all lanes have ended or wait at the barrier. */
static void run_warp(warp_state *w, int number)
{
    char *const base[2] = {w->registers, run.fixed};
    ptx_instruction *const code = run.kernel->code;
    for (;;) {
        const uint32_t alive = w->all & ~w->ended, ready = alive & ~w->waits;
        int stop;
        if (alive == 0) return;
        if (ready == 0) {
            if (meet(w, number)) return;
            continue;
        }
        const uint32_t lanes = together(w, ready, &stop);
        int at = w->at[__builtin_ctz(lanes)];
        simt.thread = number * PTX_LANES + __builtin_ctz(lanes);
        for (;;) {
            at = ptx_lanes_run(code, at, stop, lanes, base);
            if (at == stop) break;
            ptx_instruction *const i = &code[at];
            if (i->op < PTX_load || i->op > PTX_copy_wait) break;
            ptx_memory(i, ptx_guard(i, lanes, base), base, number);
            if (++at == stop) break;
        }
        if (at == stop) go_on(w, lanes, at);
        else step(w, number, lanes, at, &code[at]);
    }
}

/* Returns true if all live warps wait, so that the barrier is complete; false if all have ended. */
static bool barrier(void)
{
    int first = -1, ended = -1;
    for (int i = 0; i < run.n_warps; i++) {
        const warp_state *const w = &run.warps[i];
        if (w->ended == w->all) ended = ended < 0 ? i : ended;
        else if (first < 0) first = i;
    }
    if (first < 0) return false;
    const ptx_instruction *const here = &run.kernel->code[run.warps[first].at[0]];
    simt.thread = first * PTX_LANES;
    if (ended >= 0)
        block_run_fail("bar.sync at %s:%d is not reached by thread %d, which has ended",
                       run.kernel->file, here->line, ended * PTX_LANES);
    for (int i = 0; i < run.n_warps; i++) {
        warp_state *const w = &run.warps[i];
        const ptx_instruction *const there = &run.kernel->code[w->at[0]];
        if (here != there)
            block_run_fail("bar.sync at %s:%d, while thread %d is in bar.sync at %s:%d",
                           run.kernel->file, here->line, i * PTX_LANES, run.kernel->file,
                           there->line);
        w->at_barrier = false;
        w->waits = 0;
        go_on(w, w->all, w->at[0] + 1);
    }
    return true;
}

void ptx_run_block(const simulated_kernel *kernel, const void *args, int threads,
                   simulated_order order, uint64_t *chance, bool first)
{
    run.order = order;
    run.chance = chance;
    if (first) begin_launch(kernel, args, threads);
    begin_block();
    do {
        uint32_t waiting = ~0u >> (MOST_WARPS - run.n_warps);
        while (waiting != 0) {
            const int i = choose(waiting);
            waiting &= ~(1u << i);
            if (run.warps[i].ended != run.warps[i].all) run_warp(&run.warps[i], i);
        }
    } while (barrier());
}
