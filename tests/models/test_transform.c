/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transform.h"

#include "base/noise.h"
#include "tests/models/open_model.h"
#include "tests/support/support.h"

#include <float.h>

static spec_transform with_temperature(double temperature)
{
    spec_transform transform = SPEC_TRANSFORM_NONE;
    transform.temperature = temperature;
    return transform;
}

static void apply(double *row, int vocab, spec_transform transform)
{
    int order[4096];
    spec_transform_apply(row, vocab, &transform, order);
}

static void assert_row(const double *row, const double *expected, int vocab)
{
    for (int i = 0; i < vocab; i++) {
        if (fabs(row[i] - expected[i]) > 4e-16)
            fail_msg("token %d: %.17g, not %.17g", i, row[i], expected[i]);
    }
}

static double unit(uint64_t *noise)
{
    return (double)(spec_noise_mix((*noise)++) >> 11) * 0x1p-53;
}

/* Makes a row with ties and zeros by a hash: levels 0..8 if `ties`, otherwise continuous. */
static void random_row(double *row, int vocab, uint64_t key, bool ties)
{
    row[0] = 1.0;
    for (int i = 0; i < vocab; i++) {
        const uint64_t word = spec_noise_mix(key * 4096 + (uint64_t)i);
        row[i] =
            ties ? (double)(word % 9) : (word % 8 == 0 ? 0.0 : exp((double)(word >> 12) * 0x1p-49));
    }
    row[key % (uint64_t)vocab] += 1.0;
    spec_row_normalise(row, vocab);
}

/* ---- known answers --------------------------------------------------------------------------- */

TEST(temperature_is_a_power)
{
    double half[] = {0.5, 0.25, 0.25, 0.0}, two[] = {0.64, 0.04, 0.32, 0.0};
    apply(half, 4, with_temperature(0.5)); /* squares: 4, 1, 1 over 6 */
    assert_row(half, (const double[]){4.0 / 6.0, 1.0 / 6.0, 1.0 / 6.0, 0.0}, 4);
    two[2] = 0.36, two[1] = 0.0, two[3] = 0.0;
    apply(two, 4, with_temperature(2.0)); /* roots: 0.8, 0.6 over 1.4 */
    assert_row(two, (const double[]){8.0 / 14.0, 0.0, 6.0 / 14.0, 0.0}, 4);
}

/* The row is 0.4 0.3 0.15 0.1 0.05, with top_k = 3 and top_p = 0.8. joint keeps 3 by rank and 3 by
 * mass (0.4 + 0.3 < 0.8); chained sees 0.4/0.85 + 0.3/0.85 = 0.8235 >= 0.8 after the rank, so it
 * keeps 2. */
TEST(joint_and_chained_filters_differ)
{
    double joint[] = {0.1, 0.4, 0.15, 0.3, 0.05}, chained[] = {0.1, 0.4, 0.15, 0.3, 0.05};
    spec_transform transform = SPEC_TRANSFORM_NONE;
    transform.top_k = 3;
    transform.top_p = 0.8;
    apply(joint, 5, transform);
    assert_row(joint, (const double[]){0.0, 0.4 / 0.85, 0.15 / 0.85, 0.3 / 0.85, 0.0}, 5);
    transform.chained = true;
    apply(chained, 5, transform);
    assert_row(chained, (const double[]){0.0, 4.0 / 7.0, 0.0, 3.0 / 7.0, 0.0}, 5);
}

/* From NumPy, with p = [3,1,4,1,5,9,2,6,5,3,5,8] / 52, T = 0.651, k = 7, top_p = 0.75,
 * min_p = 0.27; after q = p**(1/T), q /= q.sum():
 *   by rank   q >= np.sort(q)[-k]
 *   by mass   o = np.argsort(-q, kind='stable'); c = np.cumsum(q[o]) - q[o];
 *             the tokens o[c < top_p]
 *   by size   q >= min_p * q.max()
 * joint: one mask, the product of the three of q, then q /= q.sum() (FlashInfer,
 * filter_apply_order="joint").
 * chained: q *= mask and q /= q.sum() after each (Hugging Face's logits warpers, whose top_p sees
 * the softmax of the survivors of top_k; vLLM likewise). */
TEST(filters_agree_with_numpy)
{
    static const double joint[] = {0.0,
                                   0.0,
                                   0.0,
                                   0.0,
                                   0.11301422023745931,
                                   0.27877688216161467,
                                   0.0,
                                   0.14954202977303957,
                                   0.11301422023745931,
                                   0.0,
                                   0.11301422023745931,
                                   0.23263842735296789};
    static const double chained[] = {0.0,
                                     0.0,
                                     0.0,
                                     0.0,
                                     0.12741379040790812,
                                     0.3142969013959248,
                                     0.0,
                                     0.16859574661171478,
                                     0.12741379040790812,
                                     0.0,
                                     0.0,
                                     0.26227977117654433};
    for (int c = 0; c < 2; c++) {
        double row[] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8};
        spec_row_normalise(row, 12);
        apply(
            row, 12,
            (spec_transform){
                .temperature = 0.651, .top_k = 7, .top_p = 0.75, .min_p = 0.27, .chained = c == 1});
        assert_row(row, c == 0 ? joint : chained, 12);
    }
}

/* Hugging Face's order, top_k, top_p, min_p, is `chained`. vLLM's V1 engine applies min_p first, so
 * that top_p counts the mass of min_p's survivors. The survivors of min_p do not depend on the
 * order, so vLLM keeps no extra token. On one in seven of these rows the two orders differ, by a TV
 * of up to .49. */
TEST(chained_filters_have_min_p_last_and_vllm_has_it_first)
{
    uint64_t noise = 42;
    int differ = 0;
    double most = 0.0;
    for (int i = 0; i < 6000; i++) {
        double last[12], first[12], chained[12], tv = 0.0;
        const spec_transform ranks = {.temperature = 1.0,
                                      .top_k = 3 + i % 8,
                                      .top_p = 0.5 + 0.45 * unit(&noise),
                                      .chained = true},
                             cut = {.temperature = 1.0,
                                    .top_p = 1.0,
                                    .min_p = 0.02 + 0.3 * unit(&noise)};
        spec_transform both = ranks;
        both.min_p = cut.min_p;
        random_row(last, 12, (uint64_t)i, false);
        memcpy(first, last, sizeof last);
        memcpy(chained, last, sizeof last);
        apply(last, 12, ranks);
        apply(last, 12, cut);
        apply(first, 12, cut);
        apply(first, 12, ranks);
        apply(chained, 12, both);
        assert_row(chained, last, 12);
        for (int t = 0; t < 12; t++) {
            assert_true(last[t] > 0.0 || first[t] == 0.0);
            tv += 0.5 * fabs(last[t] - first[t]);
        }
        differ += tv > 1e-9;
        most = fmax(most, tv);
    }
    if (differ < 800 || differ > 920 || !(most > 0.4 && most < 0.5))
        fail_msg("%d differ, by up to %g", differ, most);
}

TEST(top_k_keeps_ties_with_the_last)
{
    double row[] = {0.2, 0.1, 0.3, 0.2, 0.2};
    spec_transform transform = SPEC_TRANSFORM_NONE;
    transform.top_k = 2;
    apply(row, 5, transform);
    assert_row(row, (const double[]){0.2 / 0.9, 0.0, 0.3 / 0.9, 0.2 / 0.9, 0.2 / 0.9}, 5);
}

TEST(top_p_takes_the_lowest_of_ties_and_no_more)
{
    double row[] = {0.2, 0.1, 0.3, 0.2, 0.2}, tenths[10], one[] = {0.3, 0.4, 0.3};
    spec_transform transform = SPEC_TRANSFORM_NONE;
    transform.top_p = 0.651;
    apply(row, 5, transform); /* 0.3 + 0.2 + 0.2 */
    assert_row(row, (const double[]){0.2 / 0.7, 0.0, 0.3 / 0.7, 0.2 / 0.7, 0.0}, 5);
    for (int i = 0; i < 10; i++) tenths[i] = 0.1;
    transform.top_p = 0.8; /* eight times 0.1 is 0.8, whatever a plain sum gives */
    apply(tenths, 10, transform);
    for (int i = 0; i < 10; i++) assert_true(fabs(tenths[i] - (i < 8 ? 0.125 : 0.0)) < 1e-16);
    transform.top_p = 0.0; /* the most probable token always survives */
    apply(one, 3, transform);
    assert_row(one, (const double[]){0.0, 1.0, 0.0}, 3);
}

TEST(min_p_is_relative_to_the_largest)
{
    double row[] = {0.5, 0.125, 0.25, 0.0625, 0.0625}, ties[] = {0.3, 0.4, 0.3};
    spec_transform transform = SPEC_TRANSFORM_NONE;
    transform.min_p = 0.25; /* the bound itself survives */
    apply(row, 5, transform);
    assert_row(row, (const double[]){0.5 / 0.875, 0.125 / 0.875, 0.25 / 0.875, 0.0, 0.0}, 5);
    transform.min_p = 1.0;
    apply(ties, 3, transform);
    assert_row(ties, (const double[]){0.0, 1.0, 0.0}, 3);
}

TEST(temperature_zero_is_the_lowest_argmax)
{
    double row[] = {0.1, 0.4, 0.1, 0.4};
    apply(row, 4, with_temperature(0.0));
    assert_row(row, (const double[]){0.0, 1.0, 0.0, 0.0}, 4);
    opened o = open_model("zipf?V=9&temperature=0", NULL),
           warm = open_model("zipf?V=9&temperature=0.5", NULL);
    assert_true(o.model->one_hot);
    assert_false(warm.model->one_hot);
    assert_true(row_after(&o, NULL, 0)[0] == 1.0);
    opened_free(&o);
    opened_free(&warm);
}

/* ---- two routes ------------------------------------------------------------------------------ */

static int by_probability(const void *a, const void *b)
{
    const double *x = *(const double *const *)a, *y = *(const double *const *)b;
    return *x > *y ? -1 : *x < *y ? 1 : x < y ? -1 : 1;
}

/* Computes the same filters by a full sort and masks: after the temperature, top_k by the k-th
 * value, top_p by the mass before a token, min_p. Each filter sees the row itself (FlashInfer's
 * joint), or the renormalised survivors (the chain of processors in Hugging Face and vLLM). */
static void transform_ref(double *row, int vocab, const spec_transform *transform)
{
    const double *sorted[4096];
    bool keep[4096];
    if (transform->temperature != 1.0) {
        long double sum = 0.0L;
        const double largest = row[spec_row_argmax(row, vocab)];
        for (int i = 0; i < vocab; i++) {
            sum += row[i] =
                (double)powl(row[i] / (long double)largest, 1.0L / transform->temperature);
        }
        for (int i = 0; i < vocab; i++) row[i] = (double)(row[i] / sum);
    }
    for (int i = 0; i < vocab; i++) keep[i] = true;
    for (int filter = 0; filter < 3; filter++) {
        for (int i = 0; i < vocab; i++) sorted[i] = &row[i];
        qsort(sorted, (size_t)vocab, sizeof sorted[0], by_probability);
        long double before = 0.0L;
        for (int rank = 0; rank < vocab; rank++) {
            const int i = (int)(sorted[rank] - row);
            if (filter == 0 && transform->top_k > 0 && transform->top_k < vocab &&
                row[i] < *sorted[transform->top_k - 1]) {
                keep[i] = false;
            }
            if (filter == 1 && rank > 0 && (double)before >= transform->top_p) keep[i] = false;
            if (filter == 2 && row[i] < transform->min_p * *sorted[0]) keep[i] = false;
            before += row[i];
        }
        if (filter < 2 && !transform->chained) continue;
        long double sum = 0.0L;
        for (int i = 0; i < vocab; i++) sum += row[i] = keep[i] ? row[i] : 0.0;
        for (int i = 0; i < vocab; i++) row[i] = (double)(row[i] / sum);
    }
}

TEST(filters_agree_with_a_full_sort)
{
    static const double temperatures[] = {1.0, 0.27, 2.385}, top_ps[] = {1.0, 0.9, 0.651, 0.27},
                        min_ps[] = {0.0, 0.031, 0.27};
    static const int top_ks[] = {0, 1, 2, 13, 200}, vocabs[] = {1, 2, 5, 63, 64, 65, 500};
    double row[500], expected[500];
    uint64_t key = 1;
    for (int i = 0; i < 7 * 3 * 4 * 3 * 5 * 4; i++, key++) {
        const int vocab = vocabs[i % 7];
        spec_transform transform = {.temperature = temperatures[i / 7 % 3],
                                    .top_p = top_ps[i / 21 % 4],
                                    .min_p = min_ps[i / 84 % 3],
                                    .top_k = top_ks[i / 252 % 5],
                                    .chained = i / 1260 % 2 == 1};
        random_row(row, vocab, key, i / 2520 == 1);
        memcpy(expected, row, sizeof row);
        apply(row, vocab, transform);
        transform_ref(expected, vocab, &transform);
        assert_normalised(row, vocab);
        for (int t = 0; t < vocab; t++) {
            assert_int_equal(row[t] > 0.0, expected[t] > 0.0);
            if (fabs(row[t] - expected[t]) > 3e-14 * expected[t]) {
                fail_msg("case %d, token %d: off by %g", i, t, row[t] / expected[t] - 1.0);
            }
        }
    }
}

/* ---- edges ----------------------------------------------------------------------------------- */

TEST(filters_that_keep_all_change_no_bit)
{
    double row[65], kept[65];
    for (uint64_t key = 0; key < 50; key++) {
        random_row(row, 65, key, false);
        row[key % 65] = nextafter(row[key % 65], 1.0); /* not quite normalised, so an unneeded
                                                        * division would show */
        memcpy(kept, row, sizeof row);
        apply(row, 65, SPEC_TRANSFORM_NONE);
        apply(row, 65, (spec_transform){.temperature = 1.0, .top_k = 65, .top_p = 1.0});
        apply(
            row, 65,
            (spec_transform){.temperature = 1.0, .top_k = 1000000, .top_p = 1.0, .chained = true});
        apply(row, 65, (spec_transform){.temperature = 1.0, .top_p = 1.0, .min_p = 1e-300});
        assert_memory_equal(row, kept, sizeof row);
    }
    double tail[] = {1.0, 1e-20, 0.0}; /* its mass is 1 before its end */
    apply(tail, 3, (spec_transform){.temperature = 1.0, .top_k = 2, .top_p = 1.0});
    assert_row(tail, (const double[]){1.0, 1e-20, 0.0}, 3);
    assert_true(tail[1] == 1e-20);
    /* top_k of 4 tokens, of which 3 remain */
    double zeros[] = {0.3, 0.0, 0.0, 0.05, 0.65}, kept_zeros[5];
    memcpy(kept_zeros, zeros, sizeof zeros);
    apply(zeros, 5, (spec_transform){.temperature = 1.0, .top_k = 4, .top_p = 1.0});
    apply(zeros, 5, (spec_transform){.temperature = 1.0, .top_k = 3, .top_p = 1.0});
    assert_memory_equal(zeros, kept_zeros, sizeof zeros);
    double short_of_one[] = {0.3, 0.05, 0.65 - 1e-14}; /* its mass is below top_p */
    apply(short_of_one, 3, (spec_transform){.temperature = 1.0, .top_p = 1.0 - 1e-15});
    assert_true(short_of_one[0] == 0.3 && short_of_one[1] == 0.05 &&
                short_of_one[2] == 0.65 - 1e-14);
    opened plain = open_model("zipf?V=65", NULL),
           same = open_model("zipf?V=65&temperature=1&top_k=65&top_p=1&min_p=0", NULL);
    assert_memory_equal(row_after(&plain, NULL, 0), row_after(&same, NULL, 0), sizeof row);
    opened_free(&plain);
    opened_free(&same);
}

TEST(extreme_temperatures_neither_overflow_nor_vanish)
{
    static const double temperatures[] = {1e-300, 1e-9, 1e-3, 100.0, 1e9};
    for (int i = 0; i < 5; i++) {
        double row[] = {1e-300, 0.3, 0.0, 0.7 - 1e-15, 1e-15};
        spec_row_normalise(row, 5);
        apply(row, 5, with_temperature(temperatures[i]));
        assert_normalised(row, 5);
        assert_true(row[2] == 0.0);
        if (temperatures[i] < 1.0) assert_true(row[3] == 1.0);
        if (temperatures[i] == 1e9)
            assert_true(fabs(row[0] - 0.25) < 1e-6 && fabs(row[3] - 0.25) < 1e-6);
    }
    double tiny[] = {DBL_MIN, 1.0};
    apply(tiny, 2, with_temperature(0.5));
    assert_true(tiny[0] == 0.0 && tiny[1] == 1.0);
}

TEST(a_large_row_of_equals_is_filtered)
{
    enum { V = 4096 };
    static double row[V];
    for (int i = 0; i < V; i++) row[i] = 1.0 / V;
    spec_transform transform = SPEC_TRANSFORM_NONE;
    transform.top_p = 0.5;
    apply(row, V, transform);
    for (int i = 0; i < V; i++) assert_true(row[i] == (i < V / 2 ? 2.0 / V : 0.0));
}

/* ---- the wrapped model ----------------------------------------------------------------------- */

/* A model of order 6, too large for a table. */
TEST(a_wrapped_model_transforms_every_row)
{
    opened base = open_model("dirichlet?V=20&order=6&seed=5", NULL);
    OWNED(opened) o =
        open_model("dirichlet?V=20&order=6&seed=5&temperature=0.651&top_k=9&top_p=0.9", NULL);
    assert_int_equal(o.model->order, 6);
    assert_string_equal(o.model->kind->name, "dirichlet");
    assert_string_equal(o.model->spec,
                        "dirichlet?V=20&order=6&seed=5&temperature=0.651&top_k=9&top_p=0.9");
    assert_null(o.model->kind->token_text);
    const int context[] = {7, 3}, token[] = {1, 2, 19}, tree[] = {-1, 0, 0};
    const double *row[4];
    double scratch[80], expected[20];
    for (int shape = 0; shape < 2; shape++) {
        assert_int_equal(
            spec_session_score(&o.session,
                               &(spec_score_request){.context = context,
                                                     .n_context = 2,
                                                     .token = token,
                                                     .opt_parent = shape == 0 ? NULL : tree,
                                                     .n_nodes = 3,
                                                     .ret_row = row,
                                                     .scratch = scratch},
                               NULL),
            0);
        for (int i = 0; i < 4; i++) {
            int path[5] = {7, 3, 1, 2, 19};
            const size_t length = shape == 0 ? 2 + (size_t)i : i == 0 ? 2 : i == 1 ? 3 : 4;
            if (shape == 1 && i == 3) path[3] = 19;
            memcpy(expected, row_after(&base, path, length), sizeof expected);
            apply(expected, 20, (spec_transform){.temperature = 0.651, .top_k = 9, .top_p = 0.9});
            assert_memory_equal(row[i], expected, sizeof expected);
            assert_memory_equal(row_after(&o, path, length), expected, sizeof expected);
        }
    }
    opened_free(&base);
}

TEST(each_setting_alone_makes_a_transform)
{
    static const char *const specs[] = {"m?temperature=0",
                                        "m?temperature=1.01",
                                        "m?temperature=2",
                                        "m?top_k=1",
                                        "m?top_k=2",
                                        "m?top_p=0.99",
                                        "m?min_p=0.01",
                                        "m?min_p=1",
                                        "m",
                                        "m?filters=chained",
                                        "m?temperature=1&top_k=0&top_p=1&min_p=0"};
    for (int i = 0; i < 11; i++) {
        OWNED(spec_settings) settings;
        spec_transform transform;
        assert_int_equal(spec_settings_init(&settings, specs[i], NULL), GSL_SUCCESS);
        assert_int_equal(spec_transform_read(&transform, &settings, NULL), GSL_SUCCESS);
        assert_int_equal(spec_transform_is_none(&transform), i >= 8);
        assert_int_equal(transform.chained, i == 9);
    }
}

TEST(bad_values_are_refused)
{
    assert_refused("zipf?temperature=-1", NULL, "temperature=-1 is not between 0 and 1e+09");
    assert_refused("zipf?temperature=nan", NULL, "finite");
    assert_refused("zipf?temperature=inf", NULL, "finite");
    assert_refused("zipf?top_k=-1", NULL, "between 0");
    assert_refused("zipf?top_k=2.5", NULL, "whole number");
    assert_refused("zipf?top_p=1.01", NULL, "between 0 and 1");
    assert_refused("zipf?top_p=-0.1", NULL, "between 0 and 1");
    assert_refused("zipf?min_p=nan", NULL, "finite");
    assert_refused("zipf?min_p=1.01", NULL, "between 0 and 1");
    assert_refused("zipf?filters=both", NULL, "not one of joint or chained");
    assert_refused("zipf?topk=3", NULL, "did you mean 'top_k'");
}
