/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report_pages: results on a page, as Markdown or as one self-contained HTML file.
 * Each result comes with its evidence, its figure (HTML only), its table and its provenance. Texts
 * from the files are escaped. */
#ifndef SPECLAB_REPORT_PAGES_H
#define SPECLAB_REPORT_PAGES_H

#include "cli/report/report_figure.h"

typedef struct {
    const char *title;
    const spec_result_source *source; /* (n) */
    int n;
    size_t rows; /* maximum rows of a table */
} spec_report_page;

/* Writes the page as Markdown. Returns GSL_ENOMEM. */
int spec_report_page_markdown(FILE *out, const spec_report_page *page, spec_error *error);

/* Writes the page as HTML. figure (n) has the figure of each source. Tables can be sorted and
 * filtered if the browser runs scripts. */
void spec_report_page_html(FILE *out, const spec_report_page *page,
                           const spec_report_figure *figure);

#endif
