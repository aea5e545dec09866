/* SPDX-License-Identifier: GPL-3.0-or-later */
/* figure_words: what figures call columns and values: axis titles, symbols, legend entries.
 * They follow docs/notation.md. A column that is not in the table keeps its own name. */
#ifndef SPECLAB_FIGURE_WORDS_H
#define SPECLAB_FIGURE_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the title of an axis, such as "draft length K (tokens)" for K, or "latency (ms)" for
 * latency_ms. It explains a suffix such as _theory. Writes into buffer (size), which it returns. */
const char *spec_figure_words_axis(char *buffer, size_t size, const char *column);

/* Returns what a legend calls a column: "α" for alpha, "speed-up, theory" for speedup_theory. */
const char *spec_figure_words_symbol(char *buffer, size_t size, const char *column);

/* Returns what a legend calls a value of a column: "α = 0.7" for a number. A text appears alone; a
 * spec such as tree?n=2&siblings=top becomes "tree, n = 2, siblings = top". A rule that is not
 * lossless is marked: "hsd (lossy)". The caller frees it; NULL: out of memory. */
char *spec_figure_words_value(const char *column, const char *value, bool is_number);

/* Returns whether the column has a formula's values for another column, which we draw as a line
 * without points. */
bool spec_figure_words_formula(const char *column);

/* Returns whether 1 separates gain from loss in this column, as for a speed-up. */
bool spec_figure_words_ratio(const char *column);

#endif
