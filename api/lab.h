/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lab: what the functions of the library share: their entry, their exit and their structs.
 * A function that can fail enters a lab, works, and leaves. In between the thread has the "C"
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
    pid_t process;  /* that opened it */
    locale_t plain; /* the "C" locale, in which numbers have points */
};

/* A call of the library in progress. */
typedef struct {
    spec_error error;
    locale_t before; /* of the thread; (locale_t)0: unchanged */
    bool forked;
} spec_lab_call;

/* Begins a call: GSL_EINVAL without a handle, GSL_EFAILED in a child of the process that opened. */
int spec_lab_enter(spec_lab_call *call, const speclab *lab);

/* Ends the call, whether it was entered or refused: writes the line of a failure and returns the
 * public code of a status. opt_stop: a failure while it is set counts as stopped. */
int32_t spec_lab_leave(spec_lab_call *call, int status, const volatile int *opt_stop,
                       char *opt_error, uint64_t error_size);

/* Copies the caller's struct `given`, or zeroes, to `ret` of `size` bytes, which is its present
 * size. Both begin with their size. GSL_EINVAL, naming the struct, for another size. */
int spec_lab_take(void *ret, uint32_t size, const void *opt_given, const char *name,
                  spec_error *error);

/* Zeroes all but the size of the caller's struct, whose present size is `size`. False, and nothing
 * is written, for another size or NULL. */
bool spec_lab_clear(void *opt_given, uint32_t size);

/* GSL_EINVAL, naming the argument, if it is NULL. */
int spec_lab_need(const void *given, const char *name, spec_error *error);

#endif
