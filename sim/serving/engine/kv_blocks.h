/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kv_blocks: the number of KV blocks in use on a serving engine's device. Headers only. */
#ifndef SPECLAB_KV_BLOCKS_H
#define SPECLAB_KV_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int64_t most; /* 0: no limit, and nothing is counted */
    int64_t size; /* tokens in a block */
    int64_t used;
    int64_t late; /* blocks that are free, but the scheduler does not know it yet */
} spec_kv_blocks;

/* Returns how many blocks that many tokens need. */
static inline int64_t spec_kv_blocks_of(const spec_kv_blocks *blocks, int64_t tokens)
{
    return (tokens + blocks->size - 1) / blocks->size;
}

static inline bool spec_kv_blocks_has(const spec_kv_blocks *blocks, int64_t n)
{
    return blocks->most == 0 || blocks->used + blocks->late + n <= blocks->most;
}

#endif
