/* SPDX-License-Identifier: GPL-3.0-or-later */
/* drive: measures what speculation gains at a live server, by asking it for texts.
 * Passes over the draft lengths go there and back, 0,1,2,4 and 4,2,1,0: so K = 0 comes first and
 * last, and a steady drift cancels in a pair of passes. A baseline that drafts is refused, and so
 * is a length that does not. docs/drive.md. */
#ifndef SPECLAB_DRIVE_H
#define SPECLAB_DRIVE_H

#include "tools/live/drive_blocks.h"
#include "tools/live/streams.h"

typedef struct {
    const char *url, *opt_key, *prompts;
    const char *opt_launch;   /* starts the server; {K} is the draft length. NULL: it is already
                               * running */
    const char *logs;         /* folder for what launched servers print */
    int K[SPEC_DRIVE_K], n_K; /* ascending; K[0] is 0, and n_K >= 2 */
    int level[SPEC_DRIVE_LEVELS], n_levels; /* requests at a time, ascending */
    int passes;
    int requests;   /* in a block; 0: each prompt once, but at least twice the concurrency */
    int warm_up;    /* uncounted requests before each block, as a multiple of the concurrency */
    double startup; /* how long we wait for a launched server to answer, seconds */
    spec_live_sampling sampling;
    uint64_t seed;
    spec_http_work how;      /* time-outs, tries, stop */
    const char *opt_capture; /* file of the blocks */
    bool resume, force;
    void (*progress)(void *self, const char *what, double done, double all);
    void *self;
} spec_drive_plan;

typedef struct {
    spec_live_server server; /* zeroed if we never connected; from --capture, only dialect and
                              * model */
    json_t *prompts;
    int requests[SPEC_DRIVE_LEVELS]; /* in a block, by level */
    spec_drive_blocks blocks;
    bool stopped;
    double seconds;
} spec_drive_result;

/* Measures all draft lengths and concurrencies. If *plan->how.opt_stop is set, or after a failure,
 * the result has the blocks that were finished. Returns GSL_ESANITY if a server drafts at K = 0, or
 * does not draft at K > 0, and otherwise the errors of http.h, launched.h and drive_blocks.h. Must
 * be freed even on failure. */
int spec_drive(spec_drive_result *ret, const spec_drive_plan *plan, spec_error *error);
void spec_drive_result_free(spec_drive_result *result);

/* Returns the category of a prompt; "": it has none. */
const char *spec_drive_category(const json_t *prompts, int i);

/* Checks the drafts of a block, as above. `launched` chooses the hint in the message. */
int spec_drive_check(const spec_drive_block *block, bool launched, spec_error *error);

#endif
