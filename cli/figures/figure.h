/* figure: a result's figure, drawn by gnuplot from a script of plots/.
 * The result names its script in its provenance ("# figure: NAME"). gnuplot runs as a child process; nothing of the
 * file names is interpreted by a shell or by gnuplot. */
#ifndef SPECLAB_FIGURE_H
#define SPECLAB_FIGURE_H

#include "speclab/status.h"

#include <stddef.h>

/* The figure that the CSV at `csv_path` asks for, in `name` (size); empty if it asks for none. */
int spec_figure_name(char *name, size_t size, const char *csv_path, spec_error *error);

/* Does the path end as figures do: .svg, .png or .pdf? Else GSL_EINVAL. */
int spec_figure_check_ending(const char *path, spec_error *error);

/* Can a file be written there: a figure, of which gnuplot would say so in its own words, or a result, before the work?
 * Leaves none behind. GSL_EFAILED. */
int spec_figure_check_writable(const char *path, spec_error *error);

/* Draw plots/NAME.gp over the CSV into `out_path` (.svg, .png or .pdf). GSL_EFAILED with gnuplot's first complaint. */
int spec_figure_draw(const char *name, const char *csv_path, const char *out_path, spec_error *error);

#endif
