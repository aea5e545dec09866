/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests a model that runs here as the scorer: its lists, and the verdicts on servers with the same
 model. */
#include "models/model_open.h"
#include "models/row.h"
#include "tests/support/contexts.h"
#include "tests/support/near.h"
#include "tests/tools/live/faulty_server.h"
#include "tools/live/local_scorer.h"
#include "tools/live/served.h"

/* ---- lists ----------------------------------------------------------------------------------- */

#define TRANSFORMER "random?dim=32&layers=2&heads=4&ffn=64&vocab=40&context=200&type=f32"
enum { VOCAB = 40, TOP = 7 };

/* A transformer of random weights, which has no tokenizer. */
static spec_local_scorer scorer_of(const char *spec, int begin)
{
    spec_local_scorer s = {.begin = begin};
    assert_works(spec_model_open_unloaded(&s.model, spec, NULL, spec_test_context(1), &error));
    assert_works(spec_local_scorer_load(&s, TOP, &error));
    return s;
}

static int32_t beginning[] = {3, 17, 5};
static const spec_live_tokens prompt = {beginning, 3};

/* 150 positions are three parts of a text. The second route is a new session for each. */
TEST(a_pass_over_a_text_lists_what_passes_over_its_prefixes_list)
{
    spec_local_scorer s = scorer_of(TRANSFORMER, -1);
    spec_served_text drawn = {0}, again;
    double space[VOCAB];
    assert_works(spec_local_scorer_draw(&s, &drawn, &prompt, 150, 7, &error));
    assert_true(drawn.n == 150 && drawn.all.n == 153);
    assert_works(spec_served_text_copy(&again, &drawn, &error));
    memset(again.place, 0, (size_t)again.n * sizeof *again.place);
    assert_works(spec_local_scorer_score(&s, &again, &error));
    for (int i = 0; i < drawn.n; i++) {
        spec_session session;
        spec_error error;
        int index[TOP];
        assert_works(spec_session_init(&session, s.model, &error));
        const double *row =
            spec_session_row(&session, drawn.all.token, (size_t)(3 + i), space, &error);
        assert_int_equal(spec_row_largest(index, TOP, row, VOCAB), TOP);
        for (int k = 0; k < TOP; k++) {
            assert_int_equal(again.place[i].top[k].id, index[k]);
            assert_int_equal(drawn.place[i].top[k].id, index[k]);
            assert_same(again.place[i].top[k].log, log(row[index[k]]));
            assert_same(drawn.place[i].top[k].log, log(row[index[k]]));
        }
        spec_session_free(&session);
    }
    spec_served_text_free(&drawn);
    spec_served_text_free(&again);
    spec_local_scorer_free(&s);
}

/* The model is treated as if it put token 3 before each text, so the rows are those of the text
 * without it. */
TEST(the_token_before_each_text_is_the_models_own_affair)
{
    spec_local_scorer s = scorer_of(TRANSFORMER, -1);
    spec_served_text with = {0}, without = {0};
    const spec_live_tokens rest = {beginning + 1, 2};
    assert_works(spec_local_scorer_draw(&s, &without, &rest, 20, 7, &error));
    s.begin = 3;
    assert_works(spec_local_scorer_draw(&s, &with, &prompt, 20, 7, &error));
    assert_int_equal(with.n, without.n);
    assert_memory_equal(with.all.token + 3, without.all.token + 2,
                        (size_t)with.n * sizeof *with.all.token);
    s.begin = 5;
    assert_fails_with(spec_local_scorer_score(&s, &with, &error), GSL_EINVAL,
                      "its texts begin with the token 5, but the server's do not");
    spec_served_text_free(&with);
    spec_served_text_free(&without);
    spec_local_scorer_free(&s);
}

TEST(foreign_tokens_and_long_texts_are_refused)
{
    spec_local_scorer s = scorer_of(TRANSFORMER, -1);
    spec_served_text text = {0};
    int32_t token[300] = {1, VOCAB};
    assert_works(spec_served_text_init(&text, &(spec_live_tokens){token, 250}, 1, &error));
    assert_fails_with(spec_local_scorer_score(&s, &text, &error), GSL_EINVAL,
                      "the server's token 40 is not one of its 40 tokens");
    text.all.token[1] = 1;
    assert_fails_with(spec_local_scorer_score(&s, &text, &error), GSL_EINVAL,
                      "prompt and text have 250 tokens, and its context has room for 199");
    spec_served_text_free(&text);
    spec_local_scorer_free(&s);
}

TEST(a_model_is_told_from_an_address)
{
    static const char *const models[] = {"gguf:a.gguf", "a.gguf", "gguf:/7/a", "gguf:7b.gguf",
                                         "nonsense"},
                             *const addresses[] = {"http://localhost", "https://x:1/v1", "ftp://x",
                                                   "localhost:8000", "10.0.0.1:80/v1"};
    for (int i = 0; i < 5; i++) {
        assert_true(spec_local_scorer_is_model(models[i]));
        assert_false(spec_local_scorer_is_model(addresses[i]));
    }
}

/* ---- verdicts -------------------------------------------------------------------------------- */

#define BIGRAMS "ngram:learnt.txt?order=2&tokens=chars"

/* Writes a text in which each letter depends on the one before it; `step` chooses how. */
static void write_learnt(const char *path, int step)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz ";
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    FILE *file = fopen(path, "w");
    int at = 0;
    assert_non_null(file);
    fputs(letters, file); /* so that both texts number the letters alike */
    for (int i = 0; i < 4000; i++) {
        const double u = gsl_rng_uniform(rng);
        at = (step * at + (int)(27.0 * u * u * u)) % 27;
        fputc(letters[at], file);
    }
    fclose(file);
}

/* Writes the rows of the model for the server. */
static void write_model(const char *path, const char *spec)
{
    spec_model *model;
    double space[256];
    FILE *file = fopen(path, "w");
    char character[8];
    assert_non_null(file);
    assert_works(spec_model_open(&model, spec, NULL, spec_test_context(1), &error));
    fputs("{\"chars\": \"", file);
    for (int i = 0; i < model->vocab; i++) {
        model->kind->token_text(model, i, character, sizeof character);
        fputs(i == 0 ? "?" : character, file);
    }
    fputs("\", \"rows\": [", file);
    for (int i = 0; i < model->vocab; i++) {
        const double *row = model->kind->row(model, NULL, &i, 1, space, NULL);
        for (int k = 0; k < model->vocab; k++)
            fprintf(file, "%s%.17g", k > 0 ? ", " : i > 0 ? "], [" : "[", row[k]);
    }
    fputs("]]}\n", file);
    fclose(file);
    spec_model_close(model);
}

static void no_progress(void *self, const char *what, int done, int texts)
{
    (void)self, (void)what, (void)done, (void)texts;
}

/* Judges a server whose bigrams were learnt with `step`; the scorer's were learnt with 5. */
static spec_served_result judged(const char *fault, const char *owner, int step, double temperature,
                                 int status, const char *line)
{
    spec_served_result result;
    spec_error error = {""};
    write_learnt("learnt.txt", step);
    write_model("model.json", BIGRAMS);
    write_learnt("learnt.txt", 5);
    OWNED(server)
    text = start_script("faulty_server.py",
                        (const char *const[]){fault, owner, "", "model.json", NULL});
    FILE *file = fopen("prompts.jsonl", "w");
    fputs("{\"prompt\": \"once upon a time\"}\n{\"prompt\": \"fox\"}\n", file);
    fclose(file);
    const spec_served_plan plan = {.text_url = text.url,
                                   .score_by = BIGRAMS,
                                   .opt_context = spec_test_context(1),
                                   .prompts = "prompts.jsonl",
                                   .texts = 60,
                                   .top = 20,
                                   .lanes = 3,
                                   .sampling = {64, SPEC_TRANSFORM_NONE},
                                   .rate = 1e-6,
                                   .seed = spec_test_seed(),
                                   .how = SPEC_HTTP_DEFAULT,
                                   .progress = no_progress};
    spec_served_plan heated = plan;
    heated.sampling.transform.temperature = temperature;
    assert_int_equal(spec_served(&result, &heated, &error), status);
    if (line != NULL) assert_non_null(strstr(error.text, line));
    return result;
}

TEST(a_model_that_runs_here_judges_a_server, SLOW | STATISTICS, .setup = spec_folder_enter,
     .teardown = spec_folder_leave)
{
    static const struct {
        const char *fault, *owner;
        spec_served_verdict verdict;
    } cases[] = {
        {"right", "llamacpp", SPEC_SERVED_RIGHT},  {"right", "vllm", SPEC_SERVED_RIGHT},
        {"rollback", "sglang", SPEC_SERVED_STATE}, {"rollback", "llamacpp", SPEC_SERVED_STATE},
        {"argmax", "vllm", SPEC_SERVED_SAMPLER},   {"top_k", "vllm", SPEC_SERVED_FILTER}};
    for (int i = 0; i < 6; i++) {
        const spec_served_result r =
            judged(cases[i].fault, cases[i].owner, 5, 1.0, GSL_SUCCESS, NULL);
        assert_int_equal(r.judgement.verdict, cases[i].verdict);
        assert_int_equal(r.judgement.texts, 60);
        assert_true(r.local && r.noise.places > 200 && r.noise.worst < 1e-9 && r.unlike == 0);
    }
}

TEST(greedy_texts_are_judged_without_a_control, .setup = spec_folder_enter,
     .teardown = spec_folder_leave)
{
    const spec_served_result right = judged("right", "vllm", 5, 0.0, GSL_SUCCESS, NULL),
                             wrong = judged("greedy_wrong", "vllm", 5, 0.0, GSL_SUCCESS, NULL);
    assert_int_equal(spec_served_verdict_of(&right), SPEC_SERVED_RIGHT);
    assert_int_equal(spec_served_verdict_of(&wrong), SPEC_SERVED_TOKEN);
    assert_true(right.served.texts == 60 && right.control.texts == 0);
}

TEST(another_tokenizer_is_said_and_another_model_refused, .setup = spec_folder_enter,
     .teardown = spec_folder_leave)
{
    const spec_served_result other = judged("other_tokens", "vllm", 5, 1.0, GSL_SUCCESS, NULL);
    assert_int_equal(other.unlike, 2);
    assert_int_equal(other.judgement.verdict, SPEC_SERVED_RIGHT);
    (void)judged("right", "vllm", 7, 1.0, GSL_EINVAL,
                 "it runs another model than ngram:learnt.txt");
}
