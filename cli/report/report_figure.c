/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/report/report_figure.h"

#include "cli/figures/figure.h"

#include <stdlib.h>

void spec_report_figure_draw(spec_report_figure *figure, const spec_result_source *source)
{
    char name[64];
    const spec_figure_request request = {.style = SPEC_FIGURE_STYLE_DEFAULT};
    *figure = (spec_report_figure){.svg = NULL};
    if (source->json || spec_table_provenance(&source->table, "figure", name, sizeof name) == NULL)
        return;
    if (spec_figure_draw_svg(&figure->svg, &figure->n, &request, source->path, &figure->why) !=
        GSL_SUCCESS) {
        free(figure->svg);
        figure->svg = NULL;
    }
}

void spec_report_figure_free(spec_report_figure *figure)
{
    free(figure->svg);
    *figure = (spec_report_figure){.svg = NULL};
}
