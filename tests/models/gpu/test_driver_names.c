/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The declarations of models/gpu/driver_functions.h match the CUDA toolkit's: they are repeated
 * here after cuda.h, so that a difference does not compile. Skipped without a toolkit. */
#include "models/gpu/driver_functions.h"
#include "tests/support/support.h"

#include <string.h>

#if defined(__has_include) && defined(SPEC_STUBS)
#if __has_include(<cuda.h>)
#define TOOLKIT
#endif
#endif

#ifdef TOOLKIT

#include <cuda.h>
#include <dlfcn.h>
#include <stddef.h>
#include <unistd.h>

#define SAME_NUMBER(name, number) _Static_assert((int)(name) == (number), #name);
SPEC_DRIVER_NUMBERS(SAME_NUMBER)

#define SAME_FIELD(type, field, offset) _Static_assert(offsetof(type, field) == (offset), #field);
SPEC_DRIVER_FIELDS(SAME_FIELD)

#define SAME_STRUCT(type, bytes) _Static_assert(sizeof(type) == (bytes), #type);
SPEC_DRIVER_STRUCTS(SAME_STRUCT)

#define SAME_FUNCTION(name, parameters) CUresult CUDAAPI name parameters;
SPEC_DRIVER_FUNCTIONS(SAME_FUNCTION)

#define TEXT(name) #name
#define NAMES(name, parameters) {#name, TEXT(name)},
static const struct {
    const char *own, *renamed; /* the name after cuda.h's macros */
} names[] = {SPEC_DRIVER_FUNCTIONS(NAMES)};
enum { N_NAMES = (int)(sizeof names / sizeof *names) };

TEST(the_stub_library_has_every_function)
{
    if (access(SPEC_STUBS, R_OK) != 0) {
        printf("skipped: %s: there is no %s\n", __func__, SPEC_STUBS);
        skip();
    }
    void *stubs = dlopen(SPEC_STUBS, RTLD_LAZY | RTLD_LOCAL);
    if (stubs == NULL) fail_msg("%s", dlerror());
    for (int i = 0; i < N_NAMES; i++)
        if (dlsym(stubs, names[i].own) == NULL)
            fail_msg("%s is not in %s", names[i].own, SPEC_STUBS);
    dlclose(stubs);
}

/* cuda.h maps old names to new versions of a function; we must not use an old version by mistake.
 * The exception is elapsed time: drivers before CUDA 12.8 have only the old version. */
TEST(no_function_is_an_old_version_by_mistake)
{
    for (int i = 0; i < N_NAMES; i++)
        if (strcmp(names[i].own, "cuEventElapsedTime") != 0)
            assert_string_equal(names[i].own, names[i].renamed);
}

#else

TEST(without_the_toolkit_nothing_is_compared)
{
    printf("skipped: %s: there is no cuda.h\n", __func__);
    skip();
}

#endif
