/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/figures/word_list.h"

#include <gsl/gsl_errno.h>
#include <stdlib.h>
#include <string.h>

static int add(spec_word_list *list, const char *word, size_t length)
{
    char **grown = realloc(list->word, (size_t)(list->n + 2) * sizeof *grown);
    if (grown == NULL) return GSL_ENOMEM;
    list->word = grown;
    list->word[list->n] = strndup(word, length);
    if (list->word[list->n] == NULL) return GSL_ENOMEM;
    list->word[++list->n] = NULL;
    return GSL_SUCCESS;
}

int spec_word_list_add(spec_word_list *list, const char *word)
{
    return add(list, word, strlen(word));
}

int spec_word_list_split(spec_word_list *list, const char *text, const char *separators)
{
    const int before = list->n;
    for (text += strspn(text, separators); *text != '\0'; text += strspn(text, separators)) {
        text += strspn(text, " ");
        const size_t length = strcspn(text, separators);
        if (length > 0 && add(list, text, length) != GSL_SUCCESS) {
            while (list->n > before) free(list->word[--list->n]);
            if (list->word != NULL) list->word[list->n] = NULL;
            return GSL_ENOMEM;
        }
        text += length;
    }
    return GSL_SUCCESS;
}

bool spec_word_list_has(const spec_word_list *list, const char *word)
{
    for (int i = 0; i < list->n; i++)
        if (strcmp(list->word[i], word) == 0) return true;
    return false;
}

void spec_word_list_free(spec_word_list *list)
{
    for (int i = 0; i < list->n; i++) free(list->word[i]);
    free(list->word);
    *list = (spec_word_list){0};
}
