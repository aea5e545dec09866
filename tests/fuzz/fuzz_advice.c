/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz logs of engines: any bytes must give an advice or a one-line error, in little memory.
 * Sums have finite counts within their bounds. Advice takes far longer than reading, so it is
 * computed, with its report and its table, for one input in eight. */
#include "tools/advise/advice_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) abort();                                                                 \
    } while (0)

static void check_cluster(const spec_observed_series *s, const double *c)
{
    for (int i = 0; i < SPEC_SUM_COLUMNS; i++) REQUIRE(isfinite(c[i]) && c[i] >= 0.0);
    if (s->K > 0) REQUIRE(c[SPEC_SUM_ACCEPTED] <= c[SPEC_SUM_DRAFTED] * (1.0 + 1e-9));
    REQUIRE(c[SPEC_SUM_DEPTH_ROUNDS] <= c[SPEC_SUM_ROUNDS]);
    REQUIRE(c[SPEC_SUM_PASSED] <= c[SPEC_SUM_DEPTH_ROUNDS]);
    for (int i = 1; i < SPEC_OBSERVED_DEPTHS; i++) {
        REQUIRE(c[SPEC_SUM_PASSED + i] <= c[SPEC_SUM_PASSED + i - 1]);
        if (i >= s->depths) REQUIRE(c[SPEC_SUM_PASSED + i] == 0.0);
    }
}

static void check_sums(const spec_observed_sums *sums)
{
    uint64_t observations = 0;
    REQUIRE(sums->n <= SPEC_SUM_SERIES);
    for (size_t i = 0; i < sums->n; i++) {
        const spec_observed_series *s = &sums->series[i];
        REQUIRE(s->K >= -1 && s->K <= SPEC_OBSERVED_DEPTHS);
        REQUIRE(s->batch >= 0 && s->batch < SPEC_SUM_BATCHES);
        REQUIRE(s->n >= 1 && s->n <= SPEC_SUM_MOST);
        REQUIRE(s->n == (s->observations + s->each - 1) / s->each);
        for (size_t k = 0; k < s->n; k++) check_cluster(s, s->column + k * SPEC_SUM_COLUMNS);
        observations += s->observations;
    }
    REQUIRE(observations == sums->observations && sums->inexact <= observations);
    REQUIRE(strchr(sums->contradiction, '\n') == NULL);
}

static void check_report(const spec_diagnosis_facts *facts)
{
    spec_error error = {.text = ""};
    spec_table table = {0};
    FILE *out = fopen("/dev/null", "w");
    REQUIRE(out != NULL);
    REQUIRE(spec_advice_report_write(out, facts, 80, &error) == GSL_SUCCESS);
    REQUIRE(spec_advice_report_table(&table, facts, &error) == GSL_SUCCESS);
    spec_table_free(&table);
    fclose(out);
}

/* `change`: also compares with the same evidence, as if it came from before a change. */
static void check_advice(const spec_observed_sums *sums, const spec_log_summary *summary,
                         const spec_counter_differences *counters, bool change)
{
    spec_advice_question question = SPEC_ADVICE_QUESTION;
    const spec_diagnosis_source source = {.path = "log", .summary = *summary};
    spec_advice advice;
    spec_error error = {.text = ""};
    if (change)
        question.round_over_plain = 1.5;
    else
        question.plain_tokens_per_s = 50.0;
    if (spec_advice_of(&advice, sums, change ? sums : NULL, &question, &error) != GSL_SUCCESS) {
        REQUIRE(error.text[0] != '\0' && strchr(error.text, '\n') == NULL);
        return;
    }
    REQUIRE(advice.n >= 0 && advice.n <= SPEC_ADVICE_K);
    REQUIRE(advice.n_batches >= 0 && advice.n_batches <= SPEC_SUM_BATCHES);
    for (int i = 1; i < advice.n; i++) REQUIRE(advice.length[i].K > advice.length[i - 1].K);
    for (int i = 0; i < advice.n; i++) {
        const double alpha = advice.length[i].alpha.value;
        REQUIRE(isnan(alpha) || (alpha >= 0.0 && alpha <= 1.0 + 1e-9));
    }
    const spec_diagnosis_facts facts = {.advice = &advice,
                                        .evidence = sums,
                                        .read = summary,
                                        .counters = counters,
                                        .source = &source,
                                        .n_sources = 1};
    check_report(&facts);
}

static void read_with(const char *path, int K, unsigned hash)
{
    spec_observed_sums sums = {0};
    spec_counter_differences differences = {.to = spec_observed_sums_observer(&sums)};
    const spec_observer observer = spec_counter_differences_observer(&differences);
    const spec_log_options options = {.K = K};
    spec_log_summary summary;
    spec_error error = {.text = ""};
    int status = spec_log_file_read(&summary, path, &options, &observer, &error);
    REQUIRE(summary.format != NULL || summary.records == 0);
    REQUIRE(status == GSL_SUCCESS || summary.format == NULL);
    if (status == GSL_SUCCESS) status = spec_counter_differences_end(&differences, &error);
    REQUIRE((status == GSL_SUCCESS) == (error.text[0] == '\0'));
    REQUIRE(strchr(error.text, '\n') == NULL && memchr(summary.learned.note, '\0', 160) != NULL);
    check_sums(&sums);
    if (summary.format != NULL && hash % 8 == 0)
        check_advice(&sums, &summary, &differences, hash % 16 == 0);
    spec_counter_differences_free(&differences);
    spec_observed_sums_free(&sums);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    const int memory = memfd_create("log", 0);
    unsigned hash = 0;
    for (size_t i = 0; i < size; i++) hash = hash * 2654435761U + data[i];
    hash >>= 8;
    REQUIRE(memory >= 0);
    REQUIRE(write(memory, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
    read_with(path, -1, hash / 16);
    read_with(path, 3, hash);
    close(memory);
    return 0;
}
