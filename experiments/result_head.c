/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/result_head.h"

#include "base/build_info.h"
#include "base/memory_text.h"
#include "experiments/group_file.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

static void put_shard(FILE *out, const char *key, const spec_shard *shard)
{
    if (shard->of > 0)
        fprintf(out, "%s: %llu/%llu\n", key, (unsigned long long)shard->number,
                (unsigned long long)shard->of);
}

char *spec_result_head_provenance(const spec_experiment *e, uint64_t limit, const spec_shard *shard,
                                  const spec_shard *batches)
{
    spec_memory_text made;
    if (!spec_memory_text_open(&made)) return NULL;
    FILE *out = made.out;
    fprintf(out, "speclab %s\nexperiment: %s\nmeasure: %s\n", spec_build_info_version, e->name,
            e->measure->name);
    if (e->figure[0] != '\0') fprintf(out, "figure: %s\n", e->figure);
    fprintf(out, "seed: %llu\n", (unsigned long long)e->seed);
    if (e->measure->simulates && e->rounds > 0)
        fprintf(out, "rounds: %llu\n", (unsigned long long)e->rounds);
    if (e->measure->simulates && e->standard_error > 0.0)
        fprintf(out, "standard_error: %.17g\n", e->standard_error);
    if (limit > 0) fprintf(out, "limit: %llu\n", (unsigned long long)limit);
    put_shard(out, "shard", shard);
    put_shard(out, "batches", batches);
    fprintf(out, "compiler: %s\n", spec_build_info_compiler);
    for (const char *line = e->text; *line != '\0';) {
        int n = (int)strcspn(line, "\n");
        fprintf(out, "| %.*s\n", n, line);
        line += n;
        if (*line == '\n') line++;
    }
    size_t n;
    char *text = spec_memory_text_take(&made, &n);
    if (n > 0 && text[n - 1] == '\n') text[n - 1] = '\0';
    return text;
}

/* Makes the columns that the result shows, and the extra last columns of a part. */
static int make_table(spec_table *table, int *shown, const spec_table *work,
                      const spec_experiment *e, const spec_run_options *options, spec_error *error)
{
    static const char *const groups[] = {SPEC_SHARD_COLUMN, SPEC_GROUP_COLUMN};
    const bool all = e->n_show == 0;
    const int n = all ? work->n_columns : e->n_show;
    const char **column = calloc((size_t)n + 1, sizeof *column);
    int status = GSL_SUCCESS;
    if (column == NULL) return spec_no_memory(error);
    for (int i = 0; i < n; i++) {
        column[i] = all ? work->column[i] : e->show[i];
        shown[i] = spec_table_column(work, column[i]);
        if (shown[i] < 0)
            SPEC_TRY(spec_fail(error, GSL_EINVAL, "no column '%s' to show", column[i]));
    }
    column[n] = SPEC_SHARD_COLUMN;
    status = options->batches.of > 0 ? spec_table_init(table, groups, 2)
                                     : spec_table_init(table, column, n + (options->shard.of > 0));
    if (status != GSL_SUCCESS) SPEC_TRY(spec_no_memory(error));
    free(table->provenance);
    table->provenance =
        spec_result_head_provenance(e, options->limit, &options->shard, &options->batches);
    if (table->provenance == NULL) SPEC_TRY(spec_no_memory(error));
done:
    free(column);
    return status;
}

int spec_result_head_make(spec_table *ret_work, spec_table *ret_table, int **ret_shown,
                          int *ret_n_shown, const spec_experiment *e,
                          const spec_run_options *options, spec_error *error)
{
    int n = e->grid.n_axes, status = GSL_SUCCESS;
    for (int c = 0; e->measure->columns[c] != NULL; c++) n++;
    const char **column = calloc((size_t)n, sizeof *column);
    if (column == NULL) return spec_no_memory(error);
    n = 0;
    for (int i = 0; i < e->grid.n_axes; i++)
        if (!spec_measure_tells(e->measure, e->grid.axis[i].name))
            column[n++] = e->grid.axis[i].name;
    for (int c = 0; e->measure->columns[c] != NULL; c++) column[n++] = e->measure->columns[c];
    if (spec_table_init(ret_work, column, n) != GSL_SUCCESS) SPEC_TRY(spec_no_memory(error));
    *ret_n_shown = e->n_show == 0 ? n : e->n_show;
    *ret_shown = calloc((size_t)*ret_n_shown, sizeof **ret_shown);
    if (*ret_shown == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(make_table(ret_table, *ret_shown, ret_work, e, options, error));
done:
    free(column);
    return status;
}
