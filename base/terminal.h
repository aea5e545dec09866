/* SPDX-License-Identifier: GPL-3.0-or-later */
/* terminal: the width of the terminal behind a file descriptor, in columns. */
#ifndef SPECLAB_TERMINAL_H
#define SPECLAB_TERMINAL_H

/* `given` if that is positive, else what the terminal reports, else 80, within 20 to 10000. 0 if
 * the descriptor is no terminal: its text is never wrapped. */
int spec_terminal_columns(int descriptor, int given);

#endif
