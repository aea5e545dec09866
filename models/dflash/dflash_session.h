/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dflash_session: the session functions of dflash, for its kind in spec_model_kinds.
 * A session shares its target's session or opens its own; the rows have the same bits. */
#ifndef SPECLAB_DFLASH_SESSION_H
#define SPECLAB_DFLASH_SESSION_H

#include "models/model.h"

int spec_dflash_session_init(const spec_model *model, void **ret_session, spec_error *error);
void spec_dflash_session_free(const spec_model *model, void *session);

/* The target must be the draft's, and its session must own its KV cache, whose text it then
 * forgets. */
bool spec_dflash_session_share(const spec_model *model, void *session, const spec_model *target,
                               void *target_session);

/* Returns GSL_EINVAL if a text or path exceeds the target's context, or rows exceed the reach. */
int spec_dflash_session_score(const spec_model *model, void *session,
                              const spec_score_request *request, spec_error *error);
const double *spec_dflash_session_row(const spec_model *model, void *session, const int *context,
                                      size_t n, double *scratch, spec_error *error);

/* Returns whether the confidence for the last row scored is below the key `confidence`. */
bool spec_dflash_session_declines(const spec_model *model, const void *session);

#endif
