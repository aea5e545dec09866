/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz traces of requests: any bytes must give requests or a one-line error that names the file,
 * quickly and in little memory. Requests are in order of time, and lengths within their limits. */
#include "sim/serving/requests/length_law.h"
#include "sim/serving/requests/request_trace.h"

#include <assert.h>
#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    spec_request_trace trace;
    spec_error error = {.text = ""};
    FILE *file = size > 0 ? fmemopen((void *)(uintptr_t)data, size, "r") : fopen("/dev/null", "r");
    assert(file != NULL);
    const int status = spec_request_trace_read(&trace, file, "x", &error);
    fclose(file);
    if (status != GSL_SUCCESS) {
        assert(strncmp(error.text, "x:", 2) == 0 && strchr(error.text, '\n') == NULL);
        assert(trace.n == 0 && trace.arrival == NULL && trace.output == NULL);
        return 0;
    }
    assert(trace.n >= 1 && trace.failed >= 0 && trace.format != NULL);
    const double *measured[] = {trace.queued, trace.scheduled, trace.first_token, trace.last_token};
    for (int64_t i = 0; i < trace.n; i++) {
        assert(trace.prompt[i] >= 0 && trace.prompt[i] <= SPEC_LENGTH_MAX);
        assert(trace.output[i] >= 1 && trace.output[i] <= SPEC_LENGTH_MAX);
        if (trace.arrival != NULL)
            assert(isfinite(trace.arrival[i]) &&
                   trace.arrival[i] >= (i > 0 ? trace.arrival[i - 1] : 0.0));
        for (int m = 0; m < 4; m++) assert(measured[m] == NULL || isfinite(measured[m][i]));
    }
    spec_request_trace_free(&trace);
    return 0;
}
