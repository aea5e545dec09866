/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/simulator/ptx/ptx_memory.h"

#include "models/gpu/simt.h"
#include "tests/simulator/block_run.h"
#include "tests/simulator/ptx/ptx_lanes.h"
#include "tests/simulator/ptx/ptx_module.h"
#include "tests/simulator/simulated_driver.h"

ptx_reach ptx_reached;

typedef uint32_t __attribute__((may_alias)) word;
typedef uint64_t __attribute__((may_alias)) longword;

static bool inside(const char *at, size_t bytes, const char *begin, size_t n)
{
    return at >= begin && bytes <= n && (size_t)(at - begin) <= n - bytes;
}

/* Caches in *i the allocation around the address, or fails. */
static void find_memory(ptx_instruction *i, const char *at, size_t bytes)
{
    const ptx_reach *const r = &ptx_reached;
    const char *const does = i->op == PTX_load ? "reads" : "writes";
    const simulated_range range = simulated_memory_around(at);
    const ptx_variable *variable;
    const bool generic = i->space == SPACE_GENERIC;
    if (range.begin != NULL && i->space <= SPACE_GLOBAL) {
        if (!inside(at, bytes, range.begin, (size_t)(range.end - range.begin)))
            block_run_fail("it %s %zu bytes at %s:%d at byte %ld of an allocation of %zu bytes",
                           does, bytes, r->kernel->file, i->line, (long)(at - range.begin),
                           (size_t)(range.end - range.begin));
        i->begin = range.begin;
        i->end = range.end;
    } else if ((i->space == SPACE_PARAM || generic) && i->op == PTX_load &&
               inside(at, bytes, r->args, r->kernel->args)) {
        i->begin = r->args;
        i->end = r->args + r->kernel->args;
    } else if (i->space != SPACE_GLOBAL &&
               inside(at, bytes, r->local, (size_t)r->threads * r->kernel->local)) {
        i->begin = at; /* each thread has its own */
        i->end = at + bytes;
    } else if (generic && inside(at, bytes, ptx_shared, r->kernel->shared)) {
        i->begin = ptx_shared;
        i->end = ptx_shared + r->kernel->shared;
    } else if (i->space <= SPACE_GLOBAL && i->op == PTX_load &&
               (variable = ptx_module_variable_at(at, bytes)) != NULL) {
        i->begin = variable->memory;
        i->end = variable->memory + variable->bytes;
    } else {
        block_run_fail("address %p is no memory of the card: it %s %zu bytes at %s:%d",
                       (const void *)at, does, bytes, r->kernel->file, i->line);
    }
}

static void misaligned(const ptx_instruction *i, uint64_t address, size_t bytes)
{
    block_run_fail("%zu bytes at %p, which is no multiple of that, at %s:%d", bytes,
                   (void *)(uintptr_t)address, ptx_reached.kernel->file, i->line);
}

/* Finds the host addresses of the lanes' bytes. */
static void find(char **ret_at, ptx_instruction *i, const void *addresses, int64_t offset,
                 size_t bytes, uint32_t mask, int warp)
{
    const bool early = ptx_reached.early && i->op != PTX_load && i->op != PTX_copy_async;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const int l = __builtin_ctz(rest);
        uint64_t address = (i->address_width == PTX_LONG ? ((const longword *)addresses)[l]
                                                         : ((const word *)addresses)[l]);
        address += (uint64_t)offset;
        if (i->space == SPACE_SHARED) address = (uint32_t)address;
        simt.thread = warp * PTX_LANES + l;
        if (address % bytes != 0) misaligned(i, address, bytes);
        if (i->space == SPACE_SHARED) {
            const ptx_kernel *const k = ptx_reached.kernel;
            if (address + bytes > k->shared || !k->is_shared[address] ||
                !k->is_shared[address + bytes - 1])
                block_run_fail(
                    "%zu bytes at byte %llu of shared memory are in no variable, at %s:%d", bytes,
                    (unsigned long long)address, k->file, i->line);
            ret_at[l] = ptx_shared + address;
            continue;
        }
        char *const at = (char *)(uintptr_t)address;
        if (at < i->begin || at + bytes > i->end) find_memory(i, at, bytes);
        if (early && i->space <= SPACE_GLOBAL && block_run_is_early() &&
            simulated_memory_around(at).begin != NULL)
            block_run_fail("it writes the card's memory before griddepcontrol.wait, at %s:%d",
                           ptx_reached.kernel->file, i->line);
        ret_at[l] = at;
    }
}

static const uint8_t bytes_of[] = {[TYPE_U8] = 1,  [TYPE_S8] = 1,  [TYPE_U16] = 2, [TYPE_S16] = 2,
                                   [TYPE_U32] = 4, [TYPE_S32] = 4, [TYPE_U64] = 8};

#define EACH(body)                                                                                 \
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {                                      \
        const int l = __builtin_ctz(rest);                                                         \
        body                                                                                       \
    }

/* Loads values of TYPE into registers of 32 or 64 bits, with sign extension. */
#define LOAD(TYPE)                                                                                 \
    EACH({                                                                                         \
        TYPE value;                                                                                \
        memcpy(&value, at[l] + (size_t)v * sizeof value, sizeof value);                            \
        if (wide)                                                                                  \
            ((longword *)to)[l] = (uint64_t)(int64_t)value;                                        \
        else                                                                                       \
            ((word *)to)[l] = (uint32_t)value;                                                     \
    })
#define STORE(TYPE)                                                                                \
    EACH({                                                                                         \
        const TYPE value = (TYPE)(wide ? ((const longword *)from)[l] : ((const word *)from)[l]);   \
        memcpy(at[l] + (size_t)v * sizeof value, &value, sizeof value);                            \
    })

static void load(ptx_instruction *i, uint32_t mask, char *const base[2], int warp)
{
    char *at[PTX_LANES];
    const bool wide = i->value_width == PTX_LONG;
    find(at, i, ptx_values(base, i->x[i->count]), i->number, (size_t)i->count * bytes_of[i->type],
         mask, warp);
    for (int v = 0; v < i->count; v++) {
        void *const to = ptx_values(base, i->x[v]);
        switch ((ptx_type)i->type) {
        case TYPE_U8: LOAD(uint8_t) break;
        case TYPE_S8: LOAD(int8_t) break;
        case TYPE_U16: LOAD(uint16_t) break;
        case TYPE_S16: LOAD(int16_t) break;
        case TYPE_U32: LOAD(uint32_t) break;
        case TYPE_S32: LOAD(int32_t) break;
        case TYPE_U64: LOAD(uint64_t) break;
        }
    }
}

static void store(ptx_instruction *i, uint32_t mask, char *const base[2], int warp)
{
    char *at[PTX_LANES];
    const bool wide = i->value_width == PTX_LONG;
    find(at, i, ptx_values(base, i->x[i->count]), i->number, (size_t)i->count * bytes_of[i->type],
         mask, warp);
    for (int v = 0; v < i->count; v++) {
        const void *const from = ptx_values(base, i->x[v]);
        switch (bytes_of[i->type]) {
        case 1: STORE(uint8_t) break;
        case 2: STORE(uint16_t) break;
        case 4: STORE(uint32_t) break;
        default: STORE(uint64_t) break;
        }
    }
}

/* Lane after lane, so that each addition is atomic. */
static void atom(ptx_instruction *i, uint32_t mask, char *const base[2], int warp)
{
    char *at[PTX_LANES];
    const bool wide = i->value_width == PTX_LONG;
    void *const to = ptx_values(base, i->x[0]);
    const void *const from = ptx_values(base, i->x[2]);
    find(at, i, ptx_values(base, i->x[1]), i->number, bytes_of[i->type], mask, warp);
    EACH({
        const uint64_t value = wide ? ((const longword *)from)[l] : ((const word *)from)[l];
        const uint64_t was = wide ? *(const longword *)at[l] : *(const word *)at[l];
        const uint64_t now = i->op == PTX_atom_add ? was + value : was > value ? was : value;
        if (wide) *(longword *)at[l] = now;
        else *(word *)at[l] = (uint32_t)now;
        if (wide) ((longword *)to)[l] = was;
        else ((word *)to)[l] = (uint32_t)was;
    })
}

static void copy(ptx_instruction *i, uint32_t mask, char *const base[2], int warp)
{
    char *to[PTX_LANES], *from[PTX_LANES];
    const uint32_t *const bytes = ptx_values(base, i->x[2]);
    const uint8_t width = i->address_width;
    i->space = SPACE_SHARED;
    find(to, i, ptx_values(base, i->x[0]), i->number, sizeof(quad), mask, warp);
    uint32_t there = 0;
    EACH({
        if (bytes[l] != 0 && bytes[l] != sizeof(quad))
            block_run_fail("%u of 16 bytes are copied at %s:%d, which is not known here", bytes[l],
                           ptx_reached.kernel->file, i->line);
        there |= (bytes[l] != 0) << l;
    })
    i->space = SPACE_GLOBAL;
    i->address_width = PTX_LONG;
    find(from, i, ptx_values(base, i->x[1]), 0, sizeof(quad), there, warp);
    i->address_width = width;
    EACH({
        simt.thread = warp * PTX_LANES + l;
        simt_copy_async(to[l], from[l], there >> l & 1);
    })
}

void ptx_memory(ptx_instruction *i, uint32_t mask, char *const base[2], int warp)
{
    switch (i->op) {
    case PTX_load: load(i, mask, base, warp); break;
    case PTX_store: store(i, mask, base, warp); break;
    case PTX_copy_async: copy(i, mask, base, warp); break;
    case PTX_copy_commit:
    case PTX_copy_wait:
        EACH({
            simt.thread = warp * PTX_LANES + l;
            if (i->op == PTX_copy_commit) simt_copy_commit();
            else simt_copy_wait((int)i->number);
        })
        break;
    default: atom(i, mask, base, warp); break;
    }
    if (i->op == PTX_load || i->op == PTX_store)
        simt.moved += (uint64_t)(__builtin_popcount(mask) * i->count * bytes_of[i->type]);
}
