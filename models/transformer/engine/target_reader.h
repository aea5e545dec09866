/* SPDX-License-Identifier: GPL-3.0-or-later */
/* target_reader: the code shared by drafts that read the hidden states of a transformer.
 * They share the session of their target or open their own, which a reader owns. Their vocabulary
 * may be smaller than the target's. */
#ifndef SPECLAB_TARGET_READER_H
#define SPECLAB_TARGET_READER_H

#include "base/settings.h"
#include "models/transformer/engine/transformer.h"

typedef struct {
    const spec_transformer *target;
    const int *tap; /* (n_taps) the numbers of layers after which states are read */
    int n_taps;
    spec_session own; /* opened when it is needed and none is shared */
    void *session;    /* the data of the target's session that is read, or NULL */
} spec_target_reader;

/* Finds the transformer behind a model, through its wrappers. Returns GSL_EINVAL, with one line
 * that names the kind of draft, if there is no transformer or its device keeps no states. */
int spec_target_reader_find(const spec_transformer **ret_target, const spec_settings *settings,
                            const spec_model *target, spec_error *error);

/* Reads this session from now on. Returns false if the session is of another model or cannot keep
 * the states, or if the reader has one already. */
bool spec_target_reader_share(spec_target_reader *reader, const spec_model *target,
                              void *target_session);

/* Makes the target process a text, begin of text included, except for its last token. Then the
 * hidden states at positions 0..n_text-2 are available. */
int spec_target_reader_follow(spec_target_reader *reader, const int *text, int n_text,
                              spec_error *error);
void spec_target_reader_free(spec_target_reader *reader); /* may be zeroed */

/* Returns the depth of a node in the tree of a request, from 1; 0 for the root, -1. */
int spec_target_reader_depth(const spec_score_request *request, int node);

/* Returns GSL_EINVAL if a path ends beyond the target's context after a text of n_text tokens, or
 * if rows are beyond the draft's reach. */
int spec_target_reader_check(const spec_target_reader *reader, const spec_model *draft,
                             const char *path, int n_text, const spec_score_request *request,
                             spec_error *error);

/* Does the same as spec_forward_rows, but makes rows of `vocab` tokens: row k of the output is
 * token opt_token[k], or k if that is NULL. `few` (SPEC_COLUMNS_MAX, the output's rows) is
 * scratch. */
int spec_target_reader_rows(spec_forward *forward, double *const *row, double *few,
                            const int *opt_token, int vocab, double temperature, int n,
                            spec_error *error);

#endif
