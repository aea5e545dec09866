/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

enum { USUAL = 80, USUAL_LINES = 24, LEAST = 20, MOST = 10000 };

int spec_terminal_columns(int descriptor, int given)
{
    struct winsize size;
    if (!isatty(descriptor)) return 0;
    if (given <= 0)
        given = ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : USUAL;
    return given < LEAST ? LEAST : given > MOST ? MOST : given;
}

int spec_terminal_lines(int descriptor)
{
    struct winsize size;
    if (!isatty(descriptor)) return 0;
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : USUAL_LINES;
}
