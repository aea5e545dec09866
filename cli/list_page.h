/* SPDX-License-Identifier: GPL-3.0-or-later */
/* list_page: a table of names on a terminal: headings, names, and wrapped texts next to them.
 * The first two columns of the table are `kind` and `name`; the text is the longest of the
 * others. */
#ifndef SPECLAB_LIST_PAGE_H
#define SPECLAB_LIST_PAGE_H

#include "cli/options.h"

/* The heading of a kind; the list ends with a NULL kind. A kind without an entry is its own
 * heading. */
typedef struct {
    const char *kind, *heading;
} spec_list_heading;

/* Does what spec_options_show does, but uses this layout on a terminal, unless the user chose --all
 * or another format. */
int spec_list_page_show(const spec_table *table, const spec_list_heading *headings,
                        const spec_options *options, const char *verb);

#endif
