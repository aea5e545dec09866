/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers questions of the page on this machine: a question per line of standard input, an answer
 * per line. In a question, a tab is the end of a line (web/web.h). */
#include "web/web.h"

#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    web_lab *web = web_open();
    char *line = NULL;
    size_t size = 0;
    ssize_t n;
    if (web == NULL) return 2;
    while ((n = getline(&line, &size, stdin)) > 0) {
        for (ssize_t i = 0; i < n; i++)
            if (line[i] == '\t' || line[i] == '\n') line[i] = line[i] == '\t' ? '\n' : '\0';
        puts(web_ask(web, line));
    }
    free(line);
    web_close(web);
    return 0;
}
