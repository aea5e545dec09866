/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Asynchronous copies to shared memory: the simulator's part of copy_async (models/gpu/simt.h). A
 * copy runs as late as a GPU may run it: when it is waited for. The race detector looks both then
 * and when the copy is issued, since it may happen at any time in between. */
#include "models/gpu/simt.h"
#include "tests/simulator/access_watch.h"
#include "tests/simulator/block_run.h"

enum { MOST_THREADS = 1024, MOST_COPIES = 64 };

typedef struct {
    void *shared;
    const void *from; /* NULL: zeros */
    const void *code;
    int group;
} copy;

static struct {
    int block[3], grid[3]; /* indices of the block that issued the copies */
    int n, groups;         /* pending copies, oldest first; number of groups so far */
    copy copies[MOST_COPIES];
} threads[MOST_THREADS];

/* Drops pending copies of a block that has ended. */
static int own(void)
{
    const int t = simt.thread;
    if (memcmp(threads[t].block, simt.block, sizeof simt.block) != 0 ||
        memcmp(threads[t].grid, simt.grid, sizeof simt.grid) != 0) {
        memcpy(threads[t].block, simt.block, sizeof simt.block);
        memcpy(threads[t].grid, simt.grid, sizeof simt.grid);
        threads[t].n = threads[t].groups = 0;
    }
    return t;
}

void simt_copy_async(void *shared, const void *from, bool there)
{
    const int t = own();
    if (threads[t].n == MOST_COPIES) block_run_fail("more than %d copies under way", MOST_COPIES);
    const copy c = {shared, there ? from : NULL, __builtin_return_address(0), threads[t].groups};
    if (access_watch_copy != NULL) access_watch_copy(c.shared, c.from, sizeof(quad), c.code);
    threads[t].copies[threads[t].n++] = c;
}

void simt_copy_commit(void) { threads[own()].groups++; }

void simt_copy_wait(int n)
{
    const int t = own(), before = threads[t].groups - n;
    int done = 0;
    for (; done < threads[t].n && threads[t].copies[done].group < before; done++) {
        const copy *const c = &threads[t].copies[done];
        if (access_watch_copy != NULL) access_watch_copy(c->shared, c->from, sizeof(quad), c->code);
        if (c->from != NULL) memcpy(c->shared, c->from, sizeof(quad));
        else memset(c->shared, 0, sizeof(quad));
    }
    threads[t].n -= done;
    memmove(threads[t].copies, threads[t].copies + done, (size_t)threads[t].n * sizeof(copy));
}
