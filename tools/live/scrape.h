/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scrape: the counters of speculation that a server reports at /metrics.
 * The reader is that of `advise` (tools/advise/readers/); counts are added up over all engines and
 * models in the text. */
#ifndef SPECLAB_SCRAPE_H
#define SPECLAB_SCRAPE_H

#include "tools/advise/observation.h"
#include "tools/live/dialects.h"

/* Counts since the server started. */
typedef struct {
    double rounds, drafted, accepted;    /* 0 for a server that does not speculate */
    int depths;                          /* entries of passed; 0: not counted */
    double passed[SPEC_OBSERVED_DEPTHS]; /* rounds that accepted the draft token of depth i + 1 */
} spec_live_counts;

/* Reads the counts from the text of /metrics. Returns GSL_EINVAL if it has none of the engine's
 * samples, or a malformed one. */
int spec_live_counts_read(spec_live_counts *ret, const char *text, const char *engine,
                          spec_error *error);

/* Asks the server for its counts. The message begins with the URL. */
int spec_live_counts_ask(spec_live_counts *ret, const spec_live_server *server,
                         const spec_http_work *how, spec_error *error);

/* Returns what was counted between two scrapes. Returns false if the counts have fallen, because
 * the server was restarted. */
bool spec_live_counts_between(spec_live_counts *ret, const spec_live_counts *from,
                              const spec_live_counts *to);

#endif
