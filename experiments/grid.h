/* grid: named lists of values and their product, in the order they were given, the last one running fastest.
 * A value is text; numbers are parsed when asked for. A grid point's random stream comes from a hash of its own parameters, so adding a
 * point changes no other. The grid owns its strings. */
#ifndef SPECLAB_GRID_H
#define SPECLAB_GRID_H

#include "speclab/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    char *name;
    char **value;
    int n;
    bool label; /* carried into the result, but not part of the point's identity (its random stream) */
} spec_axis;

typedef struct {
    int n_axes;
    spec_axis *axis;
    bool zipped; /* not a product: point i takes value i of every axis */
} spec_grid;

void spec_grid_free(spec_grid *grid);
int spec_grid_add(spec_grid *grid, const char *name, const char *const *values, int n, bool label);

/* "0.5,0.7" or "lo:hi:step" (hi included within rounding, step != 0), or both mixed; each number printed so that it reads back the same.
 * GSL_EINVAL, naming the list, for empty ranges, over a million values, or what is no number. */
int spec_grid_add_numbers(spec_grid *grid, const char *name, const char *list, spec_error *error);

uint64_t spec_grid_size(const spec_grid *grid);

/* The value of an axis at point i, or NULL where there is no such axis. */
const char *spec_grid_value(const spec_grid *grid, uint64_t point, const char *name);

/* "alpha=0.8;K=5" of all axes that are not labels, sorted by name: the identity a stream is hashed from. Caller frees. */
char *spec_grid_identity(const spec_grid *grid, uint64_t point);

#endif
