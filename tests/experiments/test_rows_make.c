/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the files that rows_make writes: blocks of rows against single rows, given and written
 * texts, windows, real models. */
#include "experiments/rows_make.h"

#include "models/rows/rows.h"
#include "models/transformer/engine/transformer.h"
#include "tests/models/rows/rows_pair.h"
#include "tests/support/drawn_head.h"
#include "tests/support/folder.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

static const char path[] = "test_rows_make.tmp";

static void make(const spec_rows_plan *plan)
{
    assert_works(spec_rows_make(path, plan, &error));
}

static spec_rows_plan plan_for(const opened *target, const opened *draft)
{
    return (spec_rows_plan){
        .model = {target->model, draft->model}, .sides = 2, .every = 1, .seed = spec_test_seed()};
}

/* Compare every row with the row of the model itself, after the tokens of the text. */
static void assert_file(opened *target, opened *draft)
{
    CLOSED(spec_rows_file) file;
    const int vocab = target->model->vocab;
    FREED double *row = malloc((size_t)vocab * sizeof *row);
    assert_works(spec_rows_file_open(&file, path, &error));
    FREED int *text = malloc(file.tokens * sizeof *text);
    for (uint64_t i = 0; i < file.tokens; i++) text[i] = spec_rows_file_token(&file, i);
    for (uint64_t p = 0, t = 0; p < file.places; p++) {
        const uint64_t position = spec_rows_file_position(&file, p);
        while (t + 1 < file.texts && spec_rows_file_text(&file, t + 1) <= position) t++;
        const uint64_t begin = spec_rows_file_text(&file, t);
        for (int s = 0; s < 2; s++) {
            const double *expected =
                row_after(s == 0 ? target : draft, text + begin, position - begin);
            assert_works(spec_rows_file_row(row, &file, p, s, &error));
            for (int i = 0; i < vocab; i++) assert_same(row[i], expected[i]);
        }
    }
}

static void read_counts(uint64_t *places, uint64_t *texts, uint64_t *tokens)
{
    CLOSED(spec_rows_file) file;
    assert_works(spec_rows_file_open(&file, path, &error));
    *places = file.places;
    *texts = file.texts;
    *tokens = file.tokens;
}

static void assert_counts(uint64_t places, uint64_t texts, uint64_t tokens)
{
    uint64_t p, t, n;
    read_counts(&p, &t, &n);
    assert_int_equal(p, places);
    assert_int_equal(t, texts);
    assert_int_equal(n, tokens);
}

/* Blocks of 64 rows begin and end within texts of any length, and skip places. */
TEST(rows_of_blocks_are_those_of_single_calls)
{
    OWNED(opened) target = open_model("cases?V=5&order=3&seed=1", NULL);
    OWNED(opened) draft = open_model("cases?V=5&order=2&side=draft", NULL);
    spec_rows_plan plan = plan_for(&target, &draft);
    enum { N = 300 };
    int text[N];
    static const size_t end[] = {64, 65, 65, 194, N};
    for (int i = 0; i < N; i++) text[i] = rows_pair_token((uint64_t)i, 5);
    plan.opt_text = text;
    plan.text_end = end;
    plan.n_texts = 5;
    make(&plan);
    assert_counts(N, 4, N); /* a text without tokens is ignored */
    assert_file(&target, &draft);
    plan.every = 7;
    make(&plan);
    assert_counts(10 + 1 + 19 + 16, 4, N);
    assert_file(&target, &draft);
    plan.length = 50;
    make(&plan);
    assert_counts(8 + 2 + 1 + 8 + 8 + 5 + 8 + 8 + 1, 9,
                  N); /* parts of 50 14, 1, 50 50 29, 50 50 6 */
    assert_file(&target, &draft);
    plan.places = 21;
    make(&plan);
    assert_counts(21, 5, 50 + 14 + 1 + 50 + 8); /* no token follows the last place */
    assert_file(&target, &draft);
    unlink(path);
}

/* The row of a draft head after a node differs from that after a context; the file has the
 * latter. */
TEST(rows_of_a_draft_head_are_those_of_contexts)
{
    enum { N = 70 };
    int text[N];
    const size_t end[] = {N};
    OWNED(spec_head) head;
    opened draft = {0},
           target = open_model("random?dim=16&layers=2&heads=2&ffn=24&vocab=7&context=80&type=f32",
                               NULL);
    drawn_head(&head, &(drawn_head_config){SPEC_HEAD_MTP, 3, 0, false, 1},
               spec_transformer_of(target.model)->checkpoint);
    draft.model = drawn_head_open(&head, "", target.model);
    assert_works(spec_session_init(&draft.session, draft.model, &error));
    draft.scratch = calloc(7, sizeof *draft.scratch);
    spec_rows_plan plan = plan_for(&target, &draft);
    for (int i = 0; i < N; i++) text[i] = rows_pair_token((uint64_t)i, 7);
    plan.opt_text = text;
    plan.text_end = end;
    plan.n_texts = 1;
    make(&plan);
    assert_counts(N, 1, N);
    assert_file(&target, &draft);
    unlink(path);
    opened_free(&draft);
    opened_free(&target);
}

/* The tokens of the text follow the law of the rows: adds up scores of mean 0 and variance 1. */
TEST(the_target_writes_by_its_own_rows)
{
    opened target = open_model("markov?V=6&order=2&seed=5", NULL),
           draft = open_model("uniform?V=6", NULL);
    spec_rows_plan plan = plan_for(&target, &draft);
    double row[6], score = 0.0;
    spec_rows_file file;
    plan.places = 20000;
    plan.length = 500;
    make(&plan);
    assert_counts(20000, 40, 20000);
    assert_file(&target, &draft);
    assert_works(spec_rows_file_open(&file, path, &error));
    for (uint64_t p = 0; p < file.places; p++) { /* is the token one of the three least probable? */
        assert_works(spec_rows_file_row(row, &file, p, 0, &error));
        const double low = row[0] + row[1] + row[2],
                     is = spec_rows_file_token(&file, p) < 3 ? 1.0 : 0.0;
        score += (is - low) / sqrt(low * (1.0 - low));
    }
    assert_within(score / sqrt(20000.0), 0.0,
                  5.0); /* with the rows one place earlier it would be 20 or more */
    spec_rows_file_close(&file);
    unlink(path);
    opened_free(&draft);
    opened_free(&target);
}

TEST(prompts_have_no_places)
{
    OWNED(opened) target = open_model("cases?V=4&order=2&end=3", NULL);
    OWNED(opened) draft = open_model("cases?V=4&order=2&side=draft", NULL);
    spec_rows_plan plan = plan_for(&target, &draft);
    static const int prompt[] = {2, 1, 2, 0, 2};
    uint64_t places, texts, tokens;
    plan.opt_prompt = prompt;
    plan.n_prompt = 5;
    plan.places = 100;
    make(&plan);
    read_counts(&places, &texts, &tokens);
    assert_int_equal(places, 100);
    assert_int_equal(tokens, 100 + 5 * texts);
    assert_true(texts > 5); /* a text ends at its end of text */
    assert_file(&target, &draft);
    spec_rows_file file;
    assert_works(spec_rows_file_open(&file, path, &error));
    for (uint64_t t = 0; t < texts; t++) {
        const uint64_t begin = spec_rows_file_text(&file, t);
        for (uint64_t i = 0; i < 5; i++)
            assert_int_equal(spec_rows_file_token(&file, begin + i), prompt[i]);
        if (t > 0) assert_int_equal(spec_rows_file_token(&file, begin - 1), 3);
    }
    spec_rows_file_close(&file);
    unlink(path);
}

TEST(what_does_not_fit_is_refused_and_leaves_no_file)
{
    opened target = open_model("cases?V=4&order=2", NULL),
           draft = open_model("cases?V=4&order=2&side=draft", NULL);
    spec_rows_plan plan = plan_for(&target, &draft);
    static const int text[] = {0, 1, 2};
    volatile int stop = 1;
    plan.opt_text = text;
    plan.text_end = &(size_t){0};
    plan.n_texts = 1;
    assert_fails(spec_rows_make(path, &plan, &error), GSL_EINVAL, "the text has no tokens");
    plan.text_end = &(size_t){3};
    plan.opt_stop = &stop;
    assert_fails(spec_rows_make(path, &plan, &error), GSL_EFAILED, "interrupted");
    plan.opt_stop = NULL;
    draft.model->window = 2;
    plan.length = 3;
    assert_fails(spec_rows_make(path, &plan, &error), GSL_EINVAL,
                 "texts of 3 tokens: the models read at most 2");
    plan.length = 0;
    make(&plan);
    assert_counts(3, 2, 3);
    plan.opt_text = NULL;
    plan.opt_prompt = text;
    plan.n_prompt = 2;
    plan.places = 5;
    unlink(path);
    assert_fails(spec_rows_make(path, &plan, &error), GSL_EINVAL,
                 "a prompt of 2 tokens leaves no room in texts of 2");
    assert_int_equal(access(path, F_OK), -1);
    opened_free(&draft);
    opened_free(&target);
}

/* ---- the forecast ---------------------------------------------------------------------------- */

typedef struct {
    spec_rows_forecast last;
    int calls;
    bool refuses;
} listener;

static int hear_forecast(void *self, const spec_rows_forecast *forecast, spec_error *error)
{
    listener *heard = self;
    heard->last = *forecast;
    heard->calls++;
    return heard->refuses ? spec_fail(error, GSL_EFAILED, "too much") : GSL_SUCCESS;
}

static char *bytes_of_file(size_t *ret_n)
{
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    char *bytes = malloc(1 << 22);
    *ret_n = fread(bytes, 1, 1 << 22, in);
    assert_int_equal(fclose(in), 0);
    return bytes;
}

/* With and without a forecast the file has the same bytes. The forecast has the exact number of
 * places, and about the right number of bytes. */
static void expect_forecast(spec_rows_plan *plan, uint64_t places)
{
    listener heard = {.calls = 0};
    size_t n, n_again;
    make(plan);
    char *bytes = bytes_of_file(&n);
    plan->opt_forecast = hear_forecast;
    plan->self = &heard;
    make(plan);
    char *again = bytes_of_file(&n_again);
    assert_int_equal(n, n_again);
    assert_memory_equal(bytes, again, n);
    assert_int_equal(heard.calls, 1);
    assert_int_equal(heard.last.places, places);
    if (!(heard.last.bytes > 0.9 * (double)n && heard.last.bytes < 1.1 * (double)n))
        fail_msg("%g bytes are forecast, and %zu written", heard.last.bytes, n);
    assert_true(heard.last.seconds > 0.0);
    free(bytes);
    free(again);
    plan->opt_forecast = NULL;
}

TEST(a_forecast_tells_the_places_and_about_the_bytes)
{
    opened target = open_model("dirichlet?V=200&order=1", NULL),
           draft = open_model("zipf?V=200", NULL);
    spec_rows_plan plan = plan_for(&target, &draft);
    int text[1000];
    for (int i = 0; i < 1000; i++) text[i] = i * 7 % 200;
    plan.places = 700;
    expect_forecast(&plan, 700);
    plan.length = 30;
    expect_forecast(&plan, 700);
    plan.cutoff = 0.01;
    expect_forecast(&plan, 700);
    plan.opt_text = text;
    plan.text_end = (const size_t[]){100, 950, 1000};
    plan.n_texts = 3;
    expect_forecast(&plan, 700);
    plan.places = 0;
    expect_forecast(&plan, 1000);
    plan.every =
        7; /* parts of 30 tokens have 5 places, as has the last part of 50 - 30; of 10 tokens, 2 */
    expect_forecast(&plan, 3 * 5 + 2 + 28 * 5 + 2 + 5 + 3);
    opened_free(&draft);
    opened_free(&target);

    /* A target whose rows are computed at the places that the forecast looks at. */
    FILE *rhyme = fopen("rhyme.txt", "w");
    assert_non_null(rhyme);
    fputs("the cat sat on the mat the dog sat on the log the cat saw the dog and the dog sat on "
          "the cat\n",
          rhyme);
    assert_int_equal(fclose(rhyme), 0);
    target = open_model("ngram:rhyme.txt?tokens=words", NULL);
    draft = open_model("ngram:rhyme.txt?tokens=words&order=2", NULL);
    plan = plan_for(&target, &draft);
    plan.opt_prompt = (const int[]){1, 2};
    plan.n_prompt = 2;
    plan.places = 200;
    for (plan.seed = 0; plan.seed < 20; plan.seed++) expect_forecast(&plan, 200);
    opened_free(&draft);
    opened_free(&target);
}

TEST(a_forecast_that_is_refused_leaves_no_file)
{
    opened target = open_model("zipf?V=20", NULL), draft = open_model("uniform?V=20", NULL);
    spec_rows_plan plan = plan_for(&target, &draft);
    listener heard = {.refuses = true};
    unlink(path);
    plan.places = 1000000000000;
    plan.opt_forecast = hear_forecast;
    plan.self = &heard;
    assert_fails(spec_rows_make(path, &plan, &error), GSL_EFAILED, "too much");
    assert_int_equal(access(path, F_OK), -1);
    opened_free(&draft);
    opened_free(&target);
}

/* ---- interruptions --------------------------------------------------------------------------- */

static const spec_model_kind *stopped_kind; /* the kind whose rows third_row_stops computes */
static volatile int stopped;
static int rows_after_stop;

/* A signal interrupts the run at the third row. */
static const double *third_row_stops(const spec_model *model, void *session, const int *context,
                                     size_t n, double *scratch, spec_error *error)
{
    rows_after_stop += stopped != 0;
    if (n == 2) stopped = 1;
    return stopped_kind->row(model, session, context, n, scratch, error);
}

TEST(an_interruption_is_heard_while_the_target_writes)
{
    OWNED(opened) target = open_model("cases?V=3&order=1&seed=6", NULL);
    OWNED(opened) draft = open_model("cases?V=3&order=1&side=draft", NULL);
    spec_rows_plan plan = plan_for(&target, &draft);
    spec_model_kind kind = *(stopped_kind = target.model->kind);
    kind.row = third_row_stops;
    target.model->kind = &kind;
    stopped = rows_after_stop = 0;
    plan.places = 1000;
    plan.opt_stop = &stopped;
    assert_fails(spec_rows_make(path, &plan, &error), GSL_EFAILED, "interrupted");
    assert_int_equal(stopped, 1);
    assert_int_equal(rows_after_stop, 0);
    target.model->kind = stopped_kind;
}

/* Two small transformers along real stories. Independent measurements gave expected acceptance
 * .883, and the same argmax at .87 to .90 of the places. Here stories begin again after 256 tokens,
 * and the first rows after that have little context, so that we expect .01 less. */
TEST(two_real_models_overlap_as_they_are_known_to)
{
    char target_spec[300], draft_spec[300], stories[300];
    spec_test_data(target_spec, sizeof target_spec, "babyllama/target.bin");
    spec_test_data(draft_spec, sizeof draft_spec, "babyllama/draft.bin");
    spec_test_data(stories, sizeof stories, "text/tinystories.txt");
    char spec[320];
    snprintf(spec, sizeof spec, "llama2c:%s", target_spec);
    OWNED(opened) target = open_model(spec, NULL);
    snprintf(spec, sizeof spec, "llama2c:%s", draft_spec);
    OWNED(opened) draft = open_model(spec, NULL);
    enum { BYTES = 4096, N = 2000 };
    char text[BYTES];
    int token[BYTES];
    FILE *in = fopen(stories, "r");
    assert_non_null(in);
    assert_int_equal(fread(text, 1, BYTES, in), BYTES);
    fclose(in);
    spec_rows_plan plan = plan_for(&target, &draft);
    const size_t n = target.model->kind->tokenize(target.model, text, BYTES, token, BYTES);
    plan.opt_text = token;
    plan.text_end = &n;
    plan.n_texts = 1;
    plan.places = N;
    make(&plan);
    spec_rows_file file;
    double *row = malloc(2 * (size_t)target.model->vocab * sizeof *row), beta = 0.0, agree = 0.0;
    assert_works(spec_rows_file_open(&file, path, &error));
    assert_int_equal(file.places, N);
    for (uint64_t p = 0; p < N; p++) {
        for (int s = 0; s < 2; s++)
            assert_works(spec_rows_file_row(row + s * file.vocab, &file, p, s, &error));
        beta += spec_row_overlap(row, row + file.vocab, file.vocab) / N;
        agree +=
            (spec_row_argmax(row, file.vocab) == spec_row_argmax(row + file.vocab, file.vocab)) /
            (double)N;
    }
    printf("beta %.4f, argmax agreement %.4f\n", beta, agree);
    assert_within(beta, 0.875, 0.02);
    assert_within(agree, 0.87, 0.03);
    const uint64_t second = spec_rows_file_text(&file, 1);
    assert_int_equal(second, target.model->window);
    assert_works(
        spec_rows_file_row(row, &file, second + 44, 0, &error)); /* a row of a block, read alone */
    const double *alone = row_after(&target, token + second, 44);
    for (int i = 0; i < file.vocab; i++) assert_same(row[i], alone[i]);
    spec_rows_file_close(&file);
    free(row);
    unlink(path);
}

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave);
