/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "web/system/missing.h"

#include <errno.h>

static void swap(char *a, char *b, size_t size)
{
    while (size-- > 0) {
        const char kept = *a;
        *a++ = *b;
        *b++ = kept;
    }
}

void qsort_r(void *base, size_t n, size_t size, int (*compare)(const void *, const void *, void *),
             void *self)
{
    char *const at = base;
    for (size_t begin = n / 2, end = n; end > 1;) {
        if (begin > 0) begin--;
        else if (--end > 0) swap(at, at + end * size, size);
        for (size_t root = begin, child; (child = 2 * root + 1) < end; root = child) {
            if (child + 1 < end &&
                compare(at + child * size, at + (child + 1) * size, self) < 0)
                child++;
            if (compare(at + root * size, at + child * size, self) >= 0) break;
            swap(at + root * size, at + child * size, size);
        }
    }
}

static int refuse(void)
{
    errno = ENOSYS;
    return -1;
}

int fchown(int descriptor, uid_t owner, gid_t group)
{
    (void)descriptor, (void)owner, (void)group;
    return refuse();
}

int fchmod(int descriptor, mode_t mode)
{
    (void)descriptor, (void)mode;
    return refuse();
}

int flock(int descriptor, int operation)
{
    (void)descriptor, (void)operation;
    return refuse();
}

ssize_t getrandom(void *bytes, size_t n, unsigned flags)
{
    (void)bytes, (void)n, (void)flags;
    return refuse();
}

int madvise(void *memory, size_t n, int advice)
{
    (void)memory, (void)n, (void)advice;
    return 0;
}

int memfd_create(const char *name, unsigned flags)
{
    (void)name, (void)flags;
    return refuse();
}
