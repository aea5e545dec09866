/* SPDX-License-Identifier: GPL-3.0-or-later */
/* word_list: a list of words, split from a text such as "--y speedup,emitted".
 * Empty words are left out. The list owns its words; a zeroed list is empty and may be freed. */
#ifndef SPECLAB_WORD_LIST_H
#define SPECLAB_WORD_LIST_H

#include <stdbool.h>

typedef struct {
    int n;
    char **word; /* (n + 1) NULL-terminated; NULL if n is 0 and nothing was split */
} spec_word_list;

/* Appends the words of `text`, separated by any of `separators`, without leading blanks. On
 * GSL_ENOMEM the list is unchanged. */
int spec_word_list_split(spec_word_list *list, const char *text, const char *separators);
int spec_word_list_add(spec_word_list *list, const char *word);
bool spec_word_list_has(const spec_word_list *list, const char *word);
void spec_word_list_free(spec_word_list *list);

#endif
