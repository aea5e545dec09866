/* SPDX-License-Identifier: GPL-3.0-or-later */
/* llamacpp_statistics: the lines "statistics draft-mtp: #calls(b,g,a) = ..." of llama-server.
 * One line for each way to draft follows each request, with counts since the server started. Where
 * the log has the requests themselves, the lines tell which ways drafted for a request, in how many
 * rounds, and for how long. */
#ifndef SPECLAB_LLAMACPP_STATISTICS_H
#define SPECLAB_LLAMACPP_STATISTICS_H

#include "experiments/advice/log_format.h"

enum { SPEC_LLAMACPP_WAYS = 8 }; /* to draft, of a server */

typedef struct {
    uint64_t label;
    spec_observation total; /* of the newest line */
    spec_observation since; /* the line before; NaN: not known */
    spec_observation first; /* a total that waits */
    bool seen, waits;
    bool of_request; /* `since` is of the request that is being printed */
} spec_llamacpp_way;

typedef struct {
    int n;
    spec_llamacpp_way way[SPEC_LLAMACPP_WAYS];
    bool requests; /* the log has requests: totals are not handed over */
} spec_llamacpp_statistics;

/* The lines behind a request, on it alone. */
typedef struct {
    int n;                                       /* ways that drafted; 0: not known */
    spec_observation of_way[SPEC_LLAMACPP_WAYS]; /* (n) label: 0 where the server has one way */
    double draft_seconds;                        /* NaN: not printed */
} spec_llamacpp_request;

bool spec_llamacpp_statistics_concerns(const char *bytes, size_t n);

/* A server starts. */
void spec_llamacpp_statistics_restart(spec_llamacpp_statistics *statistics);

/* Read a line. Without requests, totals go to the record's observer, the first of a way with the
 * second. */
int spec_llamacpp_statistics_read(spec_llamacpp_statistics *statistics, spec_log_learned *learned,
                                  const spec_log_record *record, spec_error *error);

/* A request is printed: its part of the statistics, if they sum to its counts. With other requests
 * at the same time they do not. */
void spec_llamacpp_statistics_request(spec_llamacpp_request *ret,
                                      spec_llamacpp_statistics *statistics, double drafted,
                                      double accepted);

/* The file ends: hand over totals that wait, unless the log has requests. */
int spec_llamacpp_statistics_end(spec_llamacpp_statistics *statistics, const spec_log_record *last,
                                 spec_error *error);

#endif
