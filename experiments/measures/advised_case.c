/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/advised_case.h"

#include "experiments/advice/advice_files.h"
#include "experiments/advice/advice_report.h"
#include "speclab/no_memory.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Files in memory, and their names. */
typedef struct {
    FILE *file[SPEC_ADVISED_RUNS];
    char path[SPEC_ADVISED_RUNS][32];
    int n;
} logs;

static int fail(spec_error *error)
{
    return spec_fail(error, GSL_EFAILED, "a log in memory: %s", strerror(errno));
}

static int write_log(logs *l, const spec_counted_case *c, const spec_counted_run *run,
                     spec_error *error)
{
    const int memory = memfd_create("speclab-log", MFD_CLOEXEC);
    if (memory < 0) return fail(error);
    FILE *out = fdopen(memory, "w");
    if (out == NULL) {
        close(memory);
        return fail(error);
    }
    snprintf(l->path[l->n], sizeof l->path[l->n], "/proc/self/fd/%d", memory);
    l->file[l->n++] = out;
    const int status = spec_counted_case_write(out, c, run, error);
    if (status != GSL_SUCCESS) return status;
    return fflush(out) == 0 && !ferror(out) ? GSL_SUCCESS : fail(error);
}

static void logs_free(logs *l)
{
    while (l->n > 0) fclose(l->file[--l->n]);
}

static int answer(spec_advised *ret, const spec_advice_paths *paths, uint64_t seed,
                  spec_error *error)
{
    spec_advice_files files = {0};
    spec_advice_question question = SPEC_ADVICE_QUESTION;
    spec_advice *advice = malloc(sizeof *advice);
    int status = GSL_SUCCESS;
    question.seed = seed;
    if (advice == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(spec_advice_files_read(&files, paths, error));
    SPEC_TRY(spec_advice_of(advice, &files.sums, NULL, &question, error));
    const spec_diagnosis_facts facts = {.advice = advice,
                                        .evidence = &files.sums,
                                        .read = files.read,
                                        .counters = &files.counters,
                                        .source = files.source,
                                        .n_sources = files.n_sources,
                                        .K_given = paths->K > 0};
    SPEC_TRY(spec_advice_report_table(&ret->table, &facts, error));
    ret->decided =
        advice->verdict != SPEC_ADVICE_MEASURE && advice->verdict != SPEC_ADVICE_NOTHING;
    ret->K = spec_advice_report_K(advice);
    ret->drift_p = advice->drift.p;
done:
    spec_advice_files_free(&files);
    free(advice);
    return status;
}

int spec_advised_case(spec_advised *ret, const spec_counted_case *c, const spec_counted_run *run,
                      int n, uint64_t seed, spec_error *error)
{
    const char *file[SPEC_ADVISED_RUNS], *plain[SPEC_ADVISED_RUNS];
    spec_advice_paths paths = {.file = file, .plain = plain, .K = -1};
    logs l = {.n = 0};
    int status = GSL_SUCCESS;
    *ret = (spec_advised){.K = -1, .drift_p = NAN};
    assert(n <= SPEC_ADVISED_RUNS);
    for (int i = 0; i < n; i++) {
        const char *path = l.path[l.n];
        SPEC_TRY(write_log(&l, c, &run[i], error));
        if (run[i].K == 0)
            plain[paths.n_plain++] = path;
        else
            file[paths.n_files++] = path;
    }
    if (run[0].log == SPEC_COUNTED_LLAMACPP) paths.K = run[0].K;
    SPEC_TRY(answer(ret, &paths, seed, error));
done:
    logs_free(&l);
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
