/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/progress_reports.h"

#include "base/progress.h"

#include <stddef.h>

void spec_progress_reports_points(void *context, double done, uint64_t total)
{
    (void)context;
    spec_progress_report(done, (double)total, total > 1 ? "points" : NULL, NULL);
}

void spec_progress_reports_share(void *context, double share)
{
    (void)context;
    spec_progress_report(share, 1.0, NULL, NULL);
}

void spec_progress_reports_places(void *context, uint64_t done, uint64_t total)
{
    (void)context;
    spec_progress_report((double)done, (double)total, "positions", NULL);
}

void spec_progress_reports_mistakes(void *context, const char *mutant, int done, int total)
{
    (void)context;
    spec_progress_report(done, total, "known mistakes", mutant);
}
