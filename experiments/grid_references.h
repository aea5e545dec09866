/* SPDX-License-Identifier: GPL-3.0-or-later */
/* grid_references: values of a grid's axes that name other axes in braces, as in "K={K}".
 * Expanding replaces the braces by the value that the point has on that axis. */
#ifndef SPECLAB_GRID_REFERENCES_H
#define SPECLAB_GRID_REFERENCES_H

#include "experiments/grid.h"

/* Replaces {axis} in each point's values by the point's value of that axis. A product becomes
 * zipped, and an axis that others refer to becomes a label. In a label, {axis} becomes the short
 * name of the value (experiments/report/naming.h), and the axis that it refers to stays as it is. A
 * grid without braces is left unchanged. Returns GSL_EINVAL for unknown axes (naming the nearest),
 * for references to axes that have references themselves, and for grids of more than
 * SPEC_GRID_ZIPPED_MAX points. */
int spec_grid_references_expand(spec_grid *grid, spec_error *error);

/* Returns whether a value of any axis contains {name}. */
bool spec_grid_references_has(const spec_grid *grid, const char *name);

#endif
