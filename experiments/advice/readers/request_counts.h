/* SPDX-License-Identifier: GPL-3.0-or-later */
/* request_counts: the counts of a response, and the identities that they meet.
 * Engines give rounds, accepted and drafted tokens, and rounds by their accepted tokens, under
 * names of their own. */
#ifndef SPECLAB_REQUEST_COUNTS_H
#define SPECLAB_REQUEST_COUNTS_H

#include "experiments/advice/readers/json_member.h"

#include <stdbool.h>

/* Members with these counts; a key that the engine has no name for is NULL and absent. */
typedef struct {
    spec_json_member rounds, accepted, drafted, emitted;
    spec_json_member histogram; /* [i]: rounds that accepted i draft tokens */
    spec_json_member K;         /* the most draft tokens of a round */
    bool widths_vary;           /* drafted is rounds times the last width: it proves nothing */
} spec_request_counts;

/* spec_log_bad unless rounds, accepted and drafted tokens are all given. */
int spec_request_counts_complete(const spec_request_counts *counts, const spec_log_record *record,
                                 spec_error *error);

/* Fill K, rounds, drafted, accepted, emitted and passed of an observation, whose other fields stay.
 * Absent members leave what they give unknown. spec_log_bad for counts that contradict one another:
 * the histogram's sums, its length and K, accepted and drafted tokens, drafted tokens and K. */
int spec_request_counts_read(spec_observation *observation, const spec_request_counts *counts,
                             const spec_log_record *record, spec_error *error);

/* Lists of accepted and drafted tokens, an entry per round: spec_log_bad if their lengths or sums
 * are not those of the observation, or a round accepts more than it drafted. */
int spec_request_counts_per_step(const spec_observation *observation,
                                 const spec_json_member *accepted, const spec_json_member *drafted,
                                 const spec_log_record *record, spec_error *error);

/* Tokens of the output, and from them the passes of the target: the first token comes from the
 * prefill, and a pass adds one token to the accepted ones. Passes stay NaN if fewer than rounds,
 * where the last round was cut. */
void spec_request_counts_emitted(spec_observation *observation, double emitted);

/* Hand over a response whose engine counts its tokens, but not always its rounds. Tokens that are
 * not accepted drafts have a pass each; without counts of drafts, all tokens have. spec_log_bad for
 * one of accepted and drafted without the other, and for more accepted than emitted. */
int spec_request_counts_hand_over(spec_observation *observation, const spec_request_counts *counts,
                                  const spec_json_place *place, spec_error *error);

/* Is this a part of a streamed response before its last? Such parts repeat the counts so far. */
bool spec_request_counts_unfinished(spec_json_part response);

#endif
