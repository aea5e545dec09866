/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report_pages: results on a page, as Markdown or as one HTML file without any other file.
 * Each result has its evidence, its figure (HTML), its table and its provenance. Texts from the
 * files are escaped. */
#ifndef SPECLAB_REPORT_PAGES_H
#define SPECLAB_REPORT_PAGES_H

#include "cli/report/report_figure.h"

typedef struct {
    const char *title;
    const spec_result_source *source; /* (n) */
    int n;
    size_t rows; /* most rows of a table */
} spec_report_page;

/* GSL_ENOMEM. */
int spec_report_page_markdown(FILE *out, const spec_report_page *page, spec_error *error);

/* figure (n): of each source. The table can be sorted and filtered where scripts run. */
void spec_report_page_html(FILE *out, const spec_report_page *page,
                           const spec_report_figure *figure);

#endif
