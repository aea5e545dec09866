/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dflash_session: the functions of the sessions of dflash, for the table line of its kind.
 * A session shares the session of its target, or opens one of its own; rows have the same bits. */
#ifndef SPECLAB_DFLASH_SESSION_H
#define SPECLAB_DFLASH_SESSION_H

#include "models/model.h"

int spec_dflash_session_init(const spec_model *model, void **ret_session, spec_error *error);
void spec_dflash_session_free(const spec_model *model, void *session);

/* The target must be the draft's, and its session own its KV cache, which it then forgets. */
bool spec_dflash_session_share(const spec_model *model, void *session, const spec_model *target,
                               void *target_session);

/* GSL_EINVAL for a text or a path beyond the target's window, and for rows beyond the reach. */
int spec_dflash_session_score(const spec_model *model, void *session,
                              const spec_score_request *request, spec_error *error);
const double *spec_dflash_session_row(const spec_model *model, void *session, const int *context,
                                      size_t n, double *scratch, spec_error *error);

/* Whether the confidence before the token of the last row scored is below the key `confidence`. */
bool spec_dflash_session_declines(const spec_model *model, const void *session);

#endif
