/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records which functions a program enters, for mutate.py. Code compiled with
 * -finstrument-functions calls the first function below on each entry. It sets a byte of the file
 * that REACH_MAP names. Child processes inherit the name, so they add to the same file. The library
 * and the program each link a copy of this file; -DREACH_OFFSET keeps their bytes apart. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define UNTRACED __attribute__((no_instrument_function))

/* The linker sets this to the address where the module is loaded. */
extern const char __ehdr_start __attribute__((visibility("hidden")));
static unsigned char *map;

static UNTRACED __attribute__((constructor(101))) void open_map(void)
{
    const char *path = getenv("REACH_MAP");
    int file = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *bytes =
        mmap(NULL, REACH_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, REACH_OFFSET);
    if (bytes != MAP_FAILED) map = bytes;
    close(file);
}

UNTRACED void __cyg_profile_func_enter(void *function, void *caller);
UNTRACED void __cyg_profile_func_exit(void *function, void *caller);

void __cyg_profile_func_enter(void *function, void *caller)
{
    (void)caller;
    size_t at = (size_t)((const char *)function - &__ehdr_start);
    if (map != NULL && at < REACH_SIZE && map[at] == 0) map[at] = 1;
}

void __cyg_profile_func_exit(void *function, void *caller)
{
    (void)function;
    (void)caller;
}
