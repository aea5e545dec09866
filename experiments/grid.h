/* grid: named lists of values and their product, in the order they were given, the last one running fastest.
 * A value is text; numbers are parsed when asked for. A grid point's random stream comes from a hash of its own
 * parameters, so adding a point changes no other. The grid owns its strings. */
#ifndef SPECLAB_GRID_H
#define SPECLAB_GRID_H

#include "speclab/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Most axes, most values of one axis, and most points of a grid. */
enum { SPEC_AXES_MAX = 64, SPEC_AXIS_VALUES_MAX = 1000000 };
#define SPEC_GRID_POINTS_MAX 10000000ull

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

/* Add an axis of n >= 1 values, which are copied. GSL_ENOMEM or, for an axis too many, GSL_EINVAL. */
int spec_grid_add(spec_grid *grid, const char *name, const char *const *values, int n, bool label);

/* "0.5,0.7" or "lo:hi:step" (hi included within rounding, step != 0; 1 where it is left out between whole numbers), or
 * both mixed; each number printed so that it reads back the same (those of a range are rounded to 12 digits, so that
 * 0.5:0.7:0.05 gives 0.65 and not a neighbour). GSL_EINVAL, naming the list, for empty ranges, over a million values,
 * or what is no number. */
int spec_grid_add_numbers(spec_grid *grid, const char *name, const char *list, spec_error *error);

/* A finite number, printed with the fewest digits that read back the same. Returns buffer. */
enum { SPEC_NUMBER_SIZE = 32 };
const char *spec_grid_number(double value, char buffer[SPEC_NUMBER_SIZE]);

/* The number of points; 0 for a grid without axes, or with one that is empty. Saturates at UINT64_MAX. */
uint64_t spec_grid_size(const spec_grid *grid);

spec_axis *spec_grid_axis(const spec_grid *grid, const char *name); /* NULL: none */

/* The value of an axis at point i, or NULL where there is no such axis. */
const char *spec_grid_value(const spec_grid *grid, uint64_t point, const char *name);

/* Zipped points times a product: every point with every point of `product`, whose axes run fastest; the grid stays
 * zipped. Nothing happens for a product without axes. GSL_EINVAL for an axis in both and for over a hundred thousand
 * points. */
int spec_grid_cross(spec_grid *grid, const spec_grid *product, spec_error *error);

/* Replace {axis} within the values by that point's value of the axis; a product becomes zipped, and an axis that others
 * refer to becomes a label. Nothing happens where there are no braces. GSL_EINVAL for unknown axes (naming the
 * nearest), for references to axes that themselves refer, and for grids of over a hundred thousand points. */
int spec_grid_expand(spec_grid *grid, spec_error *error);

/* "K=5;alpha=0.8": all axes that are not labels, nor among opt_without (names, NULL-terminated), sorted by name: the
 * identity a stream is hashed from. Caller frees; NULL: no memory. */
char *spec_grid_identity(const spec_grid *grid, uint64_t point, const char *const *opt_without);

#endif
