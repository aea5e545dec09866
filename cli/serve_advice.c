/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/serve_advice.h"

#include "base/memory_text.h"
#include "cli/page.h"
#include "cli/usage.h"
#include "cli/verb.h"
#include "tools/serve/serving_advice.h"

#include <stdlib.h>
#include <unistd.h>

int spec_serve_advice_say(const spec_table *table, const char *verb)
{
    spec_error error = {{0}};
    spec_memory_text made;
    uint64_t refused = 0;
    if (!spec_memory_text_open(&made)) spec_usage_no_memory(verb);
    const int status = spec_serving_advice_write(made.out, &refused, table, &error);
    char *text = spec_memory_text_take(&made, NULL);
    if (text == NULL) spec_usage_no_memory(verb);
    spec_page_write(text, spec_page_columns(STDERR_FILENO), stderr);
    free(text);
    if (status == GSL_SUCCESS) return refused > 0 ? SPEC_EXIT_UNDECIDED : SPEC_EXIT_HOLDS;
    spec_usage_say(verb, "%s", error.text);
    return SPEC_EXIT_USAGE;
}
