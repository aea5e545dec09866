/* SPDX-License-Identifier: GPL-3.0-or-later */
/* built: where a test finds what was built for it.
 * Every test program is below build/<config>/tests. That is the last folder `tests` in its path:
 * the sources may be in another one. */
#ifndef SPECLAB_TESTS_BUILT_H
#define SPECLAB_TESTS_BUILT_H

#include <limits.h>
#include <string.h>
#include <unistd.h>

/* Writes the path of `name` below that folder, as in "clients/token_client"; returns it. */
static inline char *spec_built_path(char ret[PATH_MAX], const char *name)
{
    const ssize_t n = readlink("/proc/self/exe", ret, PATH_MAX - 128);
    ret[n > 0 ? n : 0] = '\0';
    char *end = ret;
    for (char *at = ret; (at = strstr(at, "/tests/")) != NULL; at++) end = at;
    strcpy(end, "/tests/");
    return strcat(ret, name);
}

#endif
