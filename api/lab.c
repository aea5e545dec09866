/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "api/lab.h"

#include "base/build_info.h"
#include "base/stop_flag.h"
#include "speclab/no_memory.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MAX = 1024 };

/* ---- the open library ------------------------------------------------------------------------ */

int32_t speclab_abi(void)
{
    return SPECLAB_ABI;
}

const char *speclab_version(void)
{
    return spec_build_info_version;
}

/* We do not ask OpenMP, because its answer would depend on the environment. */
static int processors(void)
{
    cpu_set_t set;
    const int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                              : (int)sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > THREADS_MAX ? THREADS_MAX : n;
}

static int open_lab(speclab **ret_lab, const speclab_options *opt_options, spec_error *error)
{
    speclab_options options;
    int status = GSL_SUCCESS;
    speclab *lab = NULL;
    SPEC_TRY(spec_lab_take(&options, sizeof options, opt_options, "speclab_options", error));
    if (options.threads < 0 || options.threads > THREADS_MAX)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "threads must be 0 to %d, got %d", THREADS_MAX,
                           options.threads));
    if ((lab = calloc(1, sizeof *lab)) == NULL) SPEC_TRY(spec_no_memory(error));
    lab->process = getpid();
    SPEC_TRY(spec_context_init(&lab->context, options.threads > 0 ? options.threads : processors(),
                               error));
    lab->plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (options.share != NULL) lab->share = strdup(options.share);
    if (lab->plain == (locale_t)0 || (options.share != NULL && lab->share == NULL))
        SPEC_TRY(spec_no_memory(error));
    lab->context.opt_share = lab->share;
    *ret_lab = lab;
    lab = NULL;
done:
    speclab_close(lab);
    return status;
}

int32_t speclab_open(speclab **ret_lab, const speclab_options *opt_options, char *opt_error,
                     uint64_t error_size)
{
    spec_lab_call call = {.error = {""}};
    int status = spec_lab_need(ret_lab, "ret_lab", &call.error);
    if (status == GSL_SUCCESS) {
        *ret_lab = NULL;
        status = open_lab(ret_lab, opt_options, &call.error);
    }
    return spec_lab_leave(&call, status, NULL, opt_error, error_size);
}

void speclab_close(speclab *lab)
{
    if (lab == NULL) return;
    spec_context_free(&lab->context);
    if (lab->plain != (locale_t)0) freelocale(lab->plain);
    free(lab->share);
    free(lab);
}

/* ---- a call ---------------------------------------------------------------------------------- */

int spec_lab_enter(spec_lab_call *call, const speclab *lab)
{
    *call = (spec_lab_call){.error = {""}};
    if (lab == NULL)
        return spec_fail(&call->error, GSL_EINVAL, "the handle is NULL; call speclab_open first");
    call->forked = lab->process != getpid();
    if (call->forked)
        return spec_fail(&call->error, GSL_EFAILED,
                         "this process was forked after speclab_open, and has no threads of the "
                         "parent's library: call speclab_open here too");
    call->before = uselocale(lab->plain);
    return GSL_SUCCESS;
}

static int32_t code_of(const spec_lab_call *call, int status, const volatile int *opt_stop)
{
    if (status == GSL_SUCCESS) return SPECLAB_OK;
    if (call->forked) return SPECLAB_FORKED;
    if (status == GSL_EINVAL || status == GSL_EDOM || status == GSL_EMAXITER) return SPECLAB_INPUT;
    if (status == GSL_ENOMEM) return SPECLAB_MEMORY;
    return spec_stop_is_set(opt_stop) ? SPECLAB_STOPPED : SPECLAB_FAILED;
}

int32_t spec_lab_leave(spec_lab_call *call, int status, const volatile int *opt_stop,
                       char *opt_error, uint64_t error_size)
{
    if (call->before != (locale_t)0) uselocale(call->before);
    if (opt_error != NULL && error_size > 0) {
        const char *line = status == GSL_SUCCESS         ? ""
                           : call->error.text[0] != '\0' ? call->error.text
                                                         : gsl_strerror(status);
        snprintf(opt_error, error_size, "%s", line);
    }
    return code_of(call, status, opt_stop);
}

int spec_lab_take(void *ret, uint32_t size, const void *opt_given, const char *name,
                  spec_error *error)
{
    uint32_t given = size;
    memset(ret, 0, size);
    if (opt_given == NULL) return GSL_SUCCESS;
    memcpy(&given, opt_given, sizeof given);
    if (given != size)
        return spec_fail(error, GSL_EINVAL,
                         "the size of %s is %u, not %u: set it to sizeof, and compile with the "
                         "header of this library, %s",
                         name, given, size, spec_build_info_version);
    memcpy(ret, opt_given, size);
    return GSL_SUCCESS;
}

bool spec_lab_clear(void *opt_given, uint32_t size)
{
    uint32_t given = 0;
    if (opt_given != NULL) memcpy(&given, opt_given, sizeof given);
    if (given != size) return false;
    memset((char *)opt_given + sizeof given, 0, size - sizeof given);
    return true;
}

int spec_lab_need(const void *given, const char *name, spec_error *error)
{
    return given != NULL ? GSL_SUCCESS : spec_fail(error, GSL_EINVAL, "%s is NULL", name);
}
