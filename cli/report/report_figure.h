/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report_figure: the figure of a result as an interactive SVG in memory, or why there is none. */
#ifndef SPECLAB_REPORT_FIGURE_H
#define SPECLAB_REPORT_FIGURE_H

#include "cli/report/result_source.h"

typedef struct {
    char *svg; /* owned; NULL: none */
    size_t n;
    spec_error why; /* why there is none; "" if the result just names no figure */
} spec_report_figure;

void spec_report_figure_draw(spec_report_figure *figure, const spec_result_source *source);
void spec_report_figure_free(spec_report_figure *figure);

#endif
