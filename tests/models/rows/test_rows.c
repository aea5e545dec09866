/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the model: rows by place, for any beginning and any tokens of a context, alone and in
 * passes. */
#include "models/rows/rows.h"

#include "tests/models/rows/rows_pair.h"
#include "tests/support/folder.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

static const char path[] = "test_rows.tmp";
static const char target_spec[] = "cases?V=5&order=2&seed=3",
                  draft_spec[] = "cases?V=5&order=2&side=draft&seed=3";

enum { N = 2500, V = 5 };

static opened target, draft;
static int text[N];

static int set_up(void **state)
{
    if (spec_folder_enter(state) != 0) return -1;
    target = open_model(target_spec, NULL);
    draft = open_model(draft_spec, NULL);
    for (int i = 0; i < N; i++) text[i] = rows_pair_token((uint64_t)i, V);
    rows_pair_write(path, &target, &draft, N, 1, 0.0);
    return 0;
}

static int tear_down(void **state)
{
    opened_free(&draft);
    opened_free(&target);
    return spec_folder_leave(state);
}

static void assert_row(const double *row, opened *of, int place)
{
    const double *expected = row_after(of, text, (size_t)place);
    for (int i = 0; i < V; i++) assert_same(row[i], expected[i]);
}

TEST(the_text_itself_is_at_its_places)
{
    opened o = open_model("rows:test_rows.tmp", NULL),
           other = open_model("rows:test_rows.tmp?side=draft", NULL);
    assert_int_equal(o.model->vocab, V);
    assert_int_equal(o.model->order, -1);
    assert_int_equal(o.model->ends.n, 0);
    for (int p = 0; p < N; p++) {
        assert_row(row_after(&o, text, (size_t)p), &target, p);
        assert_row(row_after(&other, text, (size_t)p), &draft, p);
    }
    opened_free(&other);
    opened_free(&o);
}

/* The first place follows the last one. */
TEST(the_place_is_the_number_of_tokens)
{
    OWNED(opened) o = open_model("rows:test_rows.tmp", NULL);
    FREED int *context = calloc(2 * N + 3, sizeof *context);
    for (int n = 0; n < 2 * N + 3; n += 7)
        assert_row(row_after(&o, context, (size_t)n), &target, n % N);
    assert_row(row_after(&o, context, N), &target, 0);
}

/* After a prompt only the prompt's place counts, not the tokens that follow. */
TEST(prompts_carry_their_place)
{
    opened o = open_model("rows:test_rows.tmp", NULL),
           other = open_model("rows:test_rows.tmp?side=draft", NULL);
    int context[64], seen[N] = {0}, prompts = 0;
    for (unsigned long k = 0; k < 2000; k++) {
        const size_t n = o.model->kind->prompt(o.model, k, context, SPEC_ROWS_PROMPT);
        int place = -1;
        assert_int_equal(n, SPEC_ROWS_PROMPT);
        for (int p = SPEC_ROWS_PROMPT; p < N && place < 0; p++)
            if (memcmp(context, text + p - SPEC_ROWS_PROMPT, sizeof(int) * SPEC_ROWS_PROMPT) == 0)
                place = p;
        assert_true(place >= 0);
        for (size_t more = 0; more < 5; more++) {
            context[n + more] = (int)((k + more) % V);
            assert_row(row_after(&o, context, n + more), &target, (place + (int)more) % N);
            assert_row(row_after(&other, context, n + more), &draft, (place + (int)more) % N);
        }
        prompts += !seen[place];
        seen[place] = 1;
    }
    assert_in_range(prompts, 800, SPEC_ROWS_PROMPTS_MAX);
    assert_int_equal(o.model->kind->prompt(o.model, 1, context, SPEC_ROWS_PROMPT - 1), 0);
    opened_free(&other);
    opened_free(&o);
}

/* Even a few prompts are spread over the file: of 64, every 16th part of it has two to seven. */
TEST(prompts_are_even_from_the_start)
{
    OWNED(opened) o = open_model("rows:test_rows.tmp", NULL);
    int count[16] = {0}, context[SPEC_ROWS_PROMPT];
    for (unsigned long k = 0; k < 64; k++) {
        int place = -1;
        o.model->kind->prompt(o.model, k, context, SPEC_ROWS_PROMPT);
        for (int p = SPEC_ROWS_PROMPT; p < N && place < 0; p++)
            if (memcmp(context, text + p - SPEC_ROWS_PROMPT, sizeof context) == 0) place = p;
        count[place * 16 / N]++;
    }
    for (int i = 0; i < 16; i++) assert_in_range(count[i], 2, 7);
}

static void assert_scored(const char *spec, const int *context, size_t n)
{
    static const int token[] = {3, 0, 4, 1, 2, 2, 0, 1, 3, 3, 0, 4, 1, 2, 4, 0, 1, 2, 3},
                     parent[] = {-1, -1, 0, 0, 1, 2, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 16};
    enum { NODES = 19 };
    OWNED(opened) o = open_model(spec, NULL);
    FREED double *scratch = malloc((NODES + 1) * V * sizeof *scratch);
    for (int chain = 0; chain < 2; chain++)
        for (int first = 0; first <= NODES; first += 6) {
            const double *row[NODES + 1] = {NULL};
            assert_works(
                spec_session_score(&o.session,
                                   &(spec_score_request){.context = context,
                                                         .n_context = n,
                                                         .token = token,
                                                         .opt_parent = chain ? NULL : parent,
                                                         .n_nodes = NODES,
                                                         .first = first,
                                                         .ret_row = row,
                                                         .scratch = scratch},
                                   &error));
            for (int i = first; i <= NODES; i++) {
                int path_to[64], depth = 0;
                for (int node = i - 1; node >= 0; node = chain ? node - 1 : parent[node]) depth++;
                for (size_t k = 0; k < n; k++) path_to[k] = context[k];
                for (int node = i - 1, d = depth; node >= 0; node = chain ? node - 1 : parent[node])
                    path_to[n + (size_t)--d] = token[node];
                const double *alone = row_after(&o, path_to, n + (size_t)depth);
                for (int x = 0; x < V; x++) assert_same(row[i][x], alone[x]);
            }
        }
}

TEST(a_pass_gives_the_rows_of_single_calls)
{
    static const char *const specs[] = {
        "rows:test_rows.tmp", "rows:test_rows.tmp?side=draft&temperature=0.7",
        "rows:test_rows.tmp?at=9", "rows:test_rows.tmp?begin=2490", "rows:test_rows.tmp?top_k=2"};
    OWNED(opened) o = open_model(specs[0], NULL);
    int prompt[32] = {0};
    o.model->kind->prompt(o.model, 5, prompt, SPEC_ROWS_PROMPT);
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        assert_scored(specs[i], NULL, 0);
        assert_scored(specs[i], text + 100, 3);
        assert_scored(specs[i], prompt, 13); /* the tree does not complete a prompt */
        assert_scored(specs[i], prompt, 16);
        assert_scored(specs[i], prompt, 20);
    }
}

/* A draft may complete a prompt that the context began: the rows of a pass must agree with single
 * calls. */
TEST(a_draft_can_complete_a_prompt)
{
    OWNED(opened) o = open_model("rows:test_rows.tmp", NULL);
    int prompt[SPEC_ROWS_PROMPT];
    const double *row[5];
    double scratch[5 * V];
    o.model->kind->prompt(o.model, 5, prompt, SPEC_ROWS_PROMPT);
    assert_works(spec_session_score(&o.session,
                                    &(spec_score_request){.context = prompt,
                                                          .n_context = 12,
                                                          .token = prompt + 12,
                                                          .n_nodes = 4,
                                                          .ret_row = row,
                                                          .scratch = scratch},
                                    &error));
    for (size_t i = 0; i <= 4; i++) {
        const double *alone = row_after(&o, prompt, 12 + i);
        for (int x = 0; x < V; x++) assert_same(row[i][x], alone[x]);
    }
    assert_true(memcmp(row[4], row_after(&o, text, 16), sizeof scratch / 5) !=
                0); /* it was not a prefix of the text */
}

TEST(at_is_one_row_and_begin_one_start)
{
    opened at = open_model("rows:test_rows.tmp?at=17", NULL),
           begin = open_model("rows:test_rows.tmp?begin=17", NULL);
    int prompt[SPEC_ROWS_PROMPT], other[SPEC_ROWS_PROMPT];
    opened o = open_model("rows:test_rows.tmp", NULL);
    o.model->kind->prompt(o.model, 3, prompt, SPEC_ROWS_PROMPT);
    assert_int_equal(at.model->order, 0);
    assert_row(row_after(&at, NULL, 0), &target, 17);
    assert_row(row_after(&at, prompt, 16), &target, 17);
    assert_int_equal(begin.model->order, -1);
    for (int n = 0; n < 16; n++) assert_row(row_after(&begin, prompt, (size_t)n), &target, 17 + n);
    assert_row(row_after(&begin, prompt, 16), &target, 33);
    assert_int_equal(begin.model->kind->prompt(begin.model, 0, other, SPEC_ROWS_PROMPT), 0);
    assert_int_equal(at.model->kind->prompt(at.model, 0, other, SPEC_ROWS_PROMPT), 0);
    opened_free(&o);
    opened_free(&begin);
    opened_free(&at);
}

/* The file of a model is found through wrappers, if the row depends on the place. */
TEST(the_file_is_found_through_wrappers)
{
    OWNED(opened) o = open_model("rows:test_rows.tmp?temperature=0.5&begin=7", NULL);
    OWNED(opened) at = open_model("rows:test_rows.tmp?at=3", NULL);
    uint64_t begin = 99;
    const spec_rows_file *file = spec_rows_of(o.model, &begin);
    assert_non_null(file);
    assert_int_equal(begin, 7);
    assert_int_equal(file->places, N);
    assert_null(spec_rows_of(at.model, NULL));
    assert_null(spec_rows_of(target.model, NULL));
    FREED int *tokens = spec_rows_text(file);
    assert_memory_equal(tokens, text, N * sizeof *tokens);
}

TEST(texts_begin_where_prompts_end)
{
    double law[N], sum = 0.0;
    int seen = 0;
    opened o = open_model("rows:test_rows.tmp", NULL),
           begin = open_model("rows:test_rows.tmp?begin=7&top_k=2", NULL);
    spec_rows_starts(law, o.model);
    for (int p = 0; p < N; p++) {
        assert_true(law[p] == 0.0 || (p >= SPEC_ROWS_PROMPT && fabs(law[p] - 1.0 / 1010) < 2e-5));
        seen += law[p] > 0.0;
        sum += law[p];
    }
    assert_within(sum, 1.0, 1e-12);
    assert_in_range(seen, 1000, SPEC_ROWS_PROMPTS_MAX);
    spec_rows_starts(law, begin.model);
    for (int p = 0; p < N; p++) assert_same(law[p], p == 7);
    opened_free(&begin);
    opened_free(&o);
}

/* With every 4th place, the place of a context is not its length, except in the file's own text. */
TEST(places_may_be_far_apart)
{
    static const char sparse[] = "test_rows_sparse.tmp";
    int prompt[SPEC_ROWS_PROMPT];
    rows_pair_write(sparse, &target, &draft, 400, 4, 0.0);
    OWNED(opened) o = open_model("rows:test_rows_sparse.tmp", NULL);
    for (int p = 0; p < 100; p++) assert_row(row_after(&o, text, (size_t)p), &target, 4 * p);
    for (unsigned long k = 0; k < 300; k++) {
        assert_int_equal(o.model->kind->prompt(o.model, k, prompt, SPEC_ROWS_PROMPT),
                         SPEC_ROWS_PROMPT);
        assert_true(memcmp(prompt, text, sizeof prompt) != 0);
        int position = -1;
        for (int p = 16; p < 400 && position < 0; p++)
            if (memcmp(prompt, text + p - 16, sizeof prompt) == 0) position = p;
        assert_int_equal(position % 4, 0);
        assert_row(row_after(&o, prompt, SPEC_ROWS_PROMPT), &target, position);
    }
}

/* A text that repeats itself has no prompts, because no passage is unique; nor has a file that is
 * shorter than a prompt. */
TEST(texts_without_prompts_begin_with_nothing)
{
    OWNED(opened) one = open_model("uniform?V=1", NULL);
    static const char short_file[] = "test_rows_short.tmp";
    int prompt[SPEC_ROWS_PROMPT];
    rows_pair_write(short_file, &one, &one, 100, 1, 0.0);
    OWNED(opened) o = open_model("rows:test_rows_short.tmp", NULL);
    assert_int_equal(o.model->kind->prompt(o.model, 0, prompt, SPEC_ROWS_PROMPT), 0);
    opened_free(&o);
    rows_pair_write(short_file, &target, &draft, 15, 1, 0.0);
    o = open_model("rows:test_rows_short.tmp", NULL);
    assert_int_equal(o.model->kind->prompt(o.model, 0, prompt, SPEC_ROWS_PROMPT), 0);
}

TEST(specs_of_missing_parts_are_refused)
{
    assert_refused("rows", NULL, "rows needs something after a ':', as in rows:PATH");
    assert_refused("rows:", NULL, "rows needs something after a ':', as in rows:PATH");
    assert_refused("rows:no-such.rows", NULL, "no-such.rows: No such file");
    assert_refused("rows:test_rows.tmp?side=draft2", NULL,
                   "side=draft2: test_rows.tmp has 1 draft");
    assert_refused("rows:test_rows.tmp?side=drat", NULL, "side");
    assert_refused("rows:test_rows.tmp?at=2500", NULL, "at=2500");
    assert_refused("rows:test_rows.tmp?begin=-2", NULL, "begin=-2");
    assert_refused("rows:test_rows.tmp?begin=1&at=1", NULL, "not both");
    assert_refused("rows:test_rows.tmp?place=1", NULL, "place");
}

/* A damaged row is reported when it is read, with file, place and side. */
TEST(a_damaged_row_is_refused_by_its_place)
{
    static const char bad[] = "test_rows_bad.tmp";
    double scratch[4 * V];
    const double *row[4];
    spec_error error = {""};
    rows_pair_write(bad, &target, &draft, 20, 1, 0.0);
    FILE *file = fopen(bad, "r+b");
    fseek(file, 96 + 2 * 96 + 20,
          SEEK_SET); /* 48 bytes per row, two rows per place: the third place's target */
    fputc(0x55, file);
    fclose(file);
    opened o = open_model("rows:test_rows_bad.tmp", NULL);
    assert_non_null(spec_session_row(&o.session, text, 1, scratch, &error));
    assert_null(spec_session_row(&o.session, text, 2, scratch, &error));
    assert_string_equal(error.text,
                        "test_rows_bad.tmp: position 2, side 0: damaged: its checksum is wrong");
    assert_int_not_equal(
        spec_session_score(
            &o.session,
            &(spec_score_request){
                .context = text, .token = text, .n_nodes = 3, .ret_row = row, .scratch = scratch},
            &error),
        GSL_SUCCESS);
    opened_free(&o);
    assert_refused("rows:test_rows_bad.tmp?at=2", NULL, "position 2, side 0: damaged");
}

SUITE(.setup = set_up, .teardown = tear_down);
