/* SPDX-License-Identifier: GPL-3.0-or-later */
/* terminal: finds the size of the terminal behind a file descriptor. */
#ifndef SPECLAB_TERMINAL_H
#define SPECLAB_TERMINAL_H

/* Returns `given` if it is positive; otherwise the width that the terminal reports, or 80 if it
 * reports none; always within 20 to 10000. Returns 0 if the descriptor is not a terminal, whose
 * text is never wrapped. */
int spec_terminal_columns(int descriptor, int given);

/* Returns how many lines it has, or 24 if that is unknown; 0 if it is not a terminal. */
int spec_terminal_lines(int descriptor);

#endif
