/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Experiments, lists of names, and the tables they produce. */
#include "api/lab.h"
#include "api/lab_table.h"

#include "experiments/catalogue.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

static int run(speclab_table **ret_table, speclab *lab, const char *text,
               const speclab_run_options *options, spec_error *error)
{
    const char *name = options->name != NULL ? options->name : "experiment";
    const spec_run_options plan = {.opt_context = &lab->context,
                                   .limit = options->limit,
                                   .stop = options->opt_stop,
                                   .progress = options->progress,
                                   .self = options->self};
    spec_experiment experiment = {0};
    speclab_table *table = calloc(1, sizeof *table);
    int status = GSL_SUCCESS;
    if (table == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(spec_experiment_parse(&experiment, name, text, strlen(text), options->set, error));
    if (options->seed != NULL) experiment.seed = *options->seed;
    status = spec_experiment_run(&table->result, &experiment, &plan, error);
    if (status == GSL_SUCCESS || table->result.table.n_rows > 0) {
        *ret_table = table;
        table = NULL;
    }
done:
    speclab_table_free(table);
    spec_experiment_free(&experiment);
    return status;
}

int32_t speclab_run(speclab_table **ret_table, speclab *lab, const char *text,
                    const speclab_run_options *opt_options, char *opt_error, uint64_t error_size)
{
    speclab_run_options options = {.size = 0};
    spec_lab_call call;
    if (ret_table != NULL) *ret_table = NULL;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_lab_enter(&call, lab));
    SPEC_TRY(spec_lab_need(ret_table, "ret_table", &call.error));
    SPEC_TRY(spec_lab_need(text, "text", &call.error));
    SPEC_TRY(
        spec_lab_take(&options, sizeof options, opt_options, "speclab_run_options", &call.error));
    status = run(ret_table, lab, text, &options, &call.error);
done:
    return spec_lab_leave(&call, status, options.opt_stop, opt_error, error_size);
}

static int list(speclab_table **ret_table, const char *opt_kind, spec_error *error)
{
    static const char *const columns[] = {"kind", "name", "summary", "reference", "claim"};
    speclab_table *table = calloc(1, sizeof *table);
    int status = GSL_SUCCESS;
    if (table == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(spec_table_init(&table->result.table, columns, 5));
    for (int i = 0; spec_catalogue_kinds[i] != NULL; i++)
        if (opt_kind == NULL) spec_catalogue_add(&table->result.table, spec_catalogue_kinds[i]);
    if (opt_kind != NULL && !spec_catalogue_add(&table->result.table, opt_kind))
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "there is no list of '%.100s'", opt_kind));
    if (table->result.table.lost) SPEC_TRY(spec_no_memory(error));
    *ret_table = table;
    table = NULL;
done:
    speclab_table_free(table);
    return status;
}

int32_t speclab_list(speclab_table **ret_table, speclab *lab, const char *opt_kind,
                     char *opt_error, uint64_t error_size)
{
    spec_lab_call call;
    int status = GSL_SUCCESS;
    if (ret_table != NULL) *ret_table = NULL;
    SPEC_TRY(spec_lab_enter(&call, lab));
    SPEC_TRY(spec_lab_need(ret_table, "ret_table", &call.error));
    status = list(ret_table, opt_kind, &call.error);
done:
    return spec_lab_leave(&call, status, NULL, opt_error, error_size);
}

void speclab_table_free(speclab_table *table)
{
    if (table == NULL) return;
    spec_result_free(&table->result);
    free(table);
}

/* ---- cells ----------------------------------------------------------------------------------- */

int64_t speclab_table_rows(const speclab_table *table)
{
    return table != NULL ? (int64_t)table->result.table.n_rows : 0;
}

int32_t speclab_table_columns(const speclab_table *table)
{
    return table != NULL ? table->result.table.n_columns : 0;
}

const char *speclab_table_name(const speclab_table *table, int32_t column)
{
    if (column < 0 || column >= speclab_table_columns(table)) return NULL;
    return table->result.table.column[column];
}

int32_t speclab_table_find(const speclab_table *table, const char *name)
{
    return table != NULL && name != NULL ? spec_table_column(&table->result.table, name) : -1;
}

static const spec_cell *cell_at(const speclab_table *table, int64_t row, int32_t column)
{
    static const spec_cell empty = {.kind = SPEC_CELL_EMPTY};
    if (row < 0 || row >= speclab_table_rows(table) || column < 0 ||
        column >= speclab_table_columns(table))
        return &empty;
    return spec_table_cell(&table->result.table, (size_t)row, column);
}

int32_t speclab_table_kind(const speclab_table *table, int64_t row, int32_t column)
{
    switch (cell_at(table, row, column)->kind) {
    case SPEC_CELL_NUMBER: return SPECLAB_CELL_NUMBER;
    case SPEC_CELL_INTEGER: return SPECLAB_CELL_INTEGER;
    case SPEC_CELL_TEXT: return SPECLAB_CELL_TEXT;
    case SPEC_CELL_EMPTY: break;
    }
    return SPECLAB_CELL_EMPTY;
}

double speclab_table_number(const speclab_table *table, int64_t row, int32_t column)
{
    return spec_cell_exact(cell_at(table, row, column));
}

int64_t speclab_table_integer(const speclab_table *table, int64_t row, int32_t column)
{
    const spec_cell *cell = cell_at(table, row, column);
    return cell->kind == SPEC_CELL_INTEGER ? cell->integer : 0;
}

const char *speclab_table_text(const speclab_table *table, int64_t row, int32_t column)
{
    const spec_cell *cell = cell_at(table, row, column);
    return cell->kind == SPEC_CELL_TEXT ? cell->text : NULL;
}

void speclab_table_numbers(double *ret_number, const speclab_table *table, int32_t column)
{
    for (int64_t row = 0; row < speclab_table_rows(table); row++)
        ret_number[row] = speclab_table_number(table, row, column);
}

const char *speclab_table_provenance(const speclab_table *table)
{
    return table != NULL && table->result.table.provenance != NULL ? table->result.table.provenance
                                                                   : "";
}

void speclab_table_checks(uint64_t *ret_holds, uint64_t *ret_fails, const speclab_table *table)
{
    *ret_holds = table != NULL ? table->result.holds : 0;
    *ret_fails = table != NULL ? table->result.fails : 0;
}
