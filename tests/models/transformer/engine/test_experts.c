/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks mixtures of experts against double precision, and that bits are the same for every number
 * of columns, threads and instruction set. */
#include "models/transformer/engine/experts.h"
#include "tests/models/transformer/engine/odd_model.h"
#include "tests/support/support.h"

#include "base/noise.h"

#include <gsl/gsl_sort.h>

enum { TOKENS = 64 };

/* Mixtures as in qwen3moe, with all experts or one, and as in gpt-oss, with weights that its clamps
 * cut. The first one only as floats. */
static const odd_form forms[] = {
    {.shape = {.dim = 40,
               .n_layers = 2,
               .n_heads = 5,
               .n_kv_heads = 1,
               .head_dim = 8,
               .n_experts = 11,
               .n_active = 3,
               .expert_dim = 17,
               .vocab = 51,
               .context = 600,
               .norm_eps = 1e-5f,
               .rope.base = 10000.0},
     .tied = true},
    {.shape = {.dim = 64,
               .n_layers = 3,
               .n_heads = 4,
               .n_kv_heads = 2,
               .head_dim = 24,
               .n_experts = 5,
               .n_active = 5,
               .expert_dim = 96,
               .vocab = 75,
               .context = 600,
               .norm_eps = 1e-6f,
               .rope.base = 1e6,
               .rope_pairs = SPEC_ROPE_HALVES}},
    {.shape = {.dim = 96,
               .n_layers = 2,
               .n_heads = 4,
               .n_kv_heads = 2,
               .head_dim = 24,
               .n_experts = 7,
               .n_active = 1,
               .expert_dim = 32,
               .vocab = 60,
               .context = 600,
               .norm_eps = 1e-6f,
               .rope.base = 1e6}},
    {.shape = {.dim = 64,
               .n_layers = 2,
               .n_heads = 4,
               .n_kv_heads = 2,
               .head_dim = 16,
               .n_experts = 32,
               .n_active = 4,
               .expert_dim = 160,
               .vocab = 75,
               .context = 600,
               .norm_eps = 1e-5f,
               .rope.base = 1e5,
               .rope_pairs = SPEC_ROPE_HALVES,
               .gate = SPEC_GATE_CLAMPED},
     .biased = true,
     .biased_experts = true,
     .expert_scale = 4.0},
};
enum { FORMS = sizeof forms / sizeof *forms, CLAMPED = 3 };

/* Returns the error of each token's logits, in ascending order. */
static void errors_of(double error[TOKENS], const odd_model *m, const reference_omissions *omit)
{
    FREED double *reference = reference_vector(TOKENS * m->vocab);
    FREED float *logits = odd_model_logits(m, TOKENS, 13);
    reference_states_without(reference, NULL, &m->checkpoint, m->token, TOKENS, true, omit);
    for (int t = 0; t < TOKENS; t++)
        error[t] = reference_error(logits + t * m->vocab, reference + t * m->vocab, 1, m->vocab);
    gsl_sort(error, 1, TOKENS);
}

/* Measured: 1e-6 to 3e-6, from rounding float sums that are added in order. */
TEST(experts_in_floats_are_exact_to_rounding)
{
    static const spec_tensor_type types[] = {SPEC_TENSOR_F32, SPEC_TENSOR_F16, SPEC_TENSOR_BF16};
    for (int f = 0; f < FORMS; f++) {
        for (int k = 0; k < 3; k++) {
            CLOSED(odd_model) m;
            double error[TOKENS];
            odd_model_open(&m, &forms[f], types[k]);
            errors_of(error, &m, &(reference_omissions){0});
            printf("form %d, %s: error %.2g\n", f, spec_tensor_type_names[types[k]],
                   error[TOKENS - 1]);
            assert_true(error[TOKENS - 1] < 1e-5);
        }
    }
}

/* A number near the middle between two steps of its 8 bits may be rounded the other way. If the
 * router is then near a tie, the token takes another expert. */
TEST(quantised_experts_take_their_input_in_steps)
{
    for (int f = 1; f < FORMS; f++) {
        CLOSED(odd_model) m;
        double error[TOKENS];
        odd_model_open(&m, &forms[f], SPEC_TENSOR_Q8_0);
        errors_of(error, &m, &(reference_omissions){0});
        printf("form %d: error %.2g, at worst %.2g\n", f, error[TOKENS / 4], error[TOKENS - 1]);
        assert_true(error[TOKENS / 4] < 1e-5);
    }
}

/* With these data an engine that leaves out a step differs from one that does not. */
TEST(every_step_of_the_mixture_shows)
{
    static const reference_omissions omissions[] = {
        {.no_router_bias = true}, {.no_gate_bias = true}, {.no_up_bias = true},
        {.no_down_bias = true},   {.no_clamp = true},     {.no_renormalisation = true},
    };
    CLOSED(odd_model) m;
    odd_model_open(&m, &forms[CLAMPED], SPEC_TENSOR_F32);
    for (size_t i = 0; i < sizeof omissions / sizeof *omissions; i++) {
        double error[TOKENS];
        errors_of(error, &m, &omissions[i]);
        printf("omission %zu: error %.2g\n", i, error[TOKENS / 2]);
        assert_true(error[TOKENS / 2] > 1e-3);
    }
}

/* Widths that are multiples of 256, as some blocks need. */
static const odd_form super_form = {.shape = {.dim = 256,
                                              .n_layers = 1,
                                              .n_heads = 4,
                                              .n_kv_heads = 1,
                                              .head_dim = 64,
                                              .n_experts = 3,
                                              .n_active = 2,
                                              .expert_dim = 256,
                                              .vocab = 37,
                                              .context = 600,
                                              .norm_eps = 1e-5f,
                                              .rope.base = 10000.0},
                                    .tied = true};

TEST(logits_are_the_same_bytes_everywhere, SLOW)
{
    for (int f = 0; f < FORMS; f++)
        for (int k = 0; k <= SPEC_TENSOR_Q4_0; k++)
            if (spec_tensor_row_bytes((spec_tensor_type)k, forms[f].shape.dim) > 0 &&
                spec_tensor_row_bytes((spec_tensor_type)k, forms[f].shape.expert_dim) > 0 &&
                (k == SPEC_TENSOR_F32 || k == SPEC_TENSOR_Q8_0 || f == CLAMPED))
                odd_model_same_bytes(&forms[f], (spec_tensor_type)k, TOKENS);
    for (int k = SPEC_TENSOR_Q4_0 + 1; k < SPEC_TENSOR_TYPES; k++)
        odd_model_same_bytes(&super_form, (spec_tensor_type)k, TOKENS);
}

/* gate and up in different types read their columns in different formats. */
TEST(gate_and_up_may_be_of_different_types)
{
    odd_model m, other;
    odd_model_open(&m, &forms[CLAMPED], SPEC_TENSOR_F32);
    odd_model_open(&other, &forms[CLAMPED], SPEC_TENSOR_Q8_0);
    spec_weights_free(&m.weights);
    for (int layer = 0; layer < m.checkpoint.shape.n_layers; layer++)
        m.checkpoint.layer[layer].expert_up = other.checkpoint.layer[layer].expert_up;
    assert_works(spec_weights_init(&m.weights, &m.checkpoint, SPEC_TENSOR_TYPES,
                                   spec_test_context(0)->cpu, &error));
    double found[TOKENS];
    errors_of(found, &m, &(reference_omissions){0});
    assert_true(found[TOKENS / 4] < 1e-5);
    float *wide = odd_model_logits(&m, TOKENS, TOKENS), *single = odd_model_logits(&m, TOKENS, 1);
    assert_memory_equal(wide, single, (size_t)TOKENS * (size_t)m.vocab * sizeof *wide);
    free(wide);
    free(single);
    odd_model_close(&m);
    odd_model_close(&other);
}

/* Experts in MXFP4 are computed through Q8_0, which holds their weights exactly. */
TEST(experts_in_mxfp4_compute_as_in_q8_0)
{
    static const spec_part parts[] = {SPEC_PART_EXPERT_GATE, SPEC_PART_EXPERT_UP,
                                      SPEC_PART_EXPERT_DOWN};
    odd_model m, other;
    void *made[2 * 2 * 3];
    int n_made = 0;
    odd_model_open(&m, &forms[CLAMPED], SPEC_TENSOR_F32);
    odd_model_open(&other, &forms[CLAMPED], SPEC_TENSOR_F32);
    spec_weights_free(&m.weights);
    spec_weights_free(&other.weights);
    for (int layer = 0; layer < 2; layer++) {
        for (int i = 0; i < 3; i++) {
            spec_tensor *small = spec_checkpoint_parts_tensor(parts[i], &m.checkpoint, layer),
                        *large = spec_checkpoint_parts_tensor(parts[i], &other.checkpoint, layer);
            const spec_tensor from = *small;
            const size_t rows = (size_t)from.rows,
                         bytes = spec_tensor_row_bytes(SPEC_TENSOR_MXFP4, from.cols),
                         wide_bytes = spec_tensor_row_bytes(SPEC_TENSOR_Q8_0, from.cols);
            unsigned char *packed = made[n_made++] = malloc(rows * bytes),
                          *widened = made[n_made++] = malloc(rows * wide_bytes);
            FREED float *row = malloc((size_t)from.cols * sizeof *row);
            for (size_t k = 0; k < rows * bytes; k++) { /* blocks begin with an exponent */
                const uint64_t word = spec_noise_word((uint64_t)(3 * layer + i), k);
                packed[k] = (unsigned char)(k % 17 == 0 ? 122 + word % 3 : word);
            }
            small->type = SPEC_TENSOR_MXFP4;
            small->data = packed;
            for (size_t r = 0; r < rows; r++)
                spec_tensor_convert_row(widened + r * wide_bytes, SPEC_TENSOR_Q8_0, small, (int)r,
                                        row);
            large->type = SPEC_TENSOR_Q8_0;
            large->data = widened;
        }
    }
    for (odd_model *each = &m; each != NULL; each = each == &m ? &other : NULL)
        assert_works(spec_weights_init(&each->weights, &each->checkpoint, SPEC_TENSOR_TYPES,
                                       spec_test_context(0)->cpu, &error));
    float *a = odd_model_logits(&m, TOKENS, 9), *b = odd_model_logits(&other, TOKENS, TOKENS);
    assert_memory_equal(a, b, (size_t)TOKENS * (size_t)m.vocab * sizeof *a);
    double found[TOKENS];
    errors_of(found, &m, &(reference_omissions){0});
    printf("experts in mxfp4: error %.2g\n", found[TOKENS / 4]);
    assert_true(found[TOKENS / 4] < 1e-5);
    free(a);
    free(b);
    odd_model_close(&m);
    odd_model_close(&other);
    for (int i = 0; i < n_made; i++) free(made[i]);
}

/* ---- choices --------------------------------------------------------------------------------- */

TEST(equal_logits_go_to_the_lower_index)
{
    static const float logit[] = {0.27f, 2.385f, -1.0f, 2.385f, 0.27f, 2.385f, 0.27f};
    const spec_shape shape = {.n_experts = 7, .n_active = 4};
    for (int isa = 0; isa <= (int)spec_cpu_best_isa(); isa++) {
        int expert[4];
        float weight[4];
        spec_expert_choice_make(expert, weight, logit, &shape,
                                spec_vector_kernels_of((spec_isa)isa));
        static const int expected[] = {1, 3, 5, 0};
        assert_memory_equal(expert, expected, sizeof expected);
        const double low = exp(0.27 - 2.385), sum = 3.0 + low;
        for (int i = 0; i < 4; i++)
            assert_true(fabs((double)weight[i] - (i < 3 ? 1.0 : low) / sum) < 1e-7);
    }
}

/* A column of NaN must not become a finite text, nor choose an expert twice. */
TEST(a_logit_that_is_not_finite_spoils_all_weights)
{
    const spec_shape shape = {.n_experts = 6, .n_active = 3};
    const float bad[] = {NAN, INFINITY, -INFINITY};
    for (int b = 0; b < 3; b++) {
        for (int at = -1; at < 6; at++) {
            float logit[] = {0.5f, 0.1f, 2.0f, -1.0f, 0.7f, 1.5f}, weight[3];
            int expert[3];
            for (int i = 0; i < 6; i++) logit[i] = i == at || at < 0 ? bad[b] : logit[i];
            spec_expert_choice_make(expert, weight, logit, &shape, &spec_vector_kernels_ref);
            for (int i = 0; i < 3; i++) {
                assert_true(isnan(weight[i]));
                assert_in_range(expert[i], 0, 5);
                for (int j = 0; j < i; j++) assert_int_not_equal(expert[i], expert[j]);
            }
        }
    }
}

TEST(groups_hold_each_choice_once)
{
    const spec_shape shape = {.n_experts = 9, .n_active = 2};
    static const int expert[] = {8, 3, 3, 0, 5, 3, 0, 8};
    static const int experts[] = {0, 3, 5, 8}, begin[] = {0, 2, 5, 6, 8};
    static const int columns[] = {1, 3, 0, 1, 2, 2, 0, 3}, pairs[] = {6, 2, 3, 0, 5, 4, 1, 7};
    spec_expert_groups groups;
    int column[8], pair[8];
    spec_expert_choice_group(&groups, column, pair, expert, 4, &shape);
    assert_int_equal(groups.n, 4);
    assert_memory_equal(groups.expert, experts, sizeof experts);
    assert_memory_equal(groups.begin, begin, sizeof begin);
    assert_memory_equal(column, columns, sizeof columns);
    assert_memory_equal(pair, pairs, sizeof pairs);
}

/* Two of five columns share their experts; weights count once. */
TEST(experts_are_counted_once_per_pass)
{
    static const int chosen[5][2] = {{3, 9}, {9, 3}, {0, 10}, {3, 9}, {10, 4}};
    CLOSED(odd_model) m;
    spec_expert_workspace *workspace;
    odd_form form = forms[0];
    form.shape.n_active = 2;
    odd_model_open(&m, &form, SPEC_TENSOR_F32);
    assert_works(spec_experts_init(&workspace, &form.shape, &spec_vector_kernels_ref,
                                   spec_product_kernels_of(SPEC_ISA_PORTABLE), &error));
    float x[5 * 40] = {0}, y[5 * 40], *logits = spec_experts_logits(workspace);
    for (int i = 0; i < 5 * 40; i++) y[i] = 0.01f * (float)(i % 17);
    for (int n = 1; n <= 5; n++) {
        static const int counts[] = {2, 2, 4, 4, 5};
        for (int i = 0; i < n * 11; i++) logits[i] = 0.0f;
        for (int u = 0; u < n; u++)
            for (int i = 0; i < 2; i++) logits[u * 11 + chosen[u][i]] = 2.0f - (float)i;
        assert_int_equal(spec_experts_add(workspace, x, &m.weights.layer[0].experts, y, n, NULL),
                         counts[n - 1]);
    }
    spec_experts_free(workspace);
}
