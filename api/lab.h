/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lab: the code and structs with which the library's functions begin and end a call.
 * A function that can fail enters a lab, works, and leaves. In between, the thread uses the "C"
 * locale. The functions of include/speclab/speclab.h are in api/api_*.c. */
#ifndef SPECLAB_LAB_H
#define SPECLAB_LAB_H

#include "models/context.h"
#include "speclab/speclab.h"

#include <locale.h>
#include <stdbool.h>
#include <sys/types.h>

struct speclab {
    spec_context context;
    char *share;
    pid_t process;  /* the process that opened it */
    locale_t plain; /* the "C" locale, in which numbers have decimal points */
};

/* A call of the library in progress. */
typedef struct {
    spec_error error;
    locale_t before; /* the thread's locale; (locale_t)0: unchanged */
    bool forked;
} spec_lab_call;

/* Begins a call. Returns GSL_EINVAL if lab is NULL, GSL_EFAILED in a child forked after open. */
int spec_lab_enter(spec_lab_call *call, const speclab *lab);

/* Ends the call, whether entering succeeded or not: writes the error line on failure and returns
 * the public code for `status`. If *opt_stop is set, a failure is reported as stopped. */
int32_t spec_lab_leave(spec_lab_call *call, int status, const volatile int *opt_stop,
                       char *opt_error, uint64_t error_size);

/* Copies the caller's struct, or zeroes if there is none, to `ret`, which has `size` bytes. Both
 * structs begin with their size. Returns GSL_EINVAL, naming the struct, if the sizes differ. */
int spec_lab_take(void *ret, uint32_t size, const void *opt_given, const char *name,
                  spec_error *error);

/* Zeroes the caller's struct except for its size, which must be `size`. Returns false and writes
 * nothing if the size differs or the pointer is NULL. */
bool spec_lab_clear(void *opt_given, uint32_t size);

/* Returns GSL_EINVAL, naming the argument, if it is NULL. */
int spec_lab_need(const void *given, const char *name, spec_error *error);

#endif
