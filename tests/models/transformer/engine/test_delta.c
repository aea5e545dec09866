/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hybrids: recurrent layers, gated attention, partial rotation and the expert that every token
 * takes, against the recurrence in double precision, token after token. */
#include "models/transformer/engine/delta.h"

#include "tests/models/transformer/engine/odd_checkpoint.h"
#include "tests/models/transformer/engine/reference_pass.h"
#include "tests/support/contexts.h"
#include "tests/support/support.h"

enum { TOKENS = 230, FORMS = 3 };

static const odd_form forms[FORMS] = {
    {{.dim = 40,
      .n_layers = 4,
      .n_heads = 4,
      .n_kv_heads = 2,
      .head_dim = 16,
      .ffn_dim = 33,
      .vocab = 51,
      .context = 600,
      .norm_eps = 1e-6f,
      .rope.base = 10000.0,
      .rope_pairs = SPEC_ROPE_HALVES,
      .rotated = 4,
      .gates_attention = true,
      .delta = {.n_layers = 3,
                .n_key_heads = 2,
                .n_value_heads = 6,
                .key_dim = 10,
                .value_dim = 12,
                .kernel = 4,
                .is_tiled = true}},
     .normed_heads = true,
     .recurrent_period = 4},
    {{.dim = 64,
      .n_layers = 3,
      .n_heads = 4,
      .n_kv_heads = 1,
      .head_dim = 24,
      .ffn_dim = 40,
      .vocab = 75,
      .context = 600,
      .norm_eps = 1e-5f,
      .rope.base = 500.0,
      .rope_pairs = SPEC_ROPE_HALVES,
      .rotated = 12,
      .gates_attention = true,
      .n_experts = 6,
      .n_active = 2,
      .expert_dim = 32,
      .delta = {.n_layers = 2,
                .n_key_heads = 2,
                .n_value_heads = 4,
                .key_dim = 32,
                .value_dim = 16,
                .kernel = 3}},
     .normed_heads = true,
     .mixes_beta = true,
     .recurrent_period = 3,
     .tied = true},
    {{.dim = 32,
      .n_layers = 2,
      .n_heads = 2,
      .n_kv_heads = 2,
      .head_dim = 16,
      .ffn_dim = 64,
      .vocab = 30,
      .context = 600,
      .norm_eps = 1e-6f,
      .rope.base = 500.0,
      .rope_pairs = SPEC_ROPE_HALVES,
      .gates_attention = true,
      .delta = {.n_layers = 1,
                .n_key_heads = 3,
                .n_value_heads = 3,
                .key_dim = 17,
                .value_dim = 33,
                .kernel = 1}},
     .normed_heads = true,
     .recurrent_period = 2},
};

static void draw_tokens(int *token, int n, int vocab)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_taus2, 3);
    for (int t = 0; t < n; t++) token[t] = (int)gsl_rng_uniform_int(rng, (unsigned long)vocab);
}

/* Measured: 3e-6 at worst, after the states of several anchors. */
TEST(rows_are_those_of_the_recurrence)
{
    for (int k = 0; k < FORMS; k++) {
        const int vocab = forms[k].shape.vocab, columns[] = {1, 7, 64};
        FREED double *truth = reference_vector(TOKENS * vocab);
        FREED float *first = malloc(TOKENS * (size_t)vocab * sizeof *first);
        FREED float *logits = malloc(TOKENS * (size_t)vocab * sizeof *logits);
        int token[TOKENS];
        spec_checkpoint c;
        spec_weights weights;
        assert_non_null(first);
        assert_non_null(logits);
        draw_tokens(token, TOKENS, vocab);
        make_odd_checkpoint(&c, &forms[k], SPEC_TENSOR_F32);
        assert_works(
            spec_weights_init(&weights, &c, SPEC_TENSOR_TYPES, spec_test_context(0)->cpu, &error));
        reference_pass(truth, &c, token, TOKENS, false);
        for (int i = 0; i < 3; i++) {
            engine_pass(i == 0 ? first : logits, &weights, token, TOKENS, columns[i]);
            if (i > 0) assert_memory_equal(first, logits, TOKENS * (size_t)vocab * sizeof *first);
        }
        const double worst = reference_error(first, truth, TOKENS, vocab);
        printf("form %d: error %.2g of the spread\n", k, worst);
        assert_true(worst < 2e-5);
        spec_weights_free(&weights);
        spec_checkpoint_free(&c);
    }
}
