/* SPDX-License-Identifier: GPL-3.0-or-later */
/* llamacpp_statistics: the lines "statistics draft-mtp: #calls(b,g,a) = ..." of llama-server.
 * One line for each way to draft follows each request, with counts since the server started. Where
 * the log has the requests themselves, the lines add the time to draft alone. */
#ifndef SPECLAB_LLAMACPP_STATISTICS_H
#define SPECLAB_LLAMACPP_STATISTICS_H

#include "experiments/advice/log_format.h"

enum { SPEC_LLAMACPP_WAYS = 8 }; /* to draft, of a server */

typedef struct {
    uint64_t label;
    double draft_seconds;   /* NaN: not printed */
    spec_observation first; /* a total that waits */
    bool seen, waits;
} spec_llamacpp_way;

typedef struct {
    int n;
    spec_llamacpp_way way[SPEC_LLAMACPP_WAYS];
    bool requests; /* the log has requests: totals are not handed over */
} spec_llamacpp_statistics;

bool spec_llamacpp_statistics_concerns(const char *bytes, size_t n);

/* A server starts. */
void spec_llamacpp_statistics_restart(spec_llamacpp_statistics *statistics);

/* Read a line. *ret_draft_seconds: since the line of this way before; NaN if not known. Without
 * requests, totals go to the record's observer, the first of a way with the second. */
int spec_llamacpp_statistics_read(spec_llamacpp_statistics *statistics, double *ret_draft_seconds,
                                  spec_log_learned *learned, const spec_log_record *record,
                                  spec_error *error);

/* The file ends: hand over totals that wait, unless the log has requests. */
int spec_llamacpp_statistics_end(spec_llamacpp_statistics *statistics, const spec_log_record *last,
                                 spec_error *error);

#endif
