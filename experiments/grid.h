/* SPDX-License-Identifier: GPL-3.0-or-later */
/* grid: named axes of values and their product; the last axis runs fastest.
 * A value is text; numbers are parsed when they are used. The random stream of a point is hashed
 * from the point's own parameters, so adding a point does not change the others. The grid owns its
 * strings. */
#ifndef SPECLAB_GRID_H
#define SPECLAB_GRID_H

#include "speclab/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Maximum axes and maximum points of a grid. */
enum { SPEC_AXES_MAX = 64 };
#define SPEC_GRID_POINTS_MAX 10000000ull

/* Maximum points of a zipped grid made from a product. */
enum { SPEC_GRID_ZIPPED_MAX = 100000 };

typedef struct {
    char *name;
    char **value;
    int n;
    bool label; /* a column of the result that is not part of the point's identity */
    char **origin; /* (n) values before their {axis} were replaced; NULL: none had any */
} spec_axis;

typedef struct {
    int n_axes;
    spec_axis *axis;
    bool zipped; /* not a product: point i takes value i of every axis */
} spec_grid;

void spec_grid_free(spec_grid *grid);

/* Adds an axis of n >= 1 values, which are copied. Returns GSL_ENOMEM, or GSL_EINVAL if there are
 * too many axes. */
int spec_grid_add(spec_grid *grid, const char *name, const char *const *values, int n, bool label);

/* Adds an axis from a list of numbers. Fails as spec_number_list_parse does, and with GSL_EINVAL if
 * there are too many axes. */
int spec_grid_add_numbers(spec_grid *grid, const char *name, const char *list, spec_error *error);

/* Returns the number of points; 0 for a grid without axes, or with an empty one. Saturates at
 * UINT64_MAX. */
uint64_t spec_grid_size(const spec_grid *grid);

spec_axis *spec_grid_axis(const spec_grid *grid, const char *name); /* NULL: none */

/* Returns the value of axis number `axis` at a point. */
const char *spec_grid_axis_value(const spec_grid *grid, uint64_t point, int axis);

/* Returns the value of an axis at a point, or NULL if there is no such axis. */
const char *spec_grid_value(const spec_grid *grid, uint64_t point, const char *name);

/* Crosses zipped points with a product. The product's axes run fastest, and the grid stays zipped.
 * A product without axes changes nothing. Returns GSL_EINVAL if both have an axis, or for more than
 * SPEC_GRID_ZIPPED_MAX points. */
int spec_grid_cross(spec_grid *grid, const spec_grid *product, spec_error *error);

/* Removes the axis of that name, if there is one. */
void spec_grid_remove(spec_grid *grid, const char *name);

/* If zipped points are equal in every axis, keeps only the first. */
void spec_grid_merge_equal(spec_grid *grid);

/* Returns the identity that a random stream is hashed from: "K=5;alpha=0.8". It contains all axes
 * that are neither labels nor in opt_without (names, NULL-terminated), sorted by name. The caller
 * frees it; NULL: out of memory. */
char *spec_grid_identity(const spec_grid *grid, uint64_t point, const char *const *opt_without);

#endif
