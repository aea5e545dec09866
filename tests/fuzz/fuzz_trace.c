/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz traces, speclab's own and servers' responses, at the temperature of the rows and at another:
 * any bytes must give a verdict or a one-line error that names the file, quickly and in little
 * memory. A verdict has finite capitals and p-values, and a detectable difference of at most 1. */
#include "tools/validate/traces/trace.h"

#include <assert.h>
#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void judge(const uint8_t *data, size_t size, double temperature)
{
    spec_validation v;
    spec_error error = {.text = ""};
    spec_validate_plan plan = SPEC_VALIDATE_PLAN_DEFAULT;
    plan.temperature = temperature;
    FILE *file = size > 0 ? fmemopen((void *)(uintptr_t)data, size, "r") : fopen("/dev/null", "r");
    assert(file != NULL);
    const int status = spec_trace_validate_file(&v, file, "x.jsonl", &plan, &error);
    fclose(file);
    if (status != GSL_SUCCESS) {
        assert(strncmp(error.text, "x.jsonl:", 8) == 0 && strchr(error.text, '\n') == NULL &&
               v.result == NULL);
        return;
    }
    assert(v.reason[0] != '\0' && !isnan(v.log_e) && v.p >= 0.0 && v.p <= 1.0);
    for (spec_place place = 0; place < SPEC_PLACES; place++) assert(!(v.power[place].worst > 1.0));
    for (int k = 0; k < v.result->n_findings; k++) {
        const spec_finding *f = &v.result->finding[k];
        assert(f->n > 0.0 && !(f->p < 0.0) && !(f->p > 1.0));
    }
    spec_validation_free(&v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    judge(data, size, 0.0);
    judge(data, size, 0.7);
    return 0;
}
