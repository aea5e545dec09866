/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A library for LD_PRELOAD that makes one allocation of a program fail, or all from one on. It
 * covers malloc and its relatives, their callers in the C library (strdup, asprintf,
 * open_memstream), and anonymous mmap. Allocations are counted from main on, in all threads, and
 * only in the program named OOM_PROGRAM, not in its subprocesses.
 *   OOM_AT=n       the n-th one fails; 0: none
 *   OOM_ON=1       all after it fail, too
 *   OOM_PATHS=FILE add a line for each allocation with a chain of callers that no line has: its
 *                  number and a hash of the 32 innermost return addresses. They are the same in
 *                  another run if addresses are not random.
 *   OOM_TRACE=1    print on standard error where it failed */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <inttypes.h>
#include <pthread.h>
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

enum { FRAMES = 32, PATHS = 1 << 16 };

static atomic_bool counting;
static atomic_long counted;
static long at;
static bool on, trace;
static FILE *paths;
static uint64_t known[PATHS]; /* hashes of chains; 0: free */

static void say_where(void)
{
    void *frame[FRAMES];
    atomic_store(&counting, false);
    const int n = backtrace(frame, FRAMES);
    backtrace_symbols_fd(frame, n, STDERR_FILENO);
    atomic_store(&counting, true);
}

/* Returns whether this chain is new, and remembers it. */
static bool is_new(uint64_t hash)
{
    uint64_t at = hash % PATHS;
    for (int i = 0; i < PATHS && known[at] != 0 && known[at] != hash; i++) at = (at + 1) % PATHS;
    if (known[at] != 0) return false;
    known[at] = hash;
    return true;
}

static void note_path(long i)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    void *frame[FRAMES];
    uint64_t hash = 1;
    const int n = backtrace(frame, FRAMES);
    for (int k = 0; k < n; k++) hash = (hash ^ (uintptr_t)frame[k]) * 0x9e3779b97f4a7c15u;
    pthread_mutex_lock(&lock);
    if (is_new(hash)) fprintf(paths, "%ld %" PRIx64 "\n", i, hash);
    pthread_mutex_unlock(&lock);
}

static bool fails(void)
{
    if (!atomic_load_explicit(&counting, memory_order_relaxed)) return false;
    const long i = atomic_fetch_add(&counted, 1) + 1;
    if (paths != NULL) note_path(i);
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

static void close_paths(void)
{
    atomic_store(&counting, false);
    if (paths != NULL) fclose(paths);
}

static void open_paths(const char *name)
{
    char line[64];
    uint64_t hash;
    if (name == NULL) return;
    static char buffer[1 << 12];
    paths = fopen(name, "a+");
    if (paths != NULL) setvbuf(paths, buffer, _IOFBF, sizeof buffer); /* allocates nothing later */
    while (paths != NULL && fgets(line, sizeof line, paths) != NULL)
        if (sscanf(line, "%*d %" SCNx64, &hash) == 1) is_new(hash);
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
    backtrace(&(void *){NULL}, 1); /* the first call allocates */
    open_paths(getenv("OOM_PATHS"));
    atexit(close_paths);
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
