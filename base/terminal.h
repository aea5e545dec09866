/* SPDX-License-Identifier: GPL-3.0-or-later */
/* terminal: the size of the terminal behind a file descriptor. */
#ifndef SPECLAB_TERMINAL_H
#define SPECLAB_TERMINAL_H

/* `given` if that is positive, else what the terminal reports, else 80, within 20 to 10000. 0 if
 * the descriptor is no terminal: its text is never wrapped. */
int spec_terminal_columns(int descriptor, int given);

/* Returns the number of its lines, or 24 if it is unknown; 0 if this is not a terminal. */
int spec_terminal_lines(int descriptor);

#endif
