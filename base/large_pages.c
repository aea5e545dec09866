/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/large_pages.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Only the last large page of a region can be wasted, so regions are much larger than that. */
enum { REGION = 32 * SPEC_LARGE_PAGE };

static size_t rounded(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static size_t whole_pages(size_t bytes)
{
    return rounded(bytes, (size_t)sysconf(_SC_PAGESIZE));
}

/* Maps a region that begins on a large page, with a margin that is unmapped again. */
static unsigned char *map_region(size_t bytes)
{
    unsigned char *const memory = mmap(NULL, bytes + SPEC_LARGE_PAGE, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    const size_t before = (size_t)(-(uintptr_t)memory % SPEC_LARGE_PAGE);
    if (before > 0) munmap(memory, before);
    munmap(memory + before + bytes, SPEC_LARGE_PAGE - before);
    madvise(memory + before, bytes, MADV_HUGEPAGE);
    return memory + before;
}

void *spec_large_pages_take(spec_large_pages *room, size_t bytes)
{
    if (bytes > SIZE_MAX / 2) return NULL;
    const size_t size = whole_pages(bytes);
    if (size > room->left) {
        const size_t region = rounded(size > REGION ? size : REGION, SPEC_LARGE_PAGE);
        unsigned char *const fresh = map_region(region);
        if (fresh == NULL) return NULL;
        spec_large_pages_free(room);
        *room = (spec_large_pages){fresh, region};
    }
    unsigned char *const memory = room->at;
    room->at += size;
    room->left -= size;
    return memory;
}

void spec_large_pages_give(void *memory, size_t bytes)
{
    if (memory != NULL) munmap(memory, whole_pages(bytes));
}

void spec_large_pages_free(spec_large_pages *room)
{
    if (room->left > 0) munmap(room->at, room->left);
    *room = (spec_large_pages){0};
}
