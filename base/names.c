#include "base/names.h"

#include "base/least.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LENGTH_MAX = 64 };

static bool same_letter(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Insertions, deletions, substitutions and transpositions of neighbours that turn a into b, whatever the case. Three
 * rows of the usual table are enough. Both are at most LENGTH_MAX long. */
static int edit_distance(const char *a, int n_a, const char *b, int n_b)
{
    int row[3][LENGTH_MAX + 1];
    int *before = row[0], *above = row[1], *here = row[2];
    for (int j = 0; j <= n_b; j++) above[j] = before[j] = j;
    for (int i = 1; i <= n_a; i++) {
        here[0] = i;
        for (int j = 1; j <= n_b; j++) {
            here[j] = spec_least(spec_least(above[j], here[j - 1]) + 1,
                                 above[j - 1] + !same_letter(a[i - 1], b[j - 1]));
            if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1])) {
                here[j] = spec_least(here[j], before[j - 2] + 1);
            }
        }
        int *const oldest = before;
        before = above;
        above = here;
        here = oldest;
    }
    return above[n_b];
}

/* The nearest candidate so far, and how far it is. */
typedef struct {
    const char *name;
    int distance;
} nearest;

static void consider(nearest *best, const char *name, const char *candidate)
{
    const int n_name = (int)strnlen(name, LENGTH_MAX + 1), n = (int)strnlen(candidate, LENGTH_MAX + 1);
    if (n_name > LENGTH_MAX || n > LENGTH_MAX) return;
    const int longer = n > n_name ? n : n_name;
    const int distance = edit_distance(name, n_name, candidate, n);
    if (distance >= longer || distance > (longer > 3 ? longer / 3 : 1) || distance >= best->distance) return;
    *best = (nearest){candidate, distance};
}

int spec_names_find(spec_name_of *name_of, const char *name, const char *what, spec_error *error)
{
    nearest best = {NULL, INT_MAX};
    const char *line;
    for (int i = 0; (line = name_of(i)) != NULL; i++) {
        if (strcmp(line, name) == 0) return i;
        consider(&best, name, line);
    }
    if (best.name != NULL) {
        spec_fail(error, GSL_EINVAL, "no %s is named '%.60s'; did you mean '%s'?", what, name, best.name);
    } else {
        spec_fail(error, GSL_EINVAL, "no %s is named '%.60s'; speclab list shows them all", what, name);
    }
    return -1;
}

const char *spec_names_nearest(const char *name, const char *const *candidates)
{
    nearest best = {NULL, INT_MAX};
    for (int i = 0; candidates[i] != NULL; i++) consider(&best, name, candidates[i]);
    return best.name;
}

const char *spec_names_meant(char buffer[SPEC_NAMES_MEANT_SIZE], const char *name, const char *const *candidates,
                             const char *otherwise)
{
    const char *near = spec_names_nearest(name, candidates);
    if (near != NULL) snprintf(buffer, SPEC_NAMES_MEANT_SIZE, "; did you mean '%s'?", near);
    else snprintf(buffer, SPEC_NAMES_MEANT_SIZE, "%s", otherwise);
    return buffer;
}
