/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/names.h"

#include "base/int_math.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { LENGTH_MAX = 64, ALL_SIZE = 100 };

static bool same_letter(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Returns the number of insertions, deletions, substitutions and transpositions of neighbours that
 * turn a into b, ignoring case. Keeps only three rows of the usual table. Both have at most
 * LENGTH_MAX bytes. */
static int edit_distance(const char *a, int n_a, const char *b, int n_b)
{
    int row[3][LENGTH_MAX + 1];
    int *before = row[0], *above = row[1], *here = row[2];
    for (int j = 0; j <= n_b; j++) above[j] = before[j] = j;
    for (int i = 1; i <= n_a; i++) {
        here[0] = i;
        for (int j = 1; j <= n_b; j++) {
            here[j] = spec_int_min(spec_int_min(above[j], here[j - 1]) + 1,
                                   above[j - 1] + !same_letter(a[i - 1], b[j - 1]));
            if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) &&
                same_letter(a[i - 2], b[j - 1])) {
                here[j] = spec_int_min(here[j], before[j - 2] + 1);
            }
        }
        int *const oldest = before;
        before = above;
        above = here;
        here = oldest;
    }
    return above[n_b];
}

/* The nearest candidate so far, its distance, and how many letters it shares at the beginning,
 * which decides between candidates at the same distance. */
typedef struct {
    const char *name;
    int distance, begins;
} nearest;

static void consider(nearest *best, const char *name, const char *candidate)
{
    const int n_name = (int)strnlen(name, LENGTH_MAX + 1),
              n = (int)strnlen(candidate, LENGTH_MAX + 1);
    if (n_name > LENGTH_MAX || n > LENGTH_MAX) return;
    const int longer = n > n_name ? n : n_name;
    const int distance = edit_distance(name, n_name, candidate, n);
    const bool is_slip = distance < longer && distance <= (longer > 3 ? (longer + 1) / 3 : 1);
    const bool is_beginning = n_name >= 4 && strncasecmp(name, candidate, (size_t)n_name) == 0;
    int begins = 0;
    while (name[begins] != '\0' && same_letter(name[begins], candidate[begins])) begins++;
    if ((!is_slip && !is_beginning) || distance > best->distance ||
        (distance == best->distance && begins <= best->begins))
        return;
    *best = (nearest){candidate, distance, begins};
}

/* Returns the command that lists the names of this kind. */
static const char *list_of(const char *what)
{
    static const char *const of_validate[] = {"fixture", "kind of sampler", "known mistake"};
    for (size_t i = 0; i < sizeof of_validate / sizeof of_validate[0]; i++)
        if (strcmp(what, of_validate[i]) == 0) return "speclab validate --list";
    return "speclab list";
}

/* Returns "they are a, b and c" if there are few names, else the command that lists them. */
static const char *all_names(char text[ALL_SIZE], spec_name_of *name_of, const char *what)
{
    size_t used = 0;
    int n = 0;
    while (name_of(n) != NULL) n++;
    for (int i = 0; i < n && used < ALL_SIZE; i++)
        used += (size_t)snprintf(text + used, ALL_SIZE - used, "%s%s",
                                 i == 0       ? "they are "
                                 : i == n - 1 ? " and "
                                              : ", ",
                                 name_of(i));
    if (n == 0 || used >= ALL_SIZE) snprintf(text, ALL_SIZE, "'%s' shows them all", list_of(what));
    return text;
}

int spec_names_find(spec_name_of *name_of, const char *name, const char *what, spec_error *error)
{
    nearest best = {NULL, INT_MAX, 0};
    for (int i = 0; name_of(i) != NULL; i++)
        if (strcmp(name_of(i), name) == 0) return i;
    for (int i = 0; name_of(i) != NULL; i++) consider(&best, name, name_of(i));
    if (best.name != NULL) {
        spec_fail(error, GSL_EINVAL, "no %s is named '%.60s'; did you mean '%s'?", what, name,
                  best.name);
    } else {
        char all[ALL_SIZE];
        spec_fail(error, GSL_EINVAL, "no %s is named '%.60s'; %s", what, name,
                  all_names(all, name_of, what));
    }
    return -1;
}

const char *spec_names_nearest(const char *name, const char *const *candidates)
{
    nearest best = {NULL, INT_MAX, 0};
    for (int i = 0; candidates[i] != NULL; i++) consider(&best, name, candidates[i]);
    return best.name;
}

const char *spec_names_meant(char buffer[SPEC_NAMES_MEANT_SIZE], const char *name,
                             const char *const *candidates, const char *otherwise)
{
    const char *near = spec_names_nearest(name, candidates);
    if (near != NULL) snprintf(buffer, SPEC_NAMES_MEANT_SIZE, "; did you mean '%s'?", near);
    else snprintf(buffer, SPEC_NAMES_MEANT_SIZE, "%s", otherwise);
    return buffer;
}

int spec_names_check(const char *const *opt_names, const char *const *candidates, const char *what,
                     const char *otherwise, spec_error *error)
{
    char meant[SPEC_NAMES_MEANT_SIZE];
    for (int i = 0; opt_names != NULL && opt_names[i] != NULL; i++) {
        int k = 0;
        while (candidates[k] != NULL && strcmp(candidates[k], opt_names[i]) != 0) k++;
        if (candidates[k] == NULL)
            return spec_fail(error, GSL_EINVAL, "no %s is named '%.60s'%s", what, opt_names[i],
                             spec_names_meant(meant, opt_names[i], candidates, otherwise));
    }
    return GSL_SUCCESS;
}
