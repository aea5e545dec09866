/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the models of SPECLAB_DATA: logits known from NumPy, a text known from llama2.c, and
 * published agreement of target and draft. */
#include "models/model_open.h"
#include "models/transformer/engine/transformer.h"
#include "tests/models/transformer/engine/reference_pass.h"
#include "tests/support/contexts.h"
#include "tests/support/model_of.h"
#include "tests/support/support.h"

#define STORIES "stories260K/stories260K.bin"
#define BABY "babyllama/target.bin"

static spec_model *open_model(const char *path, const char *settings)
{
    char spec[1200];
    spec_model *model;
    snprintf(spec, sizeof spec, "llama2c:%s%s", path, settings);
    model = model_of(spec, NULL);
    return model;
}

enum { TOKENS = 12, LOGITS = 9 };

/* Printed by tests/oracle/llama2c_oracle.py (NumPy 2.4, double) for these tokens:
 * lines 1, 6 and 12. */
static const struct {
    const char *file;
    int token[TOKENS], every, place;
    double log_sum;
    int argmax, n;
    double logit[LOGITS];
} known[] = {
    {STORIES,
     {1, 403, 407, 261, 378, 432, 383, 286, 261, 376, 298, 315},
     64,
     0,
     17.267258628,
     403,
     8,
     {-6.222913913, -4.503749830, -6.079243827, -6.124500857, -6.222815659, 8.689148063,
      5.986829944, 3.586909922}},
    {STORIES,
     {1, 403, 407, 261, 378, 432, 383, 286, 261, 376, 298, 315},
     64,
     5,
     18.673549514,
     383,
     8,
     {-6.345010361, -5.712131597, -6.242826732, -6.268922966, -6.345757808, 3.187043109,
      8.117929738, -2.167741687}},
    {STORIES,
     {1, 403, 407, 261, 378, 432, 383, 286, 261, 376, 298, 315},
     64,
     11,
     20.520116662,
     421,
     8,
     {-11.976400242, -11.143120572, -11.884250693, -11.855753639, -11.974487922, -4.980534235,
      -0.130584248, -5.520303359}},
    {BABY,
     {1, 3, 34, 9, 22, 4, 3, 18, 20, 7, 9, 3},
     13,
     0,
     9.854431590,
     3,
     9,
     {3.639960823, 1.071503338, 0.371092127, -2.344887290, -2.632654741, -4.866517328, -9.114499401,
      -15.953077680, -16.392788792}},
    {BABY,
     {1, 3, 34, 9, 22, 4, 3, 18, 20, 7, 9, 3},
     13,
     5,
     12.910595213,
     3,
     9,
     {-0.049573392, 3.101724426, -0.762430517, -4.038453608, -5.208397549, -5.834120883,
      -8.207605126, -13.080071807, -13.304397772}},
    {BABY,
     {1, 3, 34, 9, 22, 4, 3, 18, 20, 7, 9, 3},
     13,
     11,
     12.247010716,
     5,
     9,
     {-0.934880412, 0.417755210, -0.805625210, -1.969021779, -2.597490516, -4.469630601,
      -9.633567155, -13.467500309, -13.599637979}},
};

/* Measured: off by 7e-6 at most. */
TEST(logits_are_those_of_numpy)
{
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        char path[1024];
        spec_test_data(path, sizeof path, known[k].file);
        OWNED_MODEL *model = open_model(path, "");
        const spec_weights *weights = spec_transformer_of(model)->weights;
        FREED float *logits = malloc((size_t)TOKENS * (size_t)model->vocab * sizeof *logits);
        assert_non_null(logits);
        engine_pass(logits, weights, known[k].token, TOKENS, 5);
        const float *row = logits + known[k].place * model->vocab;
        double sum = 0.0, off = 0.0;
        int argmax = 0;
        for (int i = 0; i < model->vocab; i++) {
            sum += exp((double)row[i] - known[k].log_sum);
            if (row[i] > row[argmax]) argmax = i;
        }
        for (int i = 0; i < known[k].n; i++) {
            off = fmax(off, fabs((double)row[i * known[k].every] - known[k].logit[i]));
        }
        printf("%s, token %d: off by %.2g, the sum by %.2g\n", known[k].file, known[k].place, off,
               sum - 1.0);
        assert_int_equal(argmax, known[k].argmax);
        assert_true(off < 3e-5 && fabs(sum - 1.0) < 3e-5);
    }
}

/* A story as 99 pieces and as 120 letters. Measured: 3e-6 of the logits' spread. */
TEST(whole_texts_are_those_of_double_precision)
{
    static const char *const files[] = {STORIES, BABY};
    static const char story[] = "Once upon a time, there was a little girl named Lily. She loved "
                                "to play outside in the park. One day, she "
                                "saw a big, red ball. She wanted to play with it, but it was too "
                                "high. Lily's mom said, \"Lily, let's go to "
                                "the park.\" Lily was sad and didn't know.";
    enum { N = 120 };
    for (int f = 0; f < 2; f++) {
        char path[1024];
        int token[N + 1] = {1};
        spec_test_data(path, sizeof path, files[f]);
        OWNED_MODEL *model = open_model(path, "");
        const spec_transformer *transformer = spec_transformer_of(model);
        const size_t n = spec_transformer_tokenize(model, story, strlen(story), token + 1, N - 1);
        const int length = n < N - 1 ? (int)n + 1 : N;
        FREED double *reference = reference_vector(N * model->vocab);
        FREED float *logits = malloc((size_t)N * (size_t)model->vocab * sizeof *logits);
        assert_non_null(logits);
        reference_pass(reference, transformer->checkpoint, token, length, false);
        engine_pass(logits, transformer->weights, token, length, SPEC_COLUMNS_MAX);
        const double error = reference_error(logits, reference, length, model->vocab);
        printf("%s: error %.2g over %d tokens\n", files[f], error, length);
        assert_true(error < 1e-5);
    }
}

/* 200 tokens at temperature 0. Known from llama2.c's run.c at commit 350e04f, built by gcc -O2:
 *     ./run stories260K.bin -z tokenizer.bin -t 0.0 -n 200 */
TEST(the_greedy_text_is_that_of_llama2c)
{
    static const char text[] = "Once upon a time, there was a little girl named Lily. She loved to "
                               "play outside in the park. One day, she "
                               "saw a big, red ball. She wanted to play with it, but it was too "
                               "high.\nLily's mom said, \"Lily, let's go to "
                               "the park.\" Lily was sad and didn't know what to do. She said, \"I "
                               "want to play with your ball, but I can't "
                               "find it.\"\nLily was sad and didn't know what to do. She said, "
                               "\"I'm sorry, Lily. I didn't know what to "
                               "do.\"\nLily didn't want to help her mom, so she";
    enum { N = 200 };
    char path[1024], made[1024];
    spec_test_data(path, sizeof path, STORIES);
    OWNED_MODEL *model = open_model(path, "?temperature=0");
    OWNED(spec_session) session;
    spec_error error;
    int token[N];
    size_t length = 0;
    FREED double *scratch = reference_vector(model->vocab);
    assert_works(spec_session_init(&session, model, &error));
    for (size_t n = 0; n < N; n++) {
        const double *row = spec_session_row(&session, token, n, scratch, &error);
        assert_non_null(row);
        for (token[n] = 0; row[token[n]] == 0.0;) token[n]++;
        length += model->kind->token_text(model, token[n], made + length, sizeof made - length);
    }
    assert_string_equal(made + 1,
                        text); /* the first piece begins with a blank, which run.c omits */
}

/* Rows along the first 200 letters of each of 20 stories: sum min(target, draft) and whether both
 * have the same argmax. Known for texts of this kind: 0.883, and 0.87 to 0.90. Measured: 0.888 and
 * 0.879. */
TEST(target_and_draft_agree_as_known, SLOW)
{
    enum { STORIES_READ = 20, LETTERS = 200 };
    char target_path[1024], draft_path[1024], text_path[1024], story[4096];
    spec_test_data(target_path, sizeof target_path, BABY);
    spec_test_data(draft_path, sizeof draft_path, "babyllama/draft.bin");
    spec_test_data(text_path, sizeof text_path, "text/tinystories.txt");
    spec_model *const model[2] = {open_model(target_path, ""), open_model(draft_path, "")};
    const int vocab = model[0]->vocab;
    FILE *file = fopen(text_path, "r");
    spec_session session[2];
    double *scratch[2], overlap = 0.0;
    const double *row[2][LETTERS + 1];
    int rows = 0, agree = 0;
    assert_non_null(file);
    for (int m = 0; m < 2; m++) {
        assert_works(spec_session_init(&session[m], model[m], &error));
        scratch[m] = reference_vector((LETTERS + 1) * vocab);
    }
    for (int s = 0; s < STORIES_READ;) {
        if (fgets(story, sizeof story, file) == NULL) break;
        if (strlen(story) < 100) continue;
        int token[LETTERS];
        size_t n = spec_transformer_tokenize(model[0], story, strlen(story), token, LETTERS);
        if (n > LETTERS) n = LETTERS;
        for (int m = 0; m < 2; m++) {
            assert_works(spec_session_score(
                &session[m],
                &(spec_score_request){
                    .token = token, .n_nodes = (int)n, .ret_row = row[m], .scratch = scratch[m]},
                &error));
        }
        for (size_t i = 0; i <= n; i++, rows++) {
            int best[2] = {0, 0};
            for (int t = 0; t < vocab; t++) {
                overlap += fmin(row[0][i][t], row[1][i][t]);
                for (int m = 0; m < 2; m++)
                    best[m] = row[m][i][t] > row[m][i][best[m]] ? t : best[m];
            }
            agree += best[0] == best[1];
        }
        s++;
    }
    printf("over %d rows: acceptance %.4f, argmax %.4f\n", rows, overlap / rows,
           (double)agree / rows);
    assert_true(fabs(overlap / rows - 0.883) < 0.015);
    assert_true((double)agree / rows > 0.87 && (double)agree / rows < 0.9);
    fclose(file);
    for (int m = 0; m < 2; m++) {
        free(scratch[m]);
        spec_session_free(&session[m]);
        spec_model_close(model[m]);
    }
}

/* The target's greedy text of 200 letters after the first 40 of each of 10 stories. We count the
 * tokens that its own first four layers would choose, too. Known: 0.67. */
TEST(four_of_five_layers_agree_as_known, SLOW)
{
    enum { TEXTS = 10, PROMPT = 40, LETTERS = 200 };
    char path[1024], text_path[1024], story[4096];
    spec_test_data(path, sizeof path, BABY);
    spec_test_data(text_path, sizeof text_path, "text/tinystories.txt");
    spec_model *target = open_model(path, "?temperature=0"), *draft;
    spec_error error;
    spec_session session[2];
    const int vocab = target->vocab;
    double *scratch[2] = {reference_vector(vocab), reference_vector((LETTERS + 1) * vocab)};
    const double *rows[LETTERS + 1];
    FILE *file = fopen(text_path, "r");
    int agree = 0;
    assert_non_null(file);
    assert_works(spec_model_open(&draft, "layers?of=target&exit=4&temperature=0", target,
                                 spec_test_context(0), &error));
    assert_works(spec_session_init(&session[0], target, &error));
    assert_works(spec_session_init(&session[1], draft, &error));
    for (int s = 0; s < TEXTS && fgets(story, sizeof story, file) != NULL;) {
        int token[PROMPT + LETTERS];
        if (strlen(story) < 100) continue;
        spec_transformer_tokenize(target, story, strlen(story), token, PROMPT);
        for (size_t n = PROMPT; n < PROMPT + LETTERS; n++) {
            const double *row = spec_session_row(&session[0], token, n, scratch[0], &error);
            for (token[n] = 0; row[token[n]] == 0.0;) token[n]++;
        }
        assert_works(spec_session_score(&session[1],
                                        &(spec_score_request){.context = token,
                                                              .n_context = PROMPT,
                                                              .token = token + PROMPT,
                                                              .n_nodes = LETTERS,
                                                              .ret_row = rows,
                                                              .scratch = scratch[1]},
                                        &error));
        for (int i = 0; i < LETTERS; i++) agree += rows[i][token[PROMPT + i]] == 1.0;
        s++;
    }
    printf("agreement %.4f\n", (double)agree / (TEXTS * LETTERS));
    assert_true(fabs((double)agree / (TEXTS * LETTERS) - 0.67) < 0.05);
    fclose(file);
    for (int m = 1; m >= 0; m--) {
        free(scratch[m]);
        spec_session_free(&session[m]);
    }
    spec_model_close(draft);
    spec_model_close(target);
}
