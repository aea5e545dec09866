/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/simulator/access_watch.h"

#include "models/gpu/simt.h"
#include "tests/simulator/block_run.h"
#include "tests/simulator/simulated_driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef enum { READ, WRITE, ATOMIC } access_kind;

/* Accessed by: no thread, one thread, several lanes between the same two barriers of a warp,
 * several warps, several blocks. */
enum { NOBODY, ONE, LANES, WARPS, BLOCKS };

/* The last access of a kind; of several unordered ones, the first. `step`: how many
 * fences and take_uint32 the launch had done before. */
typedef struct {
    uint32_t block, barriers, syncs, code, step;
    uint16_t thread;
    uint8_t who, atomic;
} mark;

typedef struct {
    mark wrote, read;
} cell; /* for one byte */

enum { PAGE = 4096, PAGES = 1 << 16, MOST_THREADS = 1024 };

typedef struct {
    uintptr_t number;
    cell *cells;
} page;

typedef struct {
    page pages[PAGES]; /* a hash table */
    int used[PAGES], n_used;
} page_table;

static page_table tables[2], *now_table = &tables[0],
                             *before_table = &tables[1]; /* this launch's; the previous one's */
static page *last_page;
static uint32_t block;

/* The steps of a block's last take_uint32, and of its threads' last fences; 0: none. `orders` has
 * the launch's first n_orders blocks; NULL: that block did neither. */
typedef struct {
    uint32_t took, fenced[MOST_THREADS];
} block_order;
static block_order **orders;
static uint32_t n_orders, step;
static uintptr_t code_base;

static void clear(page_table *table)
{
    for (int i = 0; i < table->n_used; i++) {
        free(table->pages[table->used[i]].cells);
        table->pages[table->used[i]] = (page){0};
    }
    table->n_used = 0;
}

void access_watch_forget(void)
{
    clear(now_table);
    clear(before_table);
    last_page = NULL;
}

void access_watch_begin(void)
{
    Dl_info info;
    page_table *const oldest = before_table;
    if (code_base == 0 && dladdr((void *)(uintptr_t)access_watch_begin, &info) != 0)
        code_base = (uintptr_t)info.dli_fbase;
    before_table = now_table;
    now_table = oldest;
    clear(oldest);
    block = 0;
    last_page = NULL;
    while (n_orders > 0) free(orders[--n_orders]);
    step = 0;
}

void access_watch_block(void) { block++; }

/* Returns the page's slot, or a free slot for it. */
static page *page_of(page_table *table, uintptr_t number)
{
    uintptr_t i = number * 0x9E3779B97F4A7C15u >> 48;
    while (table->pages[i].cells != NULL && table->pages[i].number != number) i = (i + 1) % PAGES;
    return &table->pages[i];
}

static cell *cell_of(const void *at)
{
    const uintptr_t number = (uintptr_t)at / PAGE;
    if (last_page == NULL || last_page->number != number) {
        last_page = page_of(now_table, number);
        if (last_page->cells == NULL) {
            *last_page = (page){number, calloc(PAGE, sizeof(cell))};
            now_table->used[now_table->n_used++] = (int)(last_page - now_table->pages);
            if (last_page->cells == NULL || now_table->n_used == PAGES)
                block_run_fail("too much memory to watch");
        }
    }
    return &last_page->cells[(uintptr_t)at % PAGE];
}

/* ---- races ----------------------------------------------------------------------------------- */

static bool is_before(const mark *m, const mark *now, bool shared)
{
    if (m->who == NOBODY) return true;
    if (m->block != now->block) return shared; /* shared memory of another block is different
                                                * memory */
    if (m->who == BLOCKS) return false;
    if (m->who == ONE && m->thread == now->thread) return true;
    if (m->barriers < now->barriers) return true;
    return m->who != WARPS && m->thread / WARP_LANES == now->thread / WARP_LANES &&
           m->syncs < now->syncs;
}

/* Merges an access with unordered ones that do not race. */
static void join(mark *m, const mark *now, bool shared)
{
    if (is_before(m, now, shared)) *m = *now;
    else if (m->block != now->block) m->who = BLOCKS;
    else if (m->who <= LANES && m->thread / WARP_LANES == now->thread / WARP_LANES &&
             m->syncs == now->syncs)
        m->who = LANES;
    else if (m->who != BLOCKS) m->who = WARPS;
}

/* "kernels_norm.cu:41", if addr2line is available. */
static void place(char *text, size_t size, uint32_t code)
{
    Dl_info info;
    char command[4200], line[512] = "";
    snprintf(text, size, "code %#x", code);
    if (dladdr((void *)(uintptr_t)access_watch_begin, &info) == 0) return;
    snprintf(command, sizeof command, "addr2line -s -e '%s' %#x 2>/dev/null", info.dli_fname, code);
    FILE *pipe = popen(command, "r");
    if (pipe == NULL) return;
    if (fgets(line, sizeof line, pipe) != NULL && strncmp(line, "??", 2) != 0)
        snprintf(text, size, "%.*s", (int)strcspn(line, " \n"), line);
    pclose(pipe);
}

static void fail_race(const mark *m, const mark *now, access_kind kind, bool wrote, bool shared)
{
    char here[600], there[600], who[80];
    place(here, sizeof here, now->code);
    place(there, sizeof there, m->code);
    if (m->block != now->block) snprintf(who, sizeof who, "a thread of another block");
    else snprintf(who, sizeof who, "thread %d", m->thread);
    block_run_fail("race: it %s %s memory at %s that %s %s at %s, with no barrier between",
                   kind == READ ? "reads" : "writes", shared ? "shared" : "the card's", here, who,
                   wrote ? "wrote" : "read", there);
}

/* Checks an access to GPU memory before after_previous. */
static void look_early(const void *at, size_t bytes, access_kind kind, uint32_t code)
{
    char here[600], there[600];
    if (kind != READ) {
        place(here, sizeof here, code);
        block_run_fail("race: it writes the card's memory at %s before after_previous", here);
    }
    for (size_t i = 0; i < bytes; i++) {
        const uintptr_t byte = (uintptr_t)at + i;
        const page *p = page_of(before_table, byte / PAGE);
        if (p->cells == NULL || p->cells[byte % PAGE].wrote.who == NOBODY) continue;
        place(here, sizeof here, code);
        place(there, sizeof there, p->cells[byte % PAGE].wrote.code);
        block_run_fail("race: it reads the card's memory at %s, before after_previous, that the "
                       "launch before wrote at %s",
                       here, there);
    }
}

static void look(const void *at, size_t bytes, access_kind kind, bool shared, uint32_t code)
{
    const simulated_epoch epoch = block_run_epoch(simt.thread);
    const mark now = {block, epoch.block,           epoch.warp, code,
                      step,  (uint16_t)simt.thread, ONE,        kind == ATOMIC};
    for (size_t i = 0; i < bytes; i++) {
        cell *c = cell_of((const char *)at + i);
        const bool both_atomic = kind == ATOMIC && c->wrote.atomic;
        if (!both_atomic && !is_before(&c->wrote, &now, shared))
            fail_race(&c->wrote, &now, kind, true, shared);
        if (kind != READ && !is_before(&c->read, &now, shared))
            fail_race(&c->read, &now, kind, false, shared);
        if (kind == READ) {
            join(&c->read, &now, shared);
            continue;
        }
        if (both_atomic) join(&c->wrote, &now, shared);
        else c->wrote = now;
        c->read.who = NOBODY;
    }
}

/* -- blocks that pass data to each other -- */

static block_order *own_order(void)
{
    if (block >= n_orders) {
        orders = realloc(orders, (block + 1) * sizeof *orders);
        if (orders == NULL) block_run_fail("no memory to watch fences");
        while (n_orders <= block) orders[n_orders++] = NULL;
    }
    if (orders[block] == NULL) orders[block] = calloc(1, sizeof *orders[block]);
    if (orders[block] == NULL) block_run_fail("no memory to watch fences");
    return orders[block];
}

void access_watch_fenced(void)
{
    own_order()->fenced[simt.thread] = ++step;
}

void access_watch_took(void)
{
    own_order()->took = ++step;
}

void access_watch_fresh(const void *at, size_t bytes, const void *return_address)
{
    const block_order *own = own_order();
    for (size_t i = 0; i < bytes; i++) {
        const mark *wrote = &cell_of((const char *)at + i)->wrote;
        if (wrote->who == NOBODY || wrote->block == block) continue;
        const block_order *its = wrote->block < n_orders ? orders[wrote->block] : NULL;
        const uint32_t fenced = its != NULL ? its->fenced[wrote->thread] : 0,
                       took = its != NULL ? its->took : 0;
        const bool written = wrote->step < fenced && fenced < took;
        const bool read = own->took > 0 && own->took < own->fenced[simt.thread];
        if (written && read) continue;
        char here[600], there[600];
        place(here, sizeof here, (uint32_t)((uintptr_t)return_address - 1 - code_base));
        place(there, sizeof there, wrote->code);
        block_run_fail("race: it reads the card's memory at %s that a thread of another block "
                       "wrote at %s, with no fence between %s",
                       here, there,
                       written ? "take_uint32 and the read" : "the write and take_uint32");
    }
}

/* ---- which memory ---------------------------------------------------------------------------- */

static void watch(const void *at, size_t bytes, access_kind kind, const void *return_address)
{
    static simulated_range last; /* allocation of the last access */
    const char *first = at;
    const uint32_t code = (uint32_t)((uintptr_t)return_address - 1 - code_base);
    if (block_run_shared_has(at)) {
        look(at, bytes, kind, true, code);
        return;
    }
    if (block_run_stack_has(at)) return;
    if (last.changes != simulated_memory_changes || first < last.begin ||
        first + bytes > last.end) {
        const simulated_range range = simulated_memory_around(at);
        if (range.begin == NULL) return; /* for instance a table of constants */
        last = range;
        if (first < last.begin || first + bytes > last.end) {
            char here[600];
            place(here, sizeof here, code);
            block_run_fail("it %s %zu bytes at %s at byte %ld of an allocation of %zu bytes",
                           kind == READ ? "reads" : "writes", bytes, here,
                           (long)(first - last.begin), (size_t)(last.end - last.begin));
        }
    }
    if (block_run_is_early()) look_early(at, bytes, kind, code);
    look(at, bytes, kind, false, code);
}

void access_watch_atomic(const void *at, size_t bytes, const void *code)
{
    watch(at, bytes, ATOMIC, code);
}

void access_watch_copy(const void *to, const void *opt_from, size_t bytes, const void *code)
{
    if (opt_from != NULL) watch(opt_from, bytes, READ, code);
    watch(to, bytes, WRITE, code);
}

/* -- functions that gcc calls -- */

void __tsan_init(void);
void __tsan_func_entry(void *from);
void __tsan_func_exit(void);
void __tsan_init(void) {}
void __tsan_func_entry(void *from) { (void)from; }
void __tsan_func_exit(void) {}

#define WATCHED(name, bytes, kind)                                                                 \
    void __tsan_##name(void *at);                                                                  \
    void __tsan_##name(void *at)                                                                   \
    {                                                                                              \
        watch(at, bytes, kind, __builtin_return_address(0));                                       \
    }
WATCHED(read1, 1, READ)
WATCHED(read2, 2, READ)
WATCHED(read4, 4, READ)
WATCHED(read8, 8, READ)
WATCHED(read16, 16, READ)
WATCHED(unaligned_read2, 2, READ)
WATCHED(unaligned_read4, 4, READ)
WATCHED(unaligned_read8, 8, READ)
WATCHED(unaligned_read16, 16, READ)
WATCHED(write1, 1, WRITE)
WATCHED(write2, 2, WRITE)
WATCHED(write4, 4, WRITE)
WATCHED(write8, 8, WRITE)
WATCHED(write16, 16, WRITE)
WATCHED(unaligned_write2, 2, WRITE)
WATCHED(unaligned_write4, 4, WRITE)
WATCHED(unaligned_write8, 8, WRITE)
WATCHED(unaligned_write16, 16, WRITE)

#define WATCHED_RANGE(name, kind)                                                                  \
    void __tsan_##name(void *at, unsigned long bytes);                                             \
    void __tsan_##name(void *at, unsigned long bytes)                                              \
    {                                                                                              \
        watch(at, bytes, kind, __builtin_return_address(0));                                       \
    }
WATCHED_RANGE(read_range, READ)
WATCHED_RANGE(write_range, WRITE)
