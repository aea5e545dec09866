/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/figures/figure_title.h"

#include "base/memory_text.h"
#include "cli/figures/figure_words.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

/* The longest parameter value that a title includes unasked. */
enum { LONGEST = 24 };

int spec_figure_title_add(spec_word_list *constant, const spec_figure_column *column)
{
    char *text = spec_figure_words_value(column->name, column->level[0], !column->is_text);
    const int status = text == NULL ? GSL_ENOMEM : spec_word_list_add(constant, text);
    free(text);
    return status;
}

/* Writes a template such as "{sampler}, tested {runs} times"; the provenance gives the names in
 * braces. */
static int write_template(FILE *out, const char *text, const spec_figure_data *data)
{
    while (*text != '\0') {
        const size_t plain = strcspn(text, "{"), length = strcspn(text + plain, "}");
        fprintf(out, "%.*s", (int)plain, text);
        text += plain;
        if (*text == '\0') break;
        char *key = strndup(text + 1, length - 1), value[256];
        if (key == NULL) return GSL_ENOMEM;
        if (spec_table_provenance(&data->table, key, value, sizeof value) != NULL)
            fputs(value, out);
        free(key);
        text += length + (text[length] == '}');
    }
    return GSL_SUCCESS;
}

int spec_figure_title_parameters(spec_word_list *constant, spec_figure_data *data,
                                 const spec_figure_axes *axes, spec_error *error)
{
    const spec_measure *measure = spec_figure_data_measure(data);
    for (int c = 0; measure != NULL && c < data->table.n_columns; c++) {
        const char *column = data->table.column[c];
        const spec_figure_column *found;
        bool known;
        spec_measure_default(measure, column, &known);
        if (!known || strcmp(column, axes->x) == 0 || spec_word_list_has(&axes->y, column) ||
            spec_word_list_has(&axes->by, column) ||
            (axes->facet != NULL && strcmp(axes->facet, column) == 0))
            continue;
        int status = spec_figure_data_column(&found, data, column, error);
        if (status != GSL_SUCCESS) return status;
        if (!found->is_constant || strlen(found->level[0]) > LONGEST) continue;
        status = spec_figure_title_add(constant, found);
        if (status != GSL_SUCCESS) return spec_no_memory(error);
    }
    return GSL_SUCCESS;
}

char *spec_figure_title(const spec_figure_script *opt_script, const spec_word_list *constant,
                        const spec_figure_data *data)
{
    spec_memory_text text;
    if (!spec_memory_text_open(&text)) return NULL;
    const char *base = opt_script != NULL && opt_script->title != NULL ? opt_script->title : "";
    const int status = write_template(text.out, base, data);
    for (int i = 0; i < constant->n; i++)
        fprintf(text.out, "%s%s", *base != '\0' || i > 0 ? ", " : "", constant->word[i]);
    char *title = spec_memory_text_take(&text, NULL);
    if (status == GSL_SUCCESS) return title;
    free(title);
    return NULL;
}
