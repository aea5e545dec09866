/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks where a chain that a device has drawn ends. The device here draws given tokens; real ones
 * are tested in tests/sim/test_decode_device.c and tests/sim/test_gpu_ahead.c. */
#include "models/chain.h"
#include "tests/support/support.h"

#include <string.h>

enum { K = 4, END = 7 };
static int given[K];

static int draw(spec_session *draft, int *ret_token, const spec_draw_request *request,
                const int *context, size_t n, spec_error *error)
{
    (void)draft, (void)context, (void)n, (void)error;
    memcpy(ret_token, given, (size_t)request->n * sizeof *ret_token);
    return GSL_SUCCESS;
}

/* Draws these tokens; returns how many of them are the chain. */
static int chain_of(int *ret_status, int a, int b, int c, int d, int most)
{
    const spec_chain_kind kind = {.draw = draw};
    const spec_model model = {.ends = {2, {END, END + 1}}};
    const double uniform[K] = {0.0};
    const int tokens[K] = {a, b, c, d};
    void *law[K] = {NULL};
    spec_chain chain = {.kind = &kind, .drafts = &model, .K = K, .law = law};
    spec_error error = {""};
    int token[K], n = -1;
    memcpy(given, tokens, sizeof given);
    *ret_status = spec_chain_draw(&chain, token, &n, NULL, 0, most, uniform, &error);
    assert_int_equal(error.text[0] != '\0', *ret_status != GSL_SUCCESS);
    assert_memory_equal(token, given, (size_t)n * sizeof *token);
    return n;
}

TEST(a_chain_ends_with_the_first_token_that_ends_a_text)
{
    int status;
    assert_int_equal(chain_of(&status, 1, 2, 3, 4, K), K);
    assert_int_equal(chain_of(&status, 1, 2, END + 1, 4, K), 3);
    assert_int_equal(chain_of(&status, END, END, END, END, K), 1);
    assert_int_equal(chain_of(&status, 1, 2, 3, END, 2), 2);
    assert_int_equal(status, GSL_SUCCESS);
}

/* The passes after a stop token are wasted, whatever they compute. */
TEST(logits_that_are_not_finite_fail_only_inside_the_chain)
{
    int status;
    assert_int_equal(chain_of(&status, 1, END, -1, 4, K), 2);
    assert_int_equal(status, GSL_SUCCESS);
    chain_of(&status, 1, -1, END, 4, K);
    assert_int_equal(status, GSL_EDOM);
    chain_of(&status, -1, 2, 3, 4, 1);
    assert_int_equal(status, GSL_EDOM);
}
