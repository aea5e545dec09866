/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/asked_advice.h"

#include "speclab/no_memory.h"

#include <gsl/gsl_math.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Files ----------------------------------------------------------------------------------- */

/* The option that comes before the name of a file. */
static const char *const option_of[] = {
    [SPEC_SOURCE_FILE] = "", [SPEC_SOURCE_PLAIN] = "--plain ", [SPEC_SOURCE_BEFORE] = "--before "};

/* Returns the sum of a column over the runs of K; over all runs for -1. */
static double sum_of(const spec_observed_sums *sums, int K, int column)
{
    double n = 0.0;
    for (size_t s = 0; s < sums->n; s++)
        for (size_t c = 0; c < sums->series[s].n && (K < 0 || sums->series[s].K == K); c++)
            n += sums->series[s].column[c * SPEC_SUM_COLUMNS + (size_t)column];
    return n;
}

/* Returns a number that grows with each draft token, whether drafted or accepted ones are known. */
static double draft_tokens(const spec_observed_sums *sums)
{
    return sum_of(sums, -1, SPEC_SUM_DRAFTED) + sum_of(sums, -1, SPEC_SUM_ACCEPTED);
}

/* Refuses a plain run that we cannot use, and a draft length that the files contradict. */
static int check_use(const spec_advice_files *files, const spec_advice_paths *paths,
                     spec_error *error)
{
    const spec_observed_sums *sums = &files->sums;
    bool unknown = sums->contradictions > 0, trees = false; /* SGLang counts nodes of trees */
    int given = -1;
    for (int i = 0; i < files->n_sources; i++) {
        const spec_diagnosis_source *source = &files->source[i];
        const spec_log_format *format = source->summary.format;
        trees = trees || strcmp(format->engine, "sglang") == 0;
        if (source->part != SPEC_SOURCE_PLAIN || source->summary.observations > 0) continue;
        return spec_fail(error, GSL_EINVAL,
                         "--plain %.300s: the format is known, but there is no record of plain "
                         "decoding",
                         source->path);
    }
    if (paths->n_plain > 0 && !(sum_of(sums, 0, SPEC_SUM_BUSY) > 0.0))
        return spec_fail(error, GSL_EINVAL,
                         "--plain %.300s: its tokens have no times, or not how many requests ran; "
                         "give --plain-tokens-per-s or --round-over-plain",
                         paths->plain[0]);
    for (int i = 0; i < paths->n_K; i++) given = GSL_MAX(given, paths->K[i]);
    for (size_t s = 0; s < sums->n; s++)
        unknown = unknown || sums->series[s].K < 0 || sums->series[s].K == given;
    if (given > 0 && unknown && !trees && sums->least_K > given)
        return spec_fail(error, GSL_EINVAL,
                         "--current is %d, but %.0f tokens of drafts in %.0f rounds need at least "
                         "K = %.0f",
                         given, sums->least_K_tokens, sums->least_K_rounds, sums->least_K);
    return GSL_SUCCESS;
}

/* Says which rounds are left out because they precede the first scrape. */
static void note_begin(spec_log_learned *learned, const spec_counter_differences *counters,
                       double rounds_before)
{
    const double rounds = counters->begin_rounds - rounds_before;
    if (rounds > 0.0 && learned->note[0] == '\0')
        snprintf(learned->note, sizeof learned->note,
                 "counting begins at the first total, so its %.0f rounds are left out", rounds);
}

static int unknown(const spec_diagnosis_source *source, const spec_advice_paths *paths,
                   spec_error *error)
{
    const spec_log_summary *read = &source->summary;
    const char *name = strcmp(source->path, "-") == 0 ? "standard input" : source->path;
    char open[80] = "";
    if (read->bytes == 0)
        return spec_fail(error, GSL_EINVAL, "%s%.200s: is empty", option_of[source->part], name);
    if (read->open_line > 0)
        snprintf(open, sizeof open, "; the JSON value of line %llu has no end",
                 (unsigned long long)read->open_line);
    return spec_fail(
        error, GSL_EINVAL,
        "%s%.120s: no known format%s%.20s: no line has the text that marks the nearest formats, "
        "%s%s",
        option_of[source->part], name, paths->opt_format != NULL ? " of " : "",
        paths->opt_format != NULL ? paths->opt_format : "", read->nearest, open);
}

/* Reads the files of one role, in order. */
static int read_part(spec_advice_files *files, spec_observed_sums *sums,
                     const spec_advice_paths *paths, spec_source_part part, spec_error *error)
{
    const bool plain = part == SPEC_SOURCE_PLAIN, before = part == SPEC_SOURCE_BEFORE;
    const char *const *path = plain ? paths->plain : before ? &paths->opt_before : paths->file;
    const int n = plain ? paths->n_plain : before ? paths->opt_before != NULL : paths->n_files;
    spec_counter_differences counters = {.to = spec_observed_sums_observer(sums)};
    const spec_observer observer = spec_counter_differences_observer(&counters);
    const double known = plain ? draft_tokens(sums) : NAN;
    int status = GSL_SUCCESS;
    for (int i = 0; i < n; i++) {
        spec_diagnosis_source *source = &files->source[files->n_sources++];
        source->path = path[i];
        source->part = part;
        const double begin_rounds = counters.begin_rounds;
        const spec_log_options options = {.opt_format = paths->opt_format,
                                          .K = plain || paths->n_K == 0 ? -1
                                               : paths->n_K == 1        ? paths->K[0]
                                                                        : paths->K[i],
                                          .opt_stop = paths->opt_stop};
        SPEC_TRY(spec_log_file_read(&source->summary, path[i], &options, &observer, error));
        if (source->summary.format == NULL) SPEC_TRY(unknown(source, paths, error));
        note_begin(&source->summary.learned, &counters, begin_rounds);
        if (i == n - 1) SPEC_TRY(spec_counter_differences_end(&counters, error));
        if (plain && draft_tokens(sums) > known)
            SPEC_TRY(spec_fail(error, GSL_EINVAL,
                               "--plain %.300s: has draft tokens; give a log without speculation, "
                               "or give it without --plain",
                               path[i]));
    }
done:
    if (!before) {
        files->counters.resets += counters.resets;
        files->counters.repeated += counters.repeated;
    }
    spec_counter_differences_free(&counters);
    return status;
}

int spec_advice_files_read(spec_advice_files *files, const spec_advice_paths *paths,
                           spec_error *error)
{
    *files = (spec_advice_files){0};
    files->source = calloc((size_t)(1 + paths->n_files + paths->n_plain), sizeof *files->source);
    if (files->source == NULL) return spec_no_memory(error);
    SPEC_PASS(read_part(files, &files->before, paths, SPEC_SOURCE_BEFORE, error));
    SPEC_PASS(read_part(files, &files->sums, paths, SPEC_SOURCE_FILE, error));
    SPEC_PASS(read_part(files, &files->sums, paths, SPEC_SOURCE_PLAIN, error));
    SPEC_PASS(check_use(files, paths, error));
    for (int i = 0; i < files->n_sources && files->read == NULL; i++)
        if (files->source[i].part != SPEC_SOURCE_BEFORE && files->source[i].summary.format != NULL)
            files->read = &files->source[i].summary;
    return GSL_SUCCESS;
}

void spec_advice_files_free(spec_advice_files *files)
{
    spec_observed_sums_free(&files->sums);
    spec_observed_sums_free(&files->before);
    free(files->source);
    *files = (spec_advice_files){0};
}

/* ---- The question ---------------------------------------------------------------------------- */

/* Returns file i of the question, NULL after the last: first the log from before a change, if there
 * is one, then the logs, then those of plain decoding. */
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

/* Refuses a speed of one request that is evidently the speed of all requests together, because
 * plain decoding would then be several times too fast. Also refuses one that is too slow, because a
 * round takes at least as long as a plain token. */
static int check_plain_speed(const spec_advice *advice, double given, spec_error *error)
{
    const double n = advice->running;
    const spec_advice_length *now = spec_advice_length_of(advice, advice->K);
    const double speedup = now != NULL && now->K > 0 ? now->speedup.value : NAN;
    if (n > 1.5 && speedup < 1.0 / 3.0 && speedup * n > 0.5)
        return spec_fail(error, GSL_EINVAL,
                         "plain tokens per second: %g of one request is %.0f for the %.1f that "
                         "run here, %.1f times what K = %d gives: give the total divided by "
                         "the running requests",
                         given, given * n, n, 1.0 / speedup, advice->K);
    if (now != NULL && now->round_over_plain.high < 0.9)
        return spec_fail(error, GSL_EINVAL,
                         "plain tokens per second: at %g, a round of K = %d takes %.2f of the time "
                         "of a plain token, and no round takes less than one",
                         given, advice->K, now->round_over_plain.value);
    return GSL_SUCCESS;
}

int spec_asked_advice_init(spec_asked_advice *asked, const spec_advice_paths *paths,
                           const spec_advice_question *question, spec_error *error)
{
    *asked = (spec_asked_advice){.advice = malloc(sizeof *asked->advice)};
    if (asked->advice == NULL) return spec_no_memory(error);
    SPEC_PASS(check_files(paths, error));
    SPEC_PASS(spec_advice_files_read(&asked->files, paths, error));
    SPEC_PASS(spec_advice_of(asked->advice, &asked->files.sums,
                             paths->opt_before != NULL ? &asked->files.before : NULL, question,
                             error));
    if (question->plain_tokens_per_s > 0.0)
        SPEC_PASS(check_plain_speed(asked->advice, question->plain_tokens_per_s, error));
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
    return GSL_SUCCESS;
}

void spec_asked_advice_free(spec_asked_advice *asked)
{
    spec_advice_files_free(&asked->files);
    free(asked->advice);
    *asked = (spec_asked_advice){0};
}
