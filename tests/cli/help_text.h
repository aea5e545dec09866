/* SPDX-License-Identifier: GPL-3.0-or-later */
/* help_text: the options in the help text of a verb. SPECLAB names the program. */
#ifndef SPECLAB_TESTS_HELP_TEXT_H
#define SPECLAB_TESTS_HELP_TEXT_H

#include "tests/support/child.h"

#include <stdbool.h>
#include <string.h>

/* A verb's help text, which the caller frees. */
static inline char *help_of(const char *verb)
{
    char arguments[64];
    snprintf(arguments, sizeof arguments, "%s --help", verb);
    return spec_program_text(arguments);
}

/* Returns whether the word is in a list separated by blanks or commas. */
static inline bool is_among(const char *list, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += n)
        if ((at == list || at[-1] == ' ') && (at[n] == ',' || at[n] == ' ' || at[n] == '\0'))
            return true;
    return false;
}

/* Skips to the next option of a help text that takes a value, and returns the text after its name;
 * NULL: no more. ret_about is the rest up to the next option, on one line. */
static inline const char *next_option(const char *at, char ret_name[64], char ret_about[2048])
{
    while ((at = strstr(at, "--")) != NULL) {
        const char *line = at;
        while (line[-1] != '\n') line--;
        const size_t n = strcspn(at + 2, "=, \n");
        const bool begins = strspn(line, " ") < 8 && at - line < 8 && at[2 + n] == '=';
        at += 2 + n;
        if (!begins) continue;
        snprintf(ret_name, 64, "%.*s", (int)n, at - n);
        size_t used = 0;
        for (const char *c = at; *c != '\0' && used < 2047; c++) {
            if (c[0] == '\n' && (c[1] == '\n' || strspn(c + 1, " ") < 8)) break;
            if (*c != '\n' && (*c != ' ' || ret_about[used - 1] != ' ')) ret_about[used++] = *c;
        }
        ret_about[used] = '\0';
        return at;
    }
    return NULL;
}

#endif
