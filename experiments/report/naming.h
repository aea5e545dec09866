/* SPDX-License-Identifier: GPL-3.0-or-later */
/* naming: short names of grid values for sentences: "6-grams of prose.txt", "0.5, 0.7 and 0.9".
 * Titles, labels and reports use these names, so that they name only numbers and files that were
 * run. The caller owns the grid. */
#ifndef SPECLAB_NAMING_H
#define SPECLAB_NAMING_H

#include "experiments/grid.h"

/* Returns the short name of one value. A path loses its folders: "texts/a.txt" is "a.txt". A model
 * spec also loses the settings of sampling (temperature and filters). A file of weights or rows
 * loses its kind: "gguf:m/big.gguf?temperature=0" is "big.gguf". An n-gram model is "6-grams of
 * a.txt" (of bytes) or "4-grams of words of a.txt". The caller frees it; NULL if out of memory. */
char *spec_naming_short(const char *value);

/* Maximum values that a list names: in a title, and in any list. */
enum { SPEC_NAMING_TITLE = 4, SPEC_NAMING_LIST_MAX = 8 };

/* Returns the distinct values among n, in order, as a list of up to `listed` (at most
 * SPEC_NAMING_LIST_MAX): "0.1"; "0.5, 0.7 and 0.9". If there are more, numbers give their range, "1
 * to 12", and other values their count, "9 values". Empty values are skipped. Values have their
 * short names; in Markdown they appear as typed, in backticks unless they are numbers, if the list
 * can name all. The caller frees it; NULL if memory runs out. */
char *spec_naming_list(char *const *values, int n, int listed, bool markdown);

/* Replaces every {axis} of `text` by the names of its values. Returns GSL_EINVAL for an open brace
 * or an unknown axis, naming the nearest. The caller frees *ret_text. */
int spec_naming_expand(char **ret_text, const spec_grid *grid, const char *text, spec_error *error);

#endif
