/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/advised_logs.h"

#include "speclab/no_memory.h"
#include "tools/advise/advice_report.h"
#include "tools/advise/asked_advice.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int fail(spec_error *error)
{
    return spec_fail(error, GSL_EFAILED, "a log in memory: %s", strerror(errno));
}

FILE *spec_advised_logs_add(spec_advised_logs *logs, bool plain, spec_error *error)
{
    assert(logs->n < SPEC_ADVISED_LOGS);
    const int memory = memfd_create("speclab-log", MFD_CLOEXEC);
    FILE *out = memory >= 0 ? fdopen(memory, "w") : NULL;
    if (out == NULL) {
        fail(error);
        if (memory >= 0) close(memory);
        return NULL;
    }
    logs->log[logs->n].out = out;
    logs->log[logs->n].plain = plain;
    snprintf(logs->log[logs->n].path, sizeof logs->log->path, "/proc/self/fd/%d", memory);
    logs->n++;
    return out;
}

void spec_advised_logs_free(spec_advised_logs *logs)
{
    while (logs->n > 0) fclose(logs->log[--logs->n].out);
}

static int answer(spec_advised *ret, const spec_advice_paths *paths, uint64_t seed,
                  spec_error *error)
{
    spec_asked_advice asked;
    spec_advice_question question = SPEC_ADVICE_QUESTION;
    int status = GSL_SUCCESS;
    question.seed = seed;
    SPEC_TRY(spec_asked_advice_init(&asked, paths, &question, error));
    SPEC_TRY(spec_advice_report_table(&ret->table, &asked.facts, error));
    ret->decided = asked.advice->verdict != SPEC_ADVICE_MEASURE &&
                   asked.advice->verdict != SPEC_ADVICE_NOTHING;
    ret->K = spec_advice_report_K(asked.advice);
    ret->drift_p = asked.advice->drift.p;
done:
    spec_asked_advice_free(&asked);
    return status;
}

int spec_advised_ask(spec_advised *ret, const spec_advised_logs *logs, int K, uint64_t seed,
                     spec_error *error)
{
    const char *file[SPEC_ADVISED_LOGS], *plain[SPEC_ADVISED_LOGS];
    spec_advice_paths paths = {.file = file, .plain = plain, .K = &K, .n_K = K > 0};
    *ret = (spec_advised){.K = -1, .drift_p = NAN};
    for (int i = 0; i < logs->n; i++) {
        if (fflush(logs->log[i].out) != 0 || ferror(logs->log[i].out)) return fail(error);
        if (logs->log[i].plain)
            plain[paths.n_plain++] = logs->log[i].path;
        else
            file[paths.n_files++] = logs->log[i].path;
    }
    return answer(ret, &paths, seed, error);
}

int spec_advised_case(spec_advised *ret, const spec_counted_case *c, const spec_counted_run *run,
                      int n, uint64_t seed, spec_error *error)
{
    spec_advised_logs logs = {0};
    int status = GSL_SUCCESS;
    *ret = (spec_advised){.K = -1, .drift_p = NAN};
    for (int i = 0; i < n; i++) {
        FILE *out = spec_advised_logs_add(&logs, run[i].K == 0, error);
        if (out == NULL) SPEC_TRY(GSL_EFAILED);
        SPEC_TRY(spec_counted_case_write(out, c, &run[i], error));
    }
    SPEC_TRY(
        spec_advised_ask(ret, &logs, run->log == SPEC_COUNTED_LLAMACPP ? run->K : -1, seed, error));
done:
    spec_advised_logs_free(&logs);
    return status;
}

void spec_advised_free(spec_advised *advised)
{
    spec_table_free(&advised->table);
    *advised = (spec_advised){.K = -1};
}

/* ---- the printed table ----------------------------------------------------------------------- */

static double cell(const spec_advised *advised, int row, const char *column)
{
    const int c = spec_table_column(&advised->table, column);
    if (row < 0 || c < 0) return NAN;
    return spec_cell_number(spec_table_cell(&advised->table, (size_t)row, c));
}

int spec_advised_row(const spec_advised *advised, int K)
{
    for (int i = 0; i < (int)advised->table.n_rows; i++)
        if (cell(advised, i, "K") == K && isnan(cell(advised, i, "batch_from"))) return i;
    return -1;
}

spec_advised_interval spec_advised_interval_of(const spec_advised *advised, int row,
                                               const char *name)
{
    char low[64], high[64];
    snprintf(low, sizeof low, "%s_low", name);
    snprintf(high, sizeof high, "%s_high", name);
    return (spec_advised_interval){cell(advised, row, low), cell(advised, row, name),
                                   cell(advised, row, high)};
}
