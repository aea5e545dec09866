/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/calibrate_part.h"

#include "base/build_info.h"
#include "base/memory_text.h"
#include "base/settings.h"
#include "experiments/group_file.h"
#include "speclab/no_memory.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MEASURE "calibration"

/* Writes a word of the command on its own line, because it may contain blanks. */
__attribute__((format(printf, 2, 3))) static void put_word(FILE *out, const char *format, ...)
{
    char *word = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&word, format, args) < 0) word = NULL;
    va_end(args);
    for (char *c = word; c != NULL && *c != '\0'; c++)
        if (*c == '\n') *c = ' ';
    fprintf(out, "\n| # word %s", word != NULL ? word : "");
    free(word);
}

/* Returns everything that the runs depend on. */
static char *head_of(const spec_calibration *runs, const spec_validate_args *args)
{
    const spec_validate_plan *plan = runs->plan;
    const spec_shard *shard = &args->common.shard;
    static const char *const scopes[] = {"V", "DV", "S"};
    spec_memory_text made;
    if (!spec_memory_text_open(&made)) return NULL;
    FILE *out = made.out;
    fprintf(out,
            "speclab %s\nmeasure: " MEASURE "\nseed: %llu\nfalse_alarm_rate: %.15g\n"
            "shard: %llu/%llu\ncompiler: %s\n| speclab validate",
            spec_build_info_version, (unsigned long long)plan->seed, plan->false_alarm_rate,
            (unsigned long long)shard->number, (unsigned long long)shard->of,
            spec_build_info_compiler);
    put_word(out, "%s", args->sampler);
    put_word(out, "--calibrate=%d", runs->n);
    put_word(out, "--budget=%llu", (unsigned long long)plan->draws);
    put_word(out, "--false-alarm-rate=%.15g", plan->false_alarm_rate);
    put_word(out, "--power=%.15g", plan->power);
    for (int i = 0; i < 3; i++)
        if (plan->scopes >> i & 1u) put_word(out, "--scopes=%s", scopes[i]);
    for (char **name = args->only; name != NULL && *name != NULL; name++)
        put_word(out, "--only=%s", *name);
    for (char **name = args->env; name != NULL && *name != NULL; name++)
        put_word(out, "--env=%.*s", (int)strcspn(*name, "="), *name); /* a value may be secret */
    if (plan->dependent) put_word(out, "--dependent-requests");
    if (plan->limits.opt_options != NULL) put_word(out, "--options=%s", plan->limits.opt_options);
    if (plan->opt_rows != NULL) put_word(out, "--rows=%s", plan->opt_rows);
    return spec_memory_text_take(&made, NULL);
}

int spec_calibrate_part_write(const spec_calibration *runs, const spec_groups *groups,
                              const spec_validate_args *args, const char *verb, spec_error *error)
{
    static const char *const columns[] = {SPEC_GROUP_COLUMN, SPEC_SHARD_COLUMN};
    const char *path = args->common.output;
    spec_table table = {0};
    spec_result_file file;
    spec_group_writer writer = {
        .part = args->common.shard, .are_points = true, .table = &table, .file = &file};
    int kept = 0, status = GSL_SUCCESS, closed;
    spec_output_say_left_over(path, verb);
    spec_result_file_init(&file, path, NULL);
    if (spec_table_init(&table, columns, 2) != GSL_SUCCESS) SPEC_TRY(spec_no_memory(error));
    free(table.provenance);
    if ((table.provenance = head_of(runs, args)) == NULL) SPEC_TRY(spec_no_memory(error));
    if (args->common.resume) SPEC_TRY(spec_group_writer_resume(&writer, error));
    SPEC_TRY(spec_result_file_open(&file, error));
    SPEC_TRY(spec_group_writer_run(&writer, groups, 0, 1, error));
done:
    closed = spec_result_file_close(&file, &kept, status == GSL_SUCCESS ? error : NULL);
    spec_output_say_kept(path, kept, args->common.force, verb);
    spec_table_free(&table);
    return status == GSL_SUCCESS ? closed : status;
}

bool spec_calibrate_part_is(const spec_table *merged)
{
    char measure[32];
    return spec_table_provenance(merged, "measure", measure, sizeof measure) != NULL &&
           strcmp(measure, MEASURE) == 0;
}

int spec_calibrate_part_add(spec_calibration *ret, double *ret_rate, const spec_table *merged,
                            spec_error *error)
{
    char rate[40];
    const int column = spec_table_column(merged, SPEC_GROUP_COLUMN);
    if (column < 0 || merged->n_rows > INT32_MAX ||
        spec_table_provenance(merged, "false_alarm_rate", rate, sizeof rate) == NULL ||
        !spec_settings_parse_double(ret_rate, rate) || !(*ret_rate > 0.0 && *ret_rate < 1.0))
        return spec_fail(error, GSL_EINVAL, "the parts have no false_alarm_rate or no runs");
    int status = spec_calibration_init(ret, NULL, (int)merged->n_rows, NULL, error);
    if (status != GSL_SUCCESS) return status;
    const spec_groups runs = spec_calibration_runs(ret);
    for (size_t r = 0; r < merged->n_rows && status == GSL_SUCCESS; r++) {
        const spec_cell *cell = spec_table_cell(merged, r, column);
        spec_error inner;
        if (cell->kind != SPEC_CELL_TEXT)
            status = spec_fail(&inner, GSL_EINVAL, "not a run of a calibration");
        else
            status = runs.add(runs.self, cell->text, &inner);
        if (status != GSL_SUCCESS) spec_fail(error, status, "run %zu: %s", r + 1, inner.text);
    }
    if (status == GSL_SUCCESS) spec_calibration_finish(ret);
    else spec_calibration_free(ret);
    return status;
}
