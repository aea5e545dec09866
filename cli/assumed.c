/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/assumed.h"

#include "cli/usage.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void spec_assumed_add(spec_assumed *assumed, const char *typed, const char *value,
                      const char *opt_meaning)
{
    const size_t used = strlen(assumed->text);
    snprintf(assumed->text + used, sizeof assumed->text - used, "%s%s%s%s%s%s",
             used > 0 ? ", " : "", typed, value, opt_meaning != NULL ? " (" : "",
             opt_meaning != NULL ? opt_meaning : "", opt_meaning != NULL ? ")" : "");
}

void spec_assumed_add_default(spec_assumed *assumed, const char *typed, const char *opt_value,
                              const char *by_default)
{
    if (opt_value == by_default) spec_assumed_add(assumed, typed, by_default, NULL);
}

/* Returns whether the grid has a value for any of the parameters, a list such as "trace
 * accepted". */
static bool has_any(const spec_grid *grid, const char *parameters)
{
    char name[64];
    for (const char *at = parameters; *at != '\0'; at += strspn(at, " ")) {
        const size_t n = strcspn(at, " ");
        snprintf(name, sizeof name, "%.*s", (int)n, at);
        if (spec_grid_axis(grid, name) != NULL) return true;
        at += n;
    }
    return false;
}

void spec_assumed_add_measure(spec_assumed *assumed, const spec_measure *measure,
                              const spec_grid *grid,
                              const char *(*typed_for)(char typed[64], const void *self,
                                                       const char *parameter),
                              const void *self)
{
    const spec_assumption *of = measure->assumes;
    for (; of != NULL && of->parameter != NULL; of++) {
        char typed[64];
        bool known;
        const char *by_default = spec_measure_default(measure, of->parameter, &known);
        if (has_any(grid, of->parameter)) continue;
        if (of->opt_needs != NULL && !has_any(grid, of->opt_needs)) continue;
        if (of->opt_unless != NULL && has_any(grid, of->opt_unless)) continue;
        spec_assumed_add(assumed, typed_for(typed, self, of->parameter),
                         of->opt_value != NULL ? of->opt_value : by_default, of->opt_meaning);
    }
}

void spec_assumed_say(const spec_assumed *assumed, const char *verb)
{
    if (assumed->text[0] != '\0') spec_usage_tell(verb, "assumed: %s", assumed->text);
}
