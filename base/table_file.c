/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/table_file.h"

#include "base/json_rows.h"

#include <stdlib.h>
#include <string.h>

int spec_table_file_read(spec_table *table, bool *opt_json, const char *path,
                         const spec_input_limit *limit, spec_error *error)
{
    char *text = NULL;
    size_t n;
    int status = GSL_SUCCESS;
    *table = (spec_table){.n_rows = 0};
    SPEC_TRY(spec_input_file_read_text(&text, &n, path, limit, error));
    const char *begin = strncmp(text, "\xEF\xBB\xBF", 3) == 0 ? text + 3 : text;
    const char first = begin[strspn(begin, " \t\r\n")];
    const bool json = first == '{' || first == '[';
    if (opt_json != NULL) *opt_json = json;
    if (json) {
        SPEC_TRY(spec_json_rows_read(table, begin, n - (size_t)(begin - text), path, error));
    } else {
        status = spec_table_parse_foreign_csv(table, text, n, path, error);
        text = NULL;
    }
    if (status == GSL_SUCCESS && table->n_rows == 0)
        status = spec_fail(error, GSL_EINVAL, "%s has no rows", path);
done:
    free(text);
    if (status != GSL_SUCCESS) spec_table_free(table);
    return status;
}
