/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The passes of a draft head are timed without those of its target. The clock of these tests counts
 * the passes of the target's three layers, so times are numbers of passes. */
#include "tools/bench/timing_passes.h"

#include "models/model_open.h"
#include "models/transformer/engine/transformer.h"
#include "sim/chance/rng.h"
#include "tests/support/contexts.h"
#include "tests/support/drawn_head.h"
#include "tests/support/support.h"

enum { LAYERS = 3, V = 11, TEXT = 20 };

static const char target_spec[] =
    "random?dim=16&layers=3&heads=2&ffn=24&vocab=11&context=60&type=f32";
static int passes, head_passes;

static bool count_begin(spec_queue *queue, const spec_batch *batch, const spec_kv *kv,
                        const int *sublayer, int n_sublayers)
{
    if (n_sublayers == 2 * LAYERS)
        passes++;
    else
        head_passes++;
    return spec_backend_cpu.begin(queue, batch, kv, sublayer, n_sublayers);
}

static double read_passes(void *self)
{
    (void)self;
    return passes;
}

TEST(a_heads_pass_is_timed_without_its_targets)
{
    const spec_clock clock = {read_passes, NULL};
    const int width[] = {1, 2, 5};
    int text[TEXT];
    for (int i = 0; i < TEXT; i++) text[i] = i * 7 % V;
    spec_model *target;
    spec_error error = {""};
    assert_int_equal(spec_model_open(&target, target_spec, NULL, spec_test_context(0), &error),
                     GSL_SUCCESS);
    const spec_backend **backend = &((spec_transformer *)target)->own_weights.backend,
                       *own = *backend;
    spec_backend counting = *own;
    counting.begin = count_begin;
    *backend = &counting;
    gsl_rng *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    spec_rng_stream(rng, 42, 0);
    for (int kind = 0; kind < SPEC_HEAD_KINDS; kind++) {
        spec_head head;
        drawn_head(&head, &(drawn_head_config){(spec_head_kind)kind, 3, 0, false, 1},
                   spec_transformer_of(target)->checkpoint);
        spec_model *draft = drawn_head_open(&head, "", target);
        spec_timing_passes timed;
        spec_timing_sum sum[3] = {{0}};
        assert_int_equal(
            spec_timing_passes_init(&timed, draft, target, NULL, width, 3, false, &error),
            GSL_SUCCESS);
        passes = head_passes = 0;
        assert_int_equal(
            spec_timing_passes_visit(&timed, sum, NULL, text, TEXT, &clock, rng, &error),
            GSL_SUCCESS);
        for (int i = 0; i < 3; i++) {
            assert_true(sum[i].n == SPEC_TIMING_PASS_REPEATS);
            assert_true(sum[i].seconds == 0.0);
        }
        assert_true(passes > 0 && head_passes >= 2 * 3 * SPEC_TIMING_PASS_REPEATS);
        spec_timing_passes_free(&timed);
        spec_model_close(draft);
        spec_head_free(&head);
    }
    gsl_rng_free(rng);
    *backend = own;
    spec_model_close(target);
}
