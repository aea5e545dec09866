/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/asked_advice.h"

#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Returns file number i of all: the one before a change, the files, the plain ones; NULL after the
 * last. */
static const char *file_at(const spec_advice_paths *paths, int i)
{
    if (paths->opt_before != NULL && i-- == 0) return paths->opt_before;
    if (i < paths->n_files) return paths->file[i];
    i -= paths->n_files;
    return i < paths->n_plain ? paths->plain[i] : NULL;
}

static int check_files(const spec_advice_paths *paths, spec_error *error)
{
    if (paths->n_files == 0) return spec_fail(error, GSL_EINVAL, "no file is given");
    if (paths->n_K > 1 && paths->n_K != paths->n_files)
        return spec_fail(
            error, GSL_EINVAL,
            "--current has %d lengths for %d file%s: give one for all, or one for each, "
            "in order",
            paths->n_K, paths->n_files, paths->n_files == 1 ? "" : "s");
    for (int i = 0; file_at(paths, i) != NULL; i++) {
        if (*file_at(paths, i) == '\0') return spec_fail(error, GSL_EINVAL, "a file has no name");
        for (int k = 0; k < i; k++)
            if (strcmp(file_at(paths, i), file_at(paths, k)) == 0)
                return spec_fail(error, GSL_EINVAL, "'%.300s' is given twice", file_at(paths, i));
    }
    return GSL_SUCCESS;
}

/* Refuses a speed that is evidently that of all requests but was given as that of one. It would
 * make plain decoding several times too fast. */
static int check_plain_speed(const spec_advice *advice, double given, spec_error *error)
{
    const double n = advice->running;
    for (int i = 0; i < advice->n; i++) {
        const spec_advice_length *length = &advice->length[i];
        if (length->K != advice->K || length->K == 0) continue;
        if (n > 1.5 && length->speedup < 1.0 / 3.0 && length->speedup * n > 0.5)
            return spec_fail(error, GSL_EINVAL,
                             "plain tokens per second: %g of one request is %.0f for the %.1f that "
                             "run here, %.1f times what K = %d gives: give the total divided by "
                             "the running requests",
                             given, given * n, n, 1.0 / length->speedup, advice->K);
    }
    return GSL_SUCCESS;
}

int spec_asked_advice_init(spec_asked_advice *asked, const spec_advice_paths *paths,
                           const spec_advice_question *question, spec_error *error)
{
    int status = GSL_SUCCESS;
    *asked = (spec_asked_advice){.advice = malloc(sizeof *asked->advice)};
    if (asked->advice == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(check_files(paths, error));
    SPEC_TRY(spec_advice_files_read(&asked->files, paths, error));
    SPEC_TRY(spec_advice_of(asked->advice, &asked->files.sums,
                            paths->opt_before != NULL ? &asked->files.before : NULL, question,
                            error));
    if (question->plain_tokens_per_s > 0.0)
        SPEC_TRY(check_plain_speed(asked->advice, question->plain_tokens_per_s, error));
    asked->facts = (spec_diagnosis_facts){.advice = asked->advice,
                                          .evidence = &asked->files.sums,
                                          .read = asked->files.read,
                                          .counters = &asked->files.counters,
                                          .source = asked->files.source,
                                          .n_sources = asked->files.n_sources,
                                          .opt_format = paths->opt_format,
                                          .K_given = paths->K,
                                          .n_K_given = paths->n_K,
                                          .opt_question = question};
done:
    return status;
}

void spec_asked_advice_free(spec_asked_advice *asked)
{
    spec_advice_files_free(&asked->files);
    free(asked->advice);
    *asked = (spec_asked_advice){0};
}
