#include "experiments/conformance/fixture.h"

#include <math.h>

/* Two rows of four tokens that overlap to about .7, with places, variants and sides all different. */
static int open_plain(spec_fixture *fixture, spec_error *error)
{
    double weight[4];
    const int status = spec_fixture_alloc(fixture, 4, NULL, 3, 3, error);
    if (status != GSL_SUCCESS) return status;
    for (int state = 0; state < fixture->n_states; state++)
        for (int draft = 0; draft < 2; draft++) {
            for (int i = 0; i < 4; i++) weight[i] = exp(sin(1.0 + 7.0 * state + 2.3 * i + 0.9 * draft));
            spec_fixture_set(fixture, draft == 1, state, weight);
        }
    return spec_fixture_finish(fixture, error);
}

static const spec_fixture_kind plain = {
    .name = "plain-4",
    .reason = "four tokens, no row like another: whatever is wrong with the law itself",
    .scopes = SPEC_SCOPE_VERIFY | SPEC_SCOPE_STREAM,
    .open = open_plain,
};

const spec_fixture_kind *const spec_fixtures[] = {
    &plain,
    NULL,
};
