/* SPDX-License-Identifier: GPL-3.0-or-later */
/* head_session: the session functions of draft heads, for their kinds in spec_model_kinds.
 * A session shares its target's session or opens its own; the rows have the same bits. */
#ifndef SPECLAB_HEAD_SESSION_H
#define SPECLAB_HEAD_SESSION_H

#include "models/model.h"

int spec_head_session_init(const spec_model *model, void **ret_session, spec_error *error);
void spec_head_session_free(const spec_model *model, void *session);

/* The target must be the head's, and its session must own its KV cache, whose text it then
 * forgets. */
bool spec_head_session_share(const spec_model *model, void *session, const spec_model *target,
                             void *target_session);

/* Returns GSL_EINVAL if a text or path exceeds the target's context, or rows exceed the reach. */
int spec_head_session_score(const spec_model *model, void *session,
                            const spec_score_request *request, spec_error *error);
const double *spec_head_session_row(const spec_model *model, void *session, const int *context,
                                    size_t n, double *scratch, spec_error *error);

#endif
