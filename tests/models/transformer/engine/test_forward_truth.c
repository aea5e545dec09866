/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The forward pass against double precision, on models of odd shapes. The error of every weight
 * type is measured and bounded; it is the same for every instruction set, number of threads and
 * columns per pass. */
#include "tests/models/transformer/engine/odd_model.h"
#include "tests/support/support.h"

#include <gsl/gsl_sort.h>

enum { TOKENS = 50, LONG = ODD_TEXT, FORMS = ODD_FORMS + ODD_ARCHITECTURES };

static const odd_form *form_of(int f)
{
    return f < ODD_FORMS ? &odd_forms[f] : &odd_architectures[f - ODD_FORMS];
}

/* Computes the median and the worst error of a row, over texts of `length` tokens each, cut from
 * the text. */
static void measure(const odd_model *m, int length, bool rounds, double *ret_middle,
                    double *ret_worst)
{
    double *reference = reference_vector(length * m->vocab), error[TOKENS];
    FREED float *logits = malloc((size_t)length * (size_t)m->vocab * sizeof *logits);
    assert_non_null(logits);
    for (int begin = 0; begin < TOKENS; begin += length) {
        engine_pass(logits, &m->weights, m->token + begin, length, 7);
        reference_pass(reference, &m->checkpoint, m->token + begin, length, rounds);
        for (int t = 0; t < length; t++) {
            error[begin + t] =
                reference_error(logits + t * m->vocab, reference + t * m->vocab, 1, m->vocab);
        }
    }
    gsl_sort(error, 1, TOKENS);
    *ret_middle = error[TOKENS / 2];
    *ret_worst = error[TOKENS - 1];
    free(reference);
}

/* One text of 50 tokens through 2 to 4 layers. Measured: 8e-7 to 4e-6, from rounding float sums
 * that are added in order. */
TEST(weights_in_floats_are_exact_to_rounding)
{
    static const spec_tensor_type types[] = {SPEC_TENSOR_F32, SPEC_TENSOR_F16, SPEC_TENSOR_BF16};
    for (int f = 0; f < FORMS; f++) {
        for (int k = 0; k < 3; k++) {
            CLOSED(odd_model) m;
            double middle, worst;
            odd_model_open(&m, form_of(f), types[k]);
            measure(&m, TOKENS, true, &middle, &worst);
            printf("form %d, %s: error %.2g\n", f, spec_tensor_type_names[types[k]], worst);
            assert_true(worst < 1e-5);
        }
    }
}

/* The draft `layers?window=...` in passes of any size. Measured: 8e-7 to 2e-6; without the sinks
 * 0.6 or more. */
TEST(a_window_hides_what_lies_before_it_except_the_sinks)
{
    static const reference_omissions seen[] = {{.window = 1, .sink = 1}, {.window = 9, .sink = 3}};
    for (int f = 0; f < FORMS; f++)
        for (int k = 0; k < 2; k++) {
            CLOSED(odd_model) m;
            odd_model_open(&m, form_of(f), SPEC_TENSOR_F32);
            const size_t size = (size_t)TOKENS * (size_t)m.vocab;
            FREED double *reference = reference_vector((int)size);
            FREED float *logits = malloc(size * sizeof *logits);
            FREED float *single = malloc(size * sizeof *single);
            reference_states_without(reference, NULL, &m.checkpoint, m.token, TOKENS, false,
                                     &seen[k]);
            for (int sink = seen[k].sink; sink >= 0; sink -= seen[k].sink) {
                const reference_omissions omit = {.window = seen[k].window, .sink = sink};
                engine_pass_without(logits, &m.weights, SPEC_TENSOR_F32, m.token, TOKENS, 7, &omit);
                engine_pass_without(single, &m.weights, SPEC_TENSOR_F32, m.token, TOKENS, 1, &omit);
                assert_memory_equal(logits, single, size * sizeof *logits);
                const double error = reference_error(logits, reference, TOKENS, m.vocab);
                printf("form %d, window %d, sink %d: error %.2g\n", f, omit.window, sink, error);
                assert_true(sink > 0 ? error < 1e-5 : error > 0.1);
            }
        }
}

/* 600 positions, which attention processes in blocks; passes of 64 columns and of one. Measured:
 * 3e-6. */
TEST(a_long_text_is_as_exact_as_a_short_one, SLOW)
{
    static const int forms[] = {0, 1, ODD_FORMS, ODD_FORMS + 1};
    for (int k = 0; k < 4; k++) {
        const int f = forms[k];
        CLOSED(odd_model) m;
        odd_model_open(&m, form_of(f), SPEC_TENSOR_F32);
        FREED double *reference = reference_vector(LONG * m.vocab);
        const size_t size = (size_t)LONG * (size_t)m.vocab;
        float *logits = malloc(size * sizeof *logits), *single = malloc(size * sizeof *single);
        assert_non_null(logits);
        assert_non_null(single);
        reference_pass(reference, &m.checkpoint, m.token, LONG, false);
        engine_pass(logits, &m.weights, m.token, LONG, SPEC_COLUMNS_MAX);
        engine_pass(single, &m.weights, m.token, LONG, 1);
        const double error = reference_error(logits, reference, LONG, m.vocab);
        printf("form %d: error %.2g\n", f, error);
        assert_true(error < 1e-5);
        assert_memory_equal(logits, single, size * sizeof *logits);
        free(logits);
        free(single);
    }
}

/* Ten texts of five tokens. A row is exact to rounding, unless a number is so near the middle
 * between two steps that the reference rounds it the other way. That costs as much as quantising
 * activations at all, which the reference without quantisation measures. Measured: 1e-7, at worst
 * 0.008; against unquantised activations 0.02, at worst 0.08. */
TEST(quantised_weights_take_their_input_in_steps)
{
    static const spec_tensor_type types[] = {SPEC_TENSOR_Q8_0, SPEC_TENSOR_Q4_0};
    for (int f = 0; f < FORMS; f++) {
        for (int k = 0; k < 2; k++) {
            if (spec_tensor_row_bytes(types[k], form_of(f)->shape.ffn_dim) == 0) continue;
            CLOSED(odd_model) m;
            double middle, worst, whole_middle, whole_worst;
            odd_model_open(&m, form_of(f), types[k]);
            measure(&m, 5, true, &middle, &worst);
            measure(&m, 5, false, &whole_middle, &whole_worst);
            printf("form %d, %s: error %.2g, at worst %.2g; against whole activations %.2g, at "
                   "worst %.2g\n",
                   f, spec_tensor_type_names[types[k]], middle, worst, whole_middle, whole_worst);
            assert_true(middle < 1e-6 && worst < 0.1);
            assert_true(whole_middle > 1e-3 && whole_worst < 0.15);
        }
    }
}

/* Widths that are multiples of 256, as some blocks need. */
static const odd_form super_form = {{.dim = 256,
                                     .n_layers = 1,
                                     .n_heads = 4,
                                     .n_kv_heads = 1,
                                     .head_dim = 64,
                                     .ffn_dim = 256,
                                     .vocab = 37,
                                     .context = 600,
                                     .norm_eps = 1e-5f,
                                     .rope.base = 10000.0},
                                    .tied = true};

/* Tries the types of small blocks in the third form and one of them in each other form, and all
 * types with blocks of 256. */
TEST(logits_are_the_same_bytes_everywhere, SLOW)
{
    for (int f = 0; f < FORMS; f++)
        for (int k = 0; k <= SPEC_TENSOR_Q4_0; k++)
            if (f == 2 || k == (f < 2 ? SPEC_TENSOR_F32 : SPEC_TENSOR_Q8_0))
                odd_model_same_bytes(form_of(f), (spec_tensor_type)k, TOKENS);
    for (int k = SPEC_TENSOR_Q4_0 + 1; k < SPEC_TENSOR_TYPES; k++)
        odd_model_same_bytes(&super_form, (spec_tensor_type)k, TOKENS);
}
