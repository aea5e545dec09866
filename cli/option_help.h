/* SPDX-License-Identifier: GPL-3.0-or-later */
/* option_help: prints the --help of a verb. */
#ifndef SPECLAB_OPTION_HELP_H
#define SPECLAB_OPTION_HELP_H

#include <stdio.h>

/* An option, or a heading if it has no name. */
typedef struct {
    const char *name;
    char letter;       /* or 0 */
    const char *value; /* the name of its value in the help; NULL: it takes none */
    const char *help;
    int group; /* groups come in order */
} spec_option_row;

/* Prints the help in 79 columns: the usage with the words after the options, the summary, each
 * group's heading with its options in order of name, and the text. `doc` is the summary, or the
 * summary, "\v" and the text. Sorts the rows. */
void spec_option_help_print(FILE *out, const char *verb, const char *opt_words, const char *doc,
                            spec_option_row *rows, int n);

#endif
