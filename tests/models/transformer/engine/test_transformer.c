/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/engine/transformer.h"

#include "base/noise.h"
#include "models/model_open.h"
#include "speclab/round.h"
#include "tests/support/contexts.h"
#include "tests/support/model_of.h"
#include "tests/support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { VOCAB = 37, CONTEXT = 300, NODES = 150 };

#define SMALL "random?dim=32&layers=3&heads=4&kv_heads=2&ffn=64&vocab=37&context=300&seed=3"

static uint64_t noise_word;

static int noise(int n)
{
    return (int)(spec_noise_word(noise_word++, 5) % (uint64_t)n);
}

/* A session with history, and a fresh one that computes one row in one pass. */
typedef struct {
    spec_model *model;
    spec_session used;
    double *scratch, *fresh_row;
    const double **row;
} fixture;

static void open_fixture(fixture *f, const char *spec)
{
    f->model = model_of(spec, NULL);
    assert_int_equal(spec_session_init(&f->used, f->model, NULL), GSL_SUCCESS);
    f->scratch = malloc((NODES + 1) * VOCAB * sizeof *f->scratch);
    f->fresh_row = malloc(VOCAB * sizeof *f->fresh_row);
    f->row = calloc(NODES + 1, sizeof *f->row);
}

static void fixture_free(fixture *f)
{
    spec_session_free(&f->used);
    spec_model_close(f->model);
    free(f->scratch);
    free(f->fresh_row);
    free(f->row);
}

/* Reads token after token from the beginning, in passes of one column. */
static const double *plain_row(fixture *f, const int *text, size_t n)
{
    OWNED(spec_session) session;
    assert_int_equal(spec_session_init(&session, f->model, NULL), GSL_SUCCESS);
    const double *row = NULL;
    for (size_t i = 0; i <= n; i++) row = spec_session_row(&session, text, i, f->fresh_row, NULL);
    assert_non_null(row);
    return row;
}

static size_t path_to(int *text, size_t n, const int *token, const int *parent, int node)
{
    size_t depth = 0;
    for (int at = node; at >= 0; at = parent[at]) depth++;
    for (int at = node, i = (int)depth; at >= 0; at = parent[at]) text[n + (size_t)--i] = token[at];
    return n + depth;
}

/* Follows texts that continue along drafts, beside them and back, with trees at once and level by
 * level. Rows equal those of the text alone, bit for bit. */
TEST(a_row_depends_on_its_text_alone)
{
    static const char *const specs[] = {
        SMALL "&type=f32", SMALL "&type=q8_0", SMALL "&type=bf16&temperature=0.7",
        SMALL "&type=q4_0&temperature=0", SMALL "&type=q8_0&experts=9&active=2&expert_ffn=32"};
    for (size_t s = 0; s < sizeof specs / sizeof specs[0]; s++) {
        OWNED(fixture) f;
        open_fixture(&f, specs[s]);
        int text[CONTEXT], token[NODES], parent[NODES];
        size_t n = 0;
        noise_word = 1000 * s;
        for (int step = 0; step < 25; step++) {
            const int n_nodes = step % 7 == 6 ? NODES : noise(12), first_half = noise(n_nodes + 1);
            for (int i = 0; i < n_nodes; i++) {
                token[i] = noise(VOCAB);
                parent[i] = step % 3 == 0 ? i - 1 : noise(i + 1) - 1;
                if (step % 7 == 6) parent[i] = i < 12 ? i - 1 : noise(i < 40 ? i : 40) - 1;
            }
            assert_int_equal(spec_session_score(&f.used,
                                                &(spec_score_request){.context = text,
                                                                      .n_context = n,
                                                                      .token = token,
                                                                      .opt_parent = parent,
                                                                      .n_nodes = first_half,
                                                                      .ret_row = f.row,
                                                                      .scratch = f.scratch},
                                                NULL),
                             GSL_SUCCESS);
            if (n_nodes > first_half)
                assert_int_equal(spec_session_score(&f.used,
                                                    &(spec_score_request){.context = text,
                                                                          .n_context = n,
                                                                          .token = token,
                                                                          .opt_parent = parent,
                                                                          .n_nodes = n_nodes,
                                                                          .first = first_half + 1,
                                                                          .ret_row = f.row,
                                                                          .scratch = f.scratch},
                                                    NULL),
                                 GSL_SUCCESS);
            for (int look = 0; look < 3; look++) {
                const int node = noise(n_nodes + 1) - 1;
                const size_t length = path_to(text, n, token, parent, node);
                assert_memory_equal(f.row[node + 1], plain_row(&f, text, length),
                                    VOCAB * sizeof(double));
            }
            if (n_nodes > 0 && noise(4) > 0) n = path_to(text, n, token, parent, noise(n_nodes));
            if (noise(3) > 0) text[n++] = noise(VOCAB);
            if (noise(8) == 0) n = (size_t)noise((int)n + 1);
            if (n > CONTEXT - 160) n = (size_t)noise(20);
        }
    }
}

/* Two sessions have begun scores at once, in one pass or several. The rows equal those of a plain
 * score, bit for bit, also through a wrapper; and each session continues from its state. */
TEST(a_score_in_two_halves_is_the_same)
{
    static const char *const specs[] = {SMALL "&type=f32",
                                        SMALL "&type=q8_0&temperature=0.7&top_k=5"};
    for (size_t s = 0; s < sizeof specs / sizeof specs[0]; s++) {
        fixture f;
        open_fixture(&f, specs[s]);
        spec_session other;
        assert_int_equal(spec_session_init(&other, f.model, NULL), GSL_SUCCESS);
        double *store = malloc((NODES + 1) * VOCAB * sizeof *store);
        const double *row[NODES + 1];
        int text[CONTEXT], longer[CONTEXT], token[NODES];
        size_t n = 0;
        noise_word = 1000 * s;
        for (int step = 0; step < 12; step++) {
            const int n_nodes = step % 4 == 3 ? NODES - 1 : noise(9), first = noise(n_nodes + 1);
            for (int i = 0; i < n_nodes; i++) token[i] = noise(VOCAB);
            memcpy(longer, text, n * sizeof *text);
            longer[n] = noise(VOCAB);
            assert_int_equal(spec_session_score_begin(&f.used,
                                                      &(spec_score_request){.context = text,
                                                                            .n_context = n,
                                                                            .token = token,
                                                                            .n_nodes = n_nodes,
                                                                            .first = first,
                                                                            .ret_row = f.row,
                                                                            .scratch = f.scratch},
                                                      NULL),
                             GSL_SUCCESS);
            assert_int_equal(spec_session_score_begin(&other,
                                                      &(spec_score_request){.context = longer,
                                                                            .n_context = n + 1,
                                                                            .token = token,
                                                                            .n_nodes = n_nodes,
                                                                            .ret_row = row,
                                                                            .scratch = store},
                                                      NULL),
                             GSL_SUCCESS);
            assert_int_equal(spec_session_score_end(&f.used, NULL), GSL_SUCCESS);
            assert_int_equal(spec_session_score_end(&other, NULL), GSL_SUCCESS);
            for (int node = first - 1; node < n_nodes; node++) {
                memcpy(text + n, token, (size_t)(node + 1) * sizeof *text);
                memcpy(longer + n + 1, token, (size_t)(node + 1) * sizeof *text);
                if (node > first && node < n_nodes - 1) continue;
                assert_memory_equal(f.row[node + 1], plain_row(&f, text, n + (size_t)node + 1),
                                    VOCAB * sizeof(double));
                assert_memory_equal(row[node + 1], plain_row(&f, longer, n + (size_t)node + 2),
                                    VOCAB * sizeof(double));
            }
            n += (size_t)noise(n_nodes < 9 ? n_nodes + 1 : 9);
        }
        assert_int_equal(spec_session_score_begin(
                             &other,
                             &(spec_score_request){
                                 .context = text, .n_context = n, .ret_row = row, .scratch = store},
                             NULL),
                         GSL_SUCCESS);
        spec_session_free(&other); /* while the pass may be running */
        free(store);
        fixture_free(&f);
    }
}

TEST(a_text_beyond_the_context_is_refused)
{
    OWNED(fixture) f;
    spec_error error = {""};
    open_fixture(&f, SMALL);
    int text[CONTEXT + 1] = {0};
    const size_t window = (size_t)f.model->window;
    assert_true(window == CONTEXT || window == CONTEXT - 1);
    assert_non_null(spec_session_row(&f.used, text, window, f.scratch, &error));
    assert_null(spec_session_row(&f.used, text, window + 1, f.scratch, &error));
    assert_non_null(strstr(error.text, "too long: the model's context is"));
    assert_int_equal(spec_session_score(&f.used,
                                        &(spec_score_request){.context = text,
                                                              .n_context = window - 2,
                                                              .token = text,
                                                              .n_nodes = 3,
                                                              .ret_row = f.row,
                                                              .scratch = f.scratch},
                                        &error),
                     GSL_EINVAL);
    assert_works(spec_session_score(&f.used,
                                    &(spec_score_request){.context = text,
                                                          .n_context = window - 3,
                                                          .token = text,
                                                          .n_nodes = 3,
                                                          .ret_row = f.row,
                                                          .scratch = f.scratch},
                                    &error));
    const int bush[] = {-1, -1, -1};
    assert_works(spec_session_score(&f.used,
                                    &(spec_score_request){.context = text,
                                                          .n_context = window - 1,
                                                          .token = text,
                                                          .opt_parent = bush,
                                                          .n_nodes = 3,
                                                          .ret_row = f.row,
                                                          .scratch = f.scratch},
                                    &error));
}

TEST(rows_are_distributions)
{
    OWNED(fixture) f;
    open_fixture(&f, SMALL "&temperature=0.8&top_k=5");
    const int text[] = {3, 1, 4};
    const double *row = spec_session_row(&f.used, text, 3, f.scratch, NULL);
    double sum = 0.0;
    int kept = 0;
    for (int i = 0; i < VOCAB; i++) sum += row[i], kept += row[i] > 0.0;
    assert_true(sum > 1.0 - 1e-12 && sum < 1.0 + 1e-12);
    assert_int_equal(kept, 5);
}
