/* SPDX-License-Identifier: GPL-3.0-or-later */
/* list_page: a table of names on a terminal: headings, names, and wrapped texts beside them.
 * For tables whose first two columns are `kind` and `name`; the longest of the other columns is the
 * text. */
#ifndef SPECLAB_LIST_PAGE_H
#define SPECLAB_LIST_PAGE_H

#include "cli/options.h"

/* The heading of a kind; the list ends with a NULL kind. A kind without a heading is its own
 * heading. */
typedef struct {
    const char *kind, *heading;
} spec_list_heading;

/* Like spec_options_show, but in this layout on a terminal, unless the user chose --all or another
 * format. */
int spec_list_page_show(const spec_table *table, const spec_list_heading *headings,
                        const spec_options *options, const char *verb);

#endif
