/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_checks: draws figures with 'speclab plot', and checks what they show.
 * SPECLAB names the program. */
#ifndef SPECLAB_TESTS_PLOT_CHECKS_H
#define SPECLAB_TESTS_PLOT_CHECKS_H

#include "cli/verb.h"
#include "tests/support/child.h"
#include "tests/support/folder.h"
#include "tests/support/picture.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns the texts of a figure, each once; the caller frees them. */
static inline char *texts_of(const char *path)
{
    char *bytes = spec_file_bytes(path), *texts = calloc(strlen(bytes) + 2, 1), *to = texts;
    for (const char *at = strstr(bytes, "<text"); at != NULL; at = strstr(at, "<text")) {
        const char *end = strstr(at, "</text>");
        assert_non_null(end);
        bool tag = false;
        for (; at < end; at++) {
            if (*at == '<') tag = true;
            if (!tag && *at != '\t' && *at != '\n') *to++ = *at;
            if (*at == '>') tag = false;
        }
        *to++ = '\n';
    }
    free(bytes);
    return texts;
}

static inline void shows(const char *path, const char *text)
{
    char *texts = texts_of(path);
    if (strstr(texts, text) == NULL) fail_msg("%s does not show '%s' but\n%s", path, text, texts);
    free(texts);
}

static inline void shows_not(const char *path, const char *text)
{
    char *texts = texts_of(path);
    if (strstr(texts, text) != NULL) fail_msg("%s shows '%s'", path, text);
    free(texts);
}

/* The number of occurrences of a text in a file. */
static inline int count(const char *path, const char *text)
{
    char *bytes = spec_file_bytes(path);
    int n = 0;
    for (const char *at = bytes; (at = strstr(at, text)) != NULL; at += strlen(text)) n++;
    free(bytes);
    return n;
}

static inline void draws(const char *arguments)
{
    char all[512];
    unlink("x.svg");
    snprintf(all, sizeof all, "plot %s -o x.svg", arguments);
    spec_program_works(all);
    spec_picture_check("x.svg");
    spec_picture_texts_apart("x.svg", arguments);
}

static inline void refuses(const char *arguments, const char *begin)
{
    char all[512], line[512];
    unlink("x.svg");
    snprintf(all, sizeof all, "plot %s -o x.svg", arguments);
    snprintf(line, sizeof line, "speclab plot: %s", begin);
    spec_program_fails(all, SPEC_EXIT_USAGE, line);
    assert_int_not_equal(access("x.svg", F_OK), 0);
}

#endif
