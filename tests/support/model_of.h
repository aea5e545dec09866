/* SPDX-License-Identifier: GPL-3.0-or-later */
/* model_of: opens the model of a spec, in the context of all threads; a refusal fails the test.
 *     OWNED_MODEL *target = model_of("zipf?V=7", NULL); */
#ifndef SPECLAB_TESTS_MODEL_OF_H
#define SPECLAB_TESTS_MODEL_OF_H

#include "models/model_open.h"
#include "tests/support/contexts.h"
#include "tests/support/support.h"

static inline spec_model *model_of(const char *spec, const spec_model *opt_target)
{
    spec_model *model;
    spec_error error = {""};
    if (spec_model_open(&model, spec, opt_target, spec_test_context(0), &error) != GSL_SUCCESS)
        fail_msg("%s: %s", spec, error.text);
    return model;
}

#endif
