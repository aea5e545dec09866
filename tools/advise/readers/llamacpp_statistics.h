/* SPDX-License-Identifier: GPL-3.0-or-later */
/* llamacpp_statistics: the lines "statistics draft-mtp: #calls(b,g,a) = ..." of llama-server.
 * After each request comes one line per drafting method, with counts since the server started. If
 * the log also has the requests, the lines show which methods drafted for a request, and in how
 * many rounds. */
#ifndef SPECLAB_LLAMACPP_STATISTICS_H
#define SPECLAB_LLAMACPP_STATISTICS_H

#include "tools/advise/log_format.h"

enum { SPEC_LLAMACPP_WAYS = 8 }; /* drafting methods of a server, at most */

typedef struct {
    uint64_t label;
    spec_observation total; /* totals of the newest line */
    spec_observation since; /* counts since the previous line; NaN: not known */
    spec_observation first; /* a total that waits for the next one */
    bool seen, waits;
    bool of_request; /* `since` belongs to the request that is being printed */
} spec_llamacpp_way;

typedef struct {
    int n;
    spec_llamacpp_way way[SPEC_LLAMACPP_WAYS];
    bool requests; /* the log has requests, so totals are not handed over */
} spec_llamacpp_statistics;

/* What the lines after a request say about it. */
typedef struct {
    int n;                                       /* methods that drafted; 0: not known */
    spec_observation of_way[SPEC_LLAMACPP_WAYS]; /* (n) label: 0 if the server has only one
                                                  * method */
} spec_llamacpp_request;

bool spec_llamacpp_statistics_concerns(const char *bytes, size_t n);

/* Notes that a server starts. */
void spec_llamacpp_statistics_restart(spec_llamacpp_statistics *statistics);

/* Reads a line. If the log has no requests, totals go to the record's observer; the first total of
 * a method waits, and goes together with the second. */
int spec_llamacpp_statistics_read(spec_llamacpp_statistics *statistics, spec_log_learned *learned,
                                  const spec_log_record *record, spec_error *error);

/* Finds which part of the statistics belongs to a printed request. The counts since the
 * previous lines belong to it if they sum to its own; they do not if other requests ran at the same
 * time. */
void spec_llamacpp_statistics_request(spec_llamacpp_request *ret,
                                      spec_llamacpp_statistics *statistics, double drafted,
                                      double accepted);

/* At the end of the file, hands over totals that wait, unless the log has requests. */
int spec_llamacpp_statistics_end(spec_llamacpp_statistics *statistics, const spec_log_record *last,
                                 spec_error *error);

#endif
