/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/old_columns.h"

#include <stdlib.h>
#include <string.h>

/* The first matching entry renames a column. */
static const struct {
    const char *old, *name;
    const char *opt_beside; /* a column that only this kind of result has; NULL: any result */
} names[] = {
    {"alpha", "alpha_tested_pooled", "tokens_per_round_predicted"}, /* bench */
    {"accepted", "accepted_draft", "correction_expected"}, /* the figure of validate, also below */
    {"accepted_expected", "accepted_draft_expected", "correction_expected"},
    {"accepted", "mean_n_accepted", "log_e"}, /* the statistics of validate */
    {"accepted", "mean_n_accepted", NULL},
};

static const char *name_now(const spec_table *table, const char *column, bool foreign)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *beside = names[i].opt_beside;
        if (strcmp(column, names[i].old) != 0) continue;
        if (beside == NULL ? foreign : spec_table_column(table, beside) < 0) continue;
        return spec_table_column(table, names[i].name) < 0 ? names[i].name : NULL;
    }
    return NULL;
}

/* Renames a calibration's key for the false-alarm rate. */
static int rename_key(spec_table *table)
{
    static const char figure[] = "figure: calibration\n", old[] = "\nalpha: ";
    char *provenance = NULL;
    const char *key = strstr(table->provenance, old);
    if (strncmp(table->provenance, figure, strlen(figure)) != 0 || key == NULL) return GSL_SUCCESS;
    if (asprintf(&provenance, "%.*s\nfalse alarm rate: %s", (int)(key - table->provenance),
                 table->provenance, key + strlen(old)) < 0)
        return GSL_ENOMEM;
    free(table->provenance);
    table->provenance = provenance;
    return GSL_SUCCESS;
}

int spec_old_columns_rename(spec_table *table, bool foreign)
{
    for (int c = 0; c < table->n_columns; c++) {
        const char *name = name_now(table, table->column[c], foreign);
        if (name == NULL) continue;
        char *copy = strdup(name);
        if (copy == NULL) return GSL_ENOMEM;
        free(table->column[c]);
        table->column[c] = copy;
    }
    return rename_key(table);
}
