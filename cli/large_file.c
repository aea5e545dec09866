/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/large_file.h"

#include "base/clock.h"
#include "cli/usage.h"

#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <sys/statvfs.h>

#define LARGE 50e6
enum { SIZE_TEXT = 24 };

/* Returns "950 B" or "12.3 MB", in powers of 1000. */
static const char *size_text(char text[SIZE_TEXT], double bytes)
{
    static const char *const unit[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    int i = 0;
    for (; bytes >= 999.5 && i < 5; i++) bytes /= 1000.0;
    snprintf(text, SIZE_TEXT, "%.3g %s", bytes, unit[i]);
    return text;
}

/* Returns the free bytes for a file of that name; infinity if the system does not report them. */
static double free_bytes(const char *path)
{
    char copy[PATH_MAX];
    struct statvfs disk;
    snprintf(copy, sizeof copy, "%s", path);
    return statvfs(dirname(copy), &disk) == 0 ? (double)disk.f_bavail * (double)disk.f_frsize
                                              : INFINITY;
}

int spec_large_file_announce(const char *verb, const char *path, double bytes, double seconds,
                             const char *opt_less, spec_error *error)
{
    char size[SIZE_TEXT], space[SIZE_TEXT], time[SPEC_CLOCK_TEXT];
    const char *between = opt_less != NULL ? "; " : "", *less = opt_less != NULL ? opt_less : "";
    const double there = free_bytes(path);
    size_text(size, bytes);
    if (bytes > there)
        return spec_fail(error, GSL_EFAILED,
                         "%.300s: about %s are needed, but %s are free on its disk%s%s", path, size,
                         size_text(space, there), between, less);
    if (bytes < LARGE) return GSL_SUCCESS;
    if (seconds >= 0.0)
        spec_usage_say(verb, "%s will have about %s and take about %s%s%s", path, size,
                       spec_clock_text(time, seconds), between, less);
    else spec_usage_say(verb, "%s will have about %s%s%s", path, size, between, less);
    return GSL_SUCCESS;
}
