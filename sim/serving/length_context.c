/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chooses K for each request by the length of its context. */
#include "sim/serving/length_kind.h"

#include <math.h>

static int context_init(spec_length_choice *choice, const spec_settings *settings,
                        spec_error *error)
{
    const char *given = spec_settings_text(settings, "of");
    spec_context_steps *steps = &choice->context;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_context_steps_parse(steps, "context: of",
                                      given != NULL ? given : "5@0/3@4000/0@16000", 0.0, SPEC_K_MAX,
                                      error));
    for (int i = 0; i < steps->n; i++) {
        if (steps->value[i] != floor(steps->value[i]))
            SPEC_TRY(spec_fail(error, GSL_EINVAL, "context: of: %g is not a whole number",
                               steps->value[i]));
        choice->K_max = (int)fmax(choice->K_max, steps->value[i]);
    }
done:
    return status;
}

static int context_choose(const spec_length_choice *choice, void *state,
                          const spec_step_batch *batch, int32_t *ret_K)
{
    bool same = true;
    (void)state;
    for (int i = 0; i < batch->n; i++) {
        ret_K[i] = (int32_t)spec_context_steps_at(&choice->context, batch->context[i]);
        same = same && ret_K[i] == ret_K[0];
    }
    return same ? ret_K[0] : -1;
}

const spec_length_kind spec_length_context = {
    .name = "context",
    .usage = "context?of=5@0/3@4000/0@16000",
    .summary = "K for each request by the tokens in its context, prompt and output so far; each K "
               "applies from its length on",
    .reference = "",
    .reads_context = true,
    .init = context_init,
    .choose = context_choose,
};
