/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/figure_option.h"

#include "cli/figures/figure.h"
#include "cli/usage.h"
#include "cli/verb.h"

#include <string.h>

void spec_figure_option_check(const char *opt_figure, const spec_options *common, const char *verb)
{
    spec_error error = {{0}};
    if (opt_figure == NULL) return;
    if (spec_figure_check_path(opt_figure, &error) != GSL_SUCCESS)
        spec_usage_fail(verb, "--figure %s", error.text);
    const char *ending = common->output != NULL ? strrchr(common->output, '.') : NULL;
    if (ending == NULL || strcmp(ending, ".csv") != 0)
        spec_usage_fail(verb, "--figure needs -o FILE.csv, the result that it draws");
    if (common->format_given && common->format != SPEC_FORMAT_CSV)
        spec_usage_fail(verb, "--figure draws a CSV file; leave out --format");
}

int spec_figure_option_draw(const char *opt_figure, const char *name, const spec_options *common,
                            const char *verb, int code)
{
    spec_error error = {{0}};
    if (opt_figure == NULL || code == SPEC_EXIT_USAGE) return code;
    if (spec_figure_draw_named(name, common->output, opt_figure, common->force, verb, &error) !=
        GSL_SUCCESS)
        spec_usage_fail(verb, "%s", error.text);
    return code;
}
