/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A library for LD_PRELOAD that makes one allocation of a program fail, or all from one on. It
 * covers malloc and its relatives, their callers in the C library (strdup, asprintf,
 * open_memstream), and anonymous mmap. Allocations are counted from main on, in all threads, and
 * only in the program named OOM_PROGRAM, not in its subprocesses.
 *   OOM_AT=n       the n-th one fails; 0: none OOM_ON=1       all after it fail, too
 *   OOM_COUNT=FILE write the number of allocations
 *   OOM_TRACE=1    print on standard error where it failed */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static atomic_bool counting;
static atomic_long counted;
static long at;
static bool on, trace;
static const char *count_path;

static void say_where(void)
{
    void *frame[32];
    atomic_store(&counting, false);
    const int n = backtrace(frame, 32);
    backtrace_symbols_fd(frame, n, STDERR_FILENO);
    atomic_store(&counting, true);
}

static bool fails(void)
{
    if (!atomic_load_explicit(&counting, memory_order_relaxed)) return false;
    const long i = atomic_fetch_add(&counted, 1) + 1;
    if (at == 0 || (on ? i < at : i != at)) return false;
    if (trace && i == at) say_where();
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
    return fails() ? NULL : __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size)
{
    return fails() ? NULL : __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **ret, size_t alignment, size_t size)
{
    void *memory = memalign(alignment, size);
    if (memory == NULL) return ENOMEM;
    *ret = memory;
    return 0;
}

void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
    static void *(*next)(void *, size_t, int, int, int, off_t);
    if (next == NULL) {
        void *symbol = dlsym(RTLD_NEXT, "mmap");
        memcpy(&next, &symbol, sizeof next);
    }
    return (flags & MAP_ANONYMOUS) != 0 && fails()
               ? MAP_FAILED
               : next(address, length, protection, flags, fd, offset);
}

static void write_count(void)
{
    atomic_store(&counting, false);
    FILE *out = count_path != NULL ? fopen(count_path, "w") : NULL;
    if (out == NULL) return;
    fprintf(out, "%ld\n", atomic_load(&counted));
    fclose(out);
}

static int (*real_main)(int, char **, char **);

static int counted_main(int argc, char **argv, char **environment)
{
    const char *program = getenv("OOM_PROGRAM"), *text = getenv("OOM_AT");
    if (program == NULL || strcmp(program, program_invocation_short_name) != 0)
        return real_main(argc, argv, environment);
    at = text != NULL ? atol(text) : 0;
    on = getenv("OOM_ON") != NULL;
    trace = getenv("OOM_TRACE") != NULL;
    count_path = getenv("OOM_COUNT");
    if (trace) backtrace(&(void *){NULL}, 1); /* the first call allocates */
    atexit(write_count);
    atomic_store(&counting, true);
    return real_main(argc, argv, environment);
}

typedef int start_function(int (*)(int, char **, char **), int, char **, void (*)(void),
                           void (*)(void), void (*)(void), void *);

int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end);
int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
    start_function *start;
    void *symbol = dlsym(RTLD_NEXT, "__libc_start_main");
    memcpy(&start, &symbol, sizeof start);
    real_main = main;
    return start(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}
