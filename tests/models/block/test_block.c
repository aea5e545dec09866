/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks rows of block drafts against a second route: the recursion over all predecessors, without
 * merging, sampling or water filling. */
#include "base/noise.h"
#include "models/block/low_rank.h"
#include "tests/models/open_model.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

enum { K = 4, V_MAX = 4 };

/* Returns the rows after a context and a path, from the session. */
static void read_rows(opened *draft, double (*ret_row)[V_MAX], const int *context, size_t n,
                      const int *path, int first)
{
    const int V = draft->model->vocab;
    double store[(K + 1) * V_MAX];
    const double *row[K + 1];
    spec_error error = {""};
    const spec_score_request request = {.context = context,
                                        .n_context = n,
                                        .token = path,
                                        .n_nodes = K - 1,
                                        .first = first,
                                        .ret_row = row,
                                        .scratch = store};
    if (spec_session_score(&draft->session, &request, &error) != GSL_SUCCESS)
        fail_msg("%s: %s", draft->model->spec, error.text);
    for (int i = first; i < K; i++) {
        assert_normalised(row[i], V);
        memcpy(ret_row[i], row[i], (size_t)V * sizeof *row[i]);
    }
}

/* Adds E[sum_x min(target(x), row(x))] at offset `offset`, times the probability of getting there,
 * over every path; also what the mean row would have. `offered[i]` (V) is the row of offset i. */
static long double accepted(opened *target, double (*offered)[V_MAX], int *text, size_t n,
                            int length, int offset, long double weight, double *mean)
{
    const int V = target->model->vocab;
    double row[V_MAX];
    long double sum = 0.0L;
    memcpy(row, row_after(target, text, n + (size_t)length), (size_t)V * sizeof *row);
    for (int x = 0; x < V; x++) {
        const long double both = fmin(row[x], offered[length][x]);
        text[n + (size_t)length] = x;
        if (length == offset) {
            sum += weight * both;
            mean[x] += (double)(weight * row[x]);
        } else if (both > 0.0L && !spec_model_ends_text(target->model, x))
            sum += accepted(target, offered, text, n, length + 1, offset, weight * both, mean);
    }
    return sum;
}

static const char *const targets[] = {
    "dirichlet?V=3&order=0&seed=3",
    "dirichlet?V=4&order=1&concentration=0.4&seed=4",
    "dirichlet?V=3&order=2&concentration=0.5&zeros=0.2&seed=5",
    "dirichlet?V=3&order=5&concentration=0.5&seed=6",
    "cases?V=3&order=2&family=mixed&seed=7",
    "cases?V=4&order=3&family=levels&seed=8",
    "cases?V=3&order=2&family=plain&seed=9&end=1",
    "random?dim=8&layers=1&heads=2&ffn=12&vocab=3&context=20&type=f32&seed=2",
};

TEST(the_best_row_beats_the_mean_and_random_rows)
{
    uint64_t noise = spec_test_seed();
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
        OWNED(opened) target = open_model(targets[t], NULL);
        OWNED(opened) best = open_model("block?of=target", target.model);
        const int V = target.model->vocab, path[K] = {0};
        int text[8 + K] = {2, 0, 1, 2};
        double row[K][V_MAX];
        read_rows(&best, row, text, 4, path, 0);
        assert_memory_equal(row[0], row_after(&target, text, 4), (size_t)V * sizeof(double));
        for (int offset = 1; offset < K; offset++) {
            double mean[V_MAX] = {0}, unused[V_MAX], kept[V_MAX];
            memcpy(kept, row[offset], sizeof kept);
            const long double most = accepted(&target, row, text, 4, 0, offset, 1.0L, mean);
            spec_row_normalise(mean, V);
            memcpy(row[offset], mean, sizeof mean);
            assert_true(accepted(&target, row, text, 4, 0, offset, 1.0L, unused) <= most + 1e-14L);
            for (int again = 0; again < 1000; again++) {
                for (int x = 0; x < V; x++)
                    row[offset][x] =
                        (again % 2 == 0 ? 0.0 : 50.0 * kept[x]) -
                        log((double)spec_noise_word(noise, (uint64_t)again * 8 + (uint64_t)x) *
                                0x1p-64 +
                            1e-300);
                spec_row_normalise(row[offset], V);
                assert_true(accepted(&target, row, text, 4, 0, offset, 1.0L, unused) <=
                            most + 1e-14L);
            }
            memcpy(row[offset], kept, sizeof kept);
        }
    }
}

/* The greedy block is the target's own greedy text, so independence costs it nothing. */
TEST(greedy_rows_are_the_greedy_text)
{
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
        opened target = open_model(targets[t], NULL);
        opened greedy = open_model("block?of=target&row=greedy", target.model);
        const int V = target.model->vocab, path[K] = {0};
        int text[8 + K] = {1, 1};
        double row[K][V_MAX];
        read_rows(&greedy, row, text, 2, path, 0);
        for (int offset = 0; offset < K; offset++) {
            const int most = spec_row_argmax(row_after(&target, text, 2 + (size_t)offset), V);
            assert_true(row[offset][most] == 1.0);
            if (spec_model_ends_text(target.model, most)) break;
            text[2 + offset] = most;
        }
        opened_free(&greedy);
        opened_free(&target);
    }
}

/* On texts of the target, the mean row of an offset is its marginal law. */
TEST(mean_rows_are_the_marginals_of_the_target)
{
    OWNED(opened) target = open_model("dirichlet?V=3&order=2&concentration=0.5&seed=5", NULL);
    OWNED(opened) draft = open_model("block?of=target&row=mean", target.model);
    const int path[K] = {0};
    double row[K][V_MAX], marginal[K][V_MAX] = {{0}};
    int text[K];
    for (int code = 0; code < 81; code++) {
        double weight = 1.0;
        for (int i = 0, rest = code; i < K; i++, rest /= 3) {
            text[i] = rest % 3;
            weight *= row_after(&target, text, (size_t)i)[text[i]];
        }
        for (int i = 0; i < K; i++) marginal[i][text[i]] += weight;
    }
    read_rows(&draft, row, NULL, 0, path, 0);
    for (int i = 0; i < K; i++)
        for (int x = 0; x < 3; x++) assert_within(row[i][x], marginal[i][x], 1e-14);
}

TEST(rows_do_not_depend_on_drafted_tokens_or_on_the_order_of_requests)
{
    static const char *const specs[] = {"block?of=target", "block?of=target&paths=2",
                                        "block?of=target&row=mean&alpha=0.7&paths=3"};
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++)
        for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
            OWNED(opened) target = open_model(targets[t], NULL);
            OWNED(opened) draft = open_model(specs[s], target.model);
            OWNED(opened) again = open_model(specs[s], target.model);
            const int context[] = {0, 2, 1, 1}, one[K] = {0, 0, 0}, other[K] = {2, 1, 2};
            double row[K][V_MAX], second[K][V_MAX], third[K][V_MAX];
            const size_t size = (size_t)target.model->vocab * sizeof(double);
            spec_error error = {""};
            if (spec_session_row(&draft.session, context, 4, draft.scratch, &error) == NULL) {
                assert_non_null(strstr(error.text, "no row overlaps")); /* alpha is too small */
            } else {
                read_rows(&draft, row, context, 4, one, 0);
                read_rows(&again, third, context + 1, 2, other, 0);
                read_rows(&again, second, context, 4, other, K - 1);
                assert_memory_equal(row[K - 1], second[K - 1], size);
                read_rows(&again, second, context, 4, other, 0);
                for (int i = 0; i < K; i++) assert_memory_equal(row[i], second[i], size);
            }
        }
}

/* A first-order target has no older predecessors, so its rows are known exactly. */
TEST(markov_rows_of_a_first_order_target_are_its_rows)
{
    static const char *const specs[] = {"markov-block?of=target", "markov-block?of=target&rank=4",
                                        "markov-block?of=target&top=4"};
    OWNED(opened) target = open_model("dirichlet?V=4&order=1&concentration=0.8&seed=4", NULL);
    for (size_t s = 0; s < 3; s++) {
        OWNED(opened) draft = open_model(specs[s], target.model);
        int text[1 + K] = {2};
        double row[K][V_MAX];
        for (int code = 0; code < 64; code++) {
            for (int i = 0, rest = code; i < K - 1; i++, rest /= 4) text[1 + i] = rest % 4;
            read_rows(&draft, row, text, 1, text + 1, 0);
            for (int i = 0; i < K; i++) {
                const double *exact = row_after(&target, text, 1 + (size_t)i);
                for (int x = 0; x < 4; x++) assert_within(row[i][x], exact[x], 1e-13);
            }
        }
    }
}

TEST(rank_0_is_the_independent_block_and_top_keeps_candidates)
{
    OWNED(opened) target = open_model("dirichlet?V=4&order=3&concentration=0.5&seed=6", NULL);
    opened block = open_model("block?of=target", target.model);
    opened flat = open_model("markov-block?of=target&rank=0", target.model);
    opened whole = open_model("markov-block?of=target", target.model);
    opened full = open_model("markov-block?of=target&rank=4", target.model);
    opened top = open_model("markov-block?of=target&top=2", target.model);
    double row[5][K][V_MAX];
    opened *const each[] = {&block, &flat, &whole, &full, &top};
    for (int code = 0; code < 64; code++) {
        int path[K], support[K] = {0};
        for (int i = 0, rest = code; i < K - 1; i++, rest /= 4) path[i] = rest % 4;
        for (int m = 0; m < 5; m++) read_rows(each[m], row[m], (const int[]){3, 1}, 2, path, 0);
        assert_memory_equal(row[0], row[1], sizeof row[0]);
        for (int i = 0; i < K; i++)
            for (int x = 0; x < 4; x++) {
                assert_within(row[2][i][x], row[3][i][x], 1e-12);
                support[i] += row[4][i][x] > 0.0;
            }
        for (int i = 0; i < K; i++) assert_true(support[i] <= 2);
    }
    for (int m = 0; m < 5; m++) opened_free(each[m]);
}

/* The rows are a base plus a bias of rank 1. Normalising adds a constant per row, so rank 2
 * represents them exactly, and rank 1 does not. */
TEST(a_bias_of_rank_2_is_recovered)
{
    const double base[] = {0.4, 0.3, 0.2, 0.1}, by_token[] = {-0.9, 0.4, 1.1},
                 by_next[] = {0.7, -0.2, 1.1, -0.9};
    double row[12], found[12], far = 0.0;
    for (int a = 0; a < 3; a++) {
        for (int x = 0; x < 4; x++) row[4 * a + x] = base[x] * exp(by_token[a] * by_next[x]);
        spec_row_normalise(row + 4 * a, 4);
    }
    memcpy(found, row, sizeof row);
    assert_works(spec_low_rank(found, base, 3, 4, 2, &error));
    for (int i = 0; i < 12; i++) assert_within(found[i], row[i], 1e-13);
    memcpy(found, row, sizeof row);
    assert_works(spec_low_rank(found, base, 3, 4, 1, &error));
    for (int i = 0; i < 12; i++) far = fmax(far, fabs(found[i] - row[i]));
    assert_true(far > 1e-3 && far < 0.1);
    for (int a = 0; a < 3; a++) assert_normalised(found + 4 * a, 4);
}

/* With a higher rank more tokens are accepted at the first offset that has a previous token. */
TEST(a_higher_rank_shares_more_with_the_rows)
{
    OWNED(opened) target = open_model("dirichlet?V=4&order=1&concentration=0.4&seed=4", NULL);
    double shared[5] = {0};
    for (int rank = 0; rank <= 4; rank++) {
        char spec[64];
        snprintf(spec, sizeof spec, "markov-block?of=target&rank=%d", rank);
        OWNED(opened) draft = open_model(spec, target.model);
        for (int first = 0; first < 16; first++) {
            const int text[] = {first / 4, first % 4}, path[K] = {first % 4};
            double row[K][V_MAX];
            read_rows(&draft, row, text, 1, path, 0);
            shared[rank] += row_after(&target, text, 1)[first % 4] *
                            spec_row_overlap(row[1], row_after(&target, text, 2), 4) / 4.0;
        }
    }
    print_message("overlap by rank: %.3f %.3f %.3f %.3f %.3f\n", shared[0], shared[1], shared[2],
                  shared[3], shared[4]);
    assert_true(shared[1] > shared[0] + 0.01 && shared[2] > shared[1] && shared[3] > shared[2]);
    assert_within(shared[4], 1.0, 1e-13);
}

/* Returns the mean distance of the last row from the exact one; the error falls with the number of
 * paths. */
TEST(sampled_paths_approach_the_exact_row)
{
    static const int paths[] = {2, 6, 18, 27};
    OWNED(opened) target = open_model("dirichlet?V=3&order=8&concentration=0.7&seed=6", NULL);
    OWNED(opened) exact = open_model("block?of=target&row=mean&reach=5&paths=81", target.model);
    const int path[K] = {0};
    double far[4] = {0};
    for (int p = 0; p < 4; p++) {
        char spec[64];
        snprintf(spec, sizeof spec, "block?of=target&row=mean&paths=%d", paths[p]);
        OWNED(opened) draft = open_model(spec, target.model);
        for (int c = 0; c < 60; c++) {
            const int context[] = {c % 3, c / 3 % 3, c / 9 % 3, c / 27};
            double row[K][V_MAX], sampled[K][V_MAX];
            read_rows(&exact, row, context, 4, path, 0);
            read_rows(&draft, sampled, context, 4, path, 0);
            for (int x = 0; x < 3; x++) far[p] += fabs(row[K - 1][x] - sampled[K - 1][x]) / 120.0;
        }
    }
    print_message("mean tv of the sampled rows: %.3f %.3f %.3f %.1e\n", far[0], far[1], far[2],
                  far[3]);
    assert_true(far[1] < 0.6 * far[0] && far[2] < 0.6 * far[1] && far[3] == 0.0);
}

/* Takes the mean of sampled mean rows over many seeds. With weights of mass in place of the
 * threshold, or without the uniform number, it would be off by several hundredths. */
TEST(sampled_paths_have_no_bias)
{
    enum { SEEDS = 4000 };
    OWNED(opened) target = open_model("dirichlet?V=3&order=8&concentration=0.7&seed=6", NULL);
    OWNED(opened) exact = open_model("block?of=target&row=mean", target.model);
    const int path[K] = {0}, context[] = {2, 2, 0};
    double row[K][V_MAX], sampled[K][V_MAX], sum[V_MAX] = {0}, squares[V_MAX] = {0};
    read_rows(&exact, row, context, 3, path, 0);
    for (int seed = 0; seed < SEEDS; seed++) {
        char spec[64];
        snprintf(spec, sizeof spec, "block?of=target&row=mean&paths=4&seed=%d", seed);
        OWNED(opened) draft = open_model(spec, target.model);
        read_rows(&draft, sampled, context, 3, path, 0);
        for (int x = 0; x < 3; x++) {
            const double off = sampled[K - 1][x] - row[K - 1][x];
            sum[x] += off;
            squares[x] += off * off;
        }
    }
    for (int x = 0; x < 3; x++) {
        print_message("token %d: off by %.5f, standard error %.5f\n", x, sum[x] / SEEDS,
                      sqrt(squares[x]) / SEEDS);
        assert_true(squares[x] > 0.0 && fabs(sum[x]) < 5.0 * sqrt(squares[x]));
    }
}

TEST(bad_settings_are_refused)
{
    OWNED(opened) target = open_model("zipf?V=70000", NULL);
    OWNED(opened) text =
        open_model("random?dim=8&layers=1&heads=2&ffn=12&vocab=3&context=20&type=f32", NULL);
    assert_refused("block?of=target&alpha=0", target.model, "alpha=0");
    assert_refused("block?of=target&row=worst", target.model, "row=worst");
    assert_refused("block?of=target&paths=60000", target.model, "GB, more than 1 GB");
    assert_refused("markov-block?of=target&paths=40&rank=2", target.model, "too slow");
    assert_refused("markov-block?of=target&top=70000", target.model, "top=70000");
    assert_refused("block?of=target&paths=100", text.model, "use paths=68 or less");
    opened few = open_model("zipf?V=8", NULL); /* and with so few tokens before an offset */
    opened many = open_model("markov-block?of=target&paths=4096&rank=2", few.model);
    opened_free(&many);
    opened_free(&few);
    OWNED(opened) draft = open_model("block?of=target&reach=2", text.model);
    const double *row[4];
    double store[12];
    assert_fails_with(spec_session_score(&draft.session,
                                         &(spec_score_request){.token = (const int[]){0, 1, 2},
                                                               .n_nodes = 2,
                                                               .ret_row = row,
                                                               .scratch = store},
                                         &error),
                      GSL_EINVAL, "has rows for 2 draft tokens, so none for number 3");
}
