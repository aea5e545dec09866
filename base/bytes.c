/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/bytes.h"

#include <stdio.h>

const char *spec_bytes_text(char *text, size_t bytes)
{
    static const char *const unit[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    int i = 0;
    for (; value >= 999.5 && i < 4; i++) value /= 1024;
    snprintf(text, SPEC_BYTES_SIZE, i < 4 ? "%.3g %s" : "%.0f %s", value, unit[i]);
    return text;
}
