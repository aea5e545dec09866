/* SPDX-License-Identifier: GPL-3.0-or-later */
/* open_model: helpers for tests of models: open a spec, read rows, check a refusal.
 * Every failure fails the calling test; the caller closes what was opened. */
#ifndef SPECLAB_TESTS_OPEN_MODEL_H
#define SPECLAB_TESTS_OPEN_MODEL_H

#include "models/model_open.h"
#include "models/row.h"
#include "tests/support/contexts.h"
#include "tests/support/model_of.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

typedef struct {
    spec_model *model;
    spec_session session;
    double *scratch; /* (V) */
} opened;

static inline opened open_model(const char *spec, const spec_model *opt_target)
{
    opened o = {0};
    o.model = model_of(spec, opt_target);
    assert_works(spec_session_init(&o.session, o.model, &error));
    o.scratch = calloc((size_t)o.model->vocab, sizeof o.scratch[0]);
    assert_non_null(o.scratch);
    return o;
}

static inline void opened_free(opened *o)
{
    spec_session_free(&o->session);
    spec_model_close(o->model);
    free(o->scratch);
}

static inline const double *row_after(opened *o, const int *context, size_t n)
{
    spec_error error = {""};
    const double *row = spec_session_row(&o->session, context, n, o->scratch, &error);
    if (row == NULL) fail_msg("%s: %s", o->model->spec, error.text);
    return row;
}

/* Checks that every value is in [0,1], and that the sum, taken in long double, is 1 within
 * 1e-12. */
static inline void assert_normalised(const double *row, int vocab)
{
    long double sum = 0.0L;
    for (int i = 0; i < vocab; i++) {
        assert_true(row[i] >= 0.0 && row[i] <= 1.0);
        sum += row[i];
    }
    assert_true(fabsl(sum - 1.0L) < 1e-12L);
}

/* Checks that the spec is refused with a line that contains `expected`, and that no model is
 * returned. */
static inline void assert_refused(const char *spec, const spec_model *opt_target,
                                  const char *expected)
{
    spec_model *model = (spec_model *)&model;
    spec_error error = {""};
    assert_int_not_equal(spec_model_open(&model, spec, opt_target, spec_test_context(0), &error),
                         GSL_SUCCESS);
    assert_null(model);
    if (strstr(error.text, expected) == NULL) fail_msg("'%s' lacks '%s'", error.text, expected);
    assert_null(strchr(error.text, '\n'));
}

#endif
