/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_open.h"
#include "sim/sources.h"
#include "tests/support/contexts.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

/* ---- acceptance ------------------------------------------------------------------------------ */

TEST(acceptance_batches_are_the_engines_rounds_and_their_time)
{
    spec_acceptance_config config = {.K = 5,
                                     .costs = {.draft = 0.27, .verify = 1.1, .fixed = 0.03}};
    assert_int_equal(spec_acceptance_process_init(&config.process, "iid", 0.615, NULL),
                     GSL_SUCCESS);
    spec_round_source source = spec_sources_acceptance(&config);
    assert_true(source.independent);
    spec_tally tally = {0}, expected = {0};
    assert_int_equal(source.batch(source.self, NULL, 42, 9, 1000, &tally, NULL), GSL_SUCCESS);
    spec_acceptance_rounds(&expected, &config.process, 5, 1000, 42, 9);
    expected.time = 1000 * (5 * 0.27 + 1.1 + 0.03);
    assert_memory_equal(&tally, &expected, sizeof tally);
}

TEST(an_absurd_K_is_refused)
{
    spec_acceptance_config config = {.K = SPEC_K_MAX + 1};
    spec_round_source source = spec_sources_acceptance(&config);
    void *worker;
    spec_error error;
    assert_int_equal(source.worker_init(source.self, &worker, &error), GSL_EINVAL);
    assert_string_equal(error.text, "K must be 0 to 256, got 257");
    config.K = -1;
    assert_int_equal(source.worker_init(source.self, &worker, &error), GSL_EINVAL);
    config.K = SPEC_K_MAX;
    assert_int_equal(source.worker_init(source.self, &worker, &error), GSL_SUCCESS);
}

/* ---- decoding: a model that writes down what it is asked ------------------------------------- */

enum { V = 4, END = 3, LOG = 64 };

/* Token t is always followed by next[t]. Prompts are one token long: prompt_token. */
typedef struct {
    spec_model model;
    double next[V][V];
    int prompt_token;
} certain;

static struct {
    uint64_t rows, prompts, prompt[LOG];
    size_t shortest;
} seen;
static pthread_mutex_t seen_lock = PTHREAD_MUTEX_INITIALIZER; /* with two threads, both call it */

static const double *certain_row(const spec_model *model, void *session, const int *context,
                                 size_t n, double *scratch, spec_error *error)
{
    const certain *c = (const certain *)model;
    (void)session;
    (void)scratch;
    (void)error;
    pthread_mutex_lock(&seen_lock);
    seen.rows++;
    if (n < seen.shortest) seen.shortest = n;
    pthread_mutex_unlock(&seen_lock);
    return c->next[n > 0 ? context[n - 1] : 0];
}

static size_t certain_prompt(const spec_model *model, uint64_t index, int *token,
                             size_t capacity)
{
    assert_true(capacity >= 1);
    pthread_mutex_lock(&seen_lock);
    if (seen.prompts < LOG) seen.prompt[seen.prompts] = index;
    seen.prompts++;
    pthread_mutex_unlock(&seen_lock);
    token[0] = ((const certain *)model)->prompt_token;
    return 1;
}

static const spec_model_kind certain_kind = {
    .name = "certain", .row = certain_row, .prompt = certain_prompt};
static const spec_model_kind without_prompts = {.name = "certain", .row = certain_row};

static certain certain_model(const spec_model_kind *kind, int end_of_text, const int *next)
{
    certain c = {.model = {.kind = kind,
                           .vocab = V,
                           .order = 1,
                           .ends = spec_text_ends_one(end_of_text),
                           .one_hot = true}};
    for (int t = 0; t < V; t++) c.next[t][next[t]] = 1;
    return c;
}

static void run_one_batch(spec_tally *ret_tally, certain *target, const certain *draft, int K,
                          uint64_t burn_in, uint64_t stream, uint64_t n_rounds)
{
    spec_decoding_config config = {.decoder = SPEC_DECODER_DEFAULT, .burn_in = burn_in};
    config.decoder.target = &target->model;
    config.decoder.opt_draft = &draft->model;
    config.decoder.K = K;
    spec_round_source source = spec_sources_decoding(&config);
    spec_error error = {""};
    void *worker;
    assert_false(source.independent);
    assert_int_equal(source.worker_init(source.self, &worker, &error), GSL_SUCCESS);
    memset(&seen, 0, sizeof seen);
    seen.shortest = SIZE_MAX;
    *ret_tally = (spec_tally){0};
    assert_works(source.batch(source.self, worker, 42, stream, n_rounds, ret_tally, &error));
    source.worker_free(worker);
}

TEST(a_batch_begins_with_its_own_prompt_and_drops_its_burn_in)
{
    certain zeros = certain_model(&certain_kind, -1, (int[]){0, 0, 0, 0});
    spec_tally tally;
    run_one_batch(&tally, &zeros, &zeros, 0, 7, 5, 10);
    assert_int_equal(seen.prompts, 1);
    assert_int_equal(seen.prompt[0], 5);
    assert_int_equal(seen.shortest, 1);
    assert_int_equal(seen.rows, 17);
    assert_int_equal(tally.rounds, 10);
    assert_int_equal(tally.emitted, 10);

    zeros = certain_model(&without_prompts, -1, (int[]){0, 0, 0, 0});
    run_one_batch(&tally, &zeros, &zeros, 0, 0, 5, 10);
    assert_int_equal(seen.shortest, 0); /* the empty context */
}

TEST(an_end_of_text_begins_a_new_one_with_a_prompt_from_the_stream)
{
    certain ends = certain_model(&certain_kind, END, (int[]){END, END, END, END});
    spec_tally tally;
    run_one_batch(&tally, &ends, &ends, 0, 2, 5, 10);
    assert_int_equal(seen.prompts, 1 + 12);
    uint64_t first = seen.prompt[1];
    for (uint64_t i = 0; i < seen.prompts; i++)
        for (uint64_t j = 0; j < i; j++) assert_true(seen.prompt[i] != seen.prompt[j]);
    run_one_batch(&tally, &ends, &ends, 0, 2, 5, 10);
    assert_true(seen.prompt[0] == 5 && seen.prompt[1] == first); /* the same again */
    run_one_batch(&tally, &ends, &ends, 0, 2, 6, 10);
    assert_true(seen.prompt[0] == 6 && seen.prompt[1] != first);

    /* An end of text that is not the round's last token: END is accepted, and the bonus after it is
     * 0. */
    certain goes_on = certain_model(&certain_kind, END, (int[]){END, 0, 0, 0});
    run_one_batch(&tally, &goes_on, &goes_on, 1, 0, 5, 10);
    assert_int_equal(tally.emitted, 20);
    assert_int_equal(seen.prompts, 1 + 10);
}

TEST(texts_do_not_grow_without_end)
{
    certain zeros = certain_model(&certain_kind, -1, (int[]){0, 0, 0, 0});
    spec_tally tally;
    run_one_batch(&tally, &zeros, &zeros, 0, 0, 5, SPEC_TEXT_MAX - 1);
    assert_int_equal(seen.prompts, 1); /* one token of prompt: exactly SPEC_TEXT_MAX long */
    run_one_batch(&tally, &zeros, &zeros, 0, 0, 5, SPEC_TEXT_MAX + 1);
    assert_int_equal(seen.prompts, 2);
}

TEST(a_new_text_begins_before_a_window_cuts_a_draft)
{
    certain zeros = certain_model(&certain_kind, -1, (int[]){0, 0, 0, 0});
    spec_tally tally;
    zeros.model.window = 13; /* contexts of 1, 4, 7 and 10 tokens have space for 3 more */
    run_one_batch(&tally, &zeros, &zeros, 2, 0, 5, 12);
    assert_int_equal(tally.drafted, 24);
    assert_int_equal(seen.prompts, 3 + 1);
    zeros.model.window = 1; /* no space at all: every round is a text, and nothing fails */
    run_one_batch(&tally, &zeros, &zeros, 2, 0, 5, 12);
    assert_int_equal(tally.drafted, 0);
    assert_int_equal(seen.prompts, 13);
}

/* Unlike a window, it leaves as much room for the next draft. */
TEST(a_reach_cuts_drafts_and_ends_no_text)
{
    certain zeros = certain_model(&certain_kind, -1, (int[]){0, 0, 0, 0}), draft = zeros;
    spec_tally tally;
    draft.model.reach = 2;
    run_one_batch(&tally, &zeros, &draft, 5, 0, 5, 12);
    assert_int_equal(tally.drafted, 24);
    assert_int_equal(seen.prompts, 1);
}

TEST(a_prompt_outside_the_vocabulary_is_reported)
{
    certain target = certain_model(&certain_kind, -1, (int[]){0, 0, 0, 0});
    target.prompt_token = V;
    spec_decoding_config config = {.decoder = SPEC_DECODER_DEFAULT};
    config.decoder.target = config.decoder.opt_draft = &target.model;
    spec_round_source source = spec_sources_decoding(&config);
    OWNED(spec_montecarlo) mc;
    assert_int_equal(
        spec_montecarlo_init(&mc, &source,
                             &(spec_montecarlo_plan){.rounds = 10, .opt_pool = spec_test_pool(2)},
                             NULL),
        0);
    assert_fails(spec_montecarlo_run(&mc, NULL, &error), GSL_EINVAL,
                 "token 1 of the prompt is 4, outside 0..3");
    assert_int_equal(mc.sum.tally.rounds, 0);
}

/* A chain of K independent tests whose acceptance rate is the overlap [Leviathan23], here sum min =
 * .2 + .3 + .2 = 0.7. */
TEST(a_decoding_source_agrees_with_the_closed_form, STATISTICS)
{
    spec_model *target = NULL, *draft = NULL;
    assert_int_equal(
        spec_model_open(&target, "probs:0.5,0.3,0.2", NULL, spec_test_context(0), NULL),
        GSL_SUCCESS);
    assert_int_equal(spec_model_open(&draft, "probs:0.2,0.5,0.3", NULL, spec_test_context(0), NULL),
                     GSL_SUCCESS);
    spec_decoding_config config = {.decoder = SPEC_DECODER_DEFAULT, .burn_in = 2};
    config.decoder.target = target;
    config.decoder.opt_draft = draft;
    config.decoder.K = 3;
    spec_round_source source = spec_sources_decoding(&config);
    spec_montecarlo mc;
    spec_montecarlo_plan plan = {.rounds = spec_test_samples(100000),
                                 .seed = spec_test_seed(),
                                 .opt_pool = spec_test_pool(2)};
    assert_int_equal(spec_montecarlo_init(&mc, &source, &plan, NULL), GSL_SUCCESS);
    assert_int_equal(spec_montecarlo_run(&mc, NULL, NULL), GSL_SUCCESS);
    assert_int_equal(mc.sum.tally.rounds, plan.rounds); /* without the burn-in */
    spec_estimate emitted = spec_montecarlo_emitted(&mc), first = spec_montecarlo_first(&mc);
    assert_true(fabs(emitted.mean - (1 - pow(0.7, 4)) / 0.3) < 5 * emitted.se);
    assert_true(fabs(first.mean - 0.7) < 5 * first.se);
    assert_within(mc.sum.tally.time, 1.3 * (double)mc.sum.tally.rounds, 1e-6);
    spec_montecarlo_free(&mc);

    config.decoder.rule = "tokne";
    spec_error error = {""};
    assert_int_equal(spec_montecarlo_init(&mc, &source, &plan, &error), GSL_EINVAL);
    assert_true(strlen(error.text) > 0);
    spec_model_close(target);
    spec_model_close(draft);
}

/* Runs one batch of rounds with K = 3, over a zipf and a draft whose overlap with it is 0.7. */
static spec_tally zipf_batch(int vocab, const char *rule, const char *policy, int end_of_text,
                             uint64_t n_rounds)
{
    char spec[64];
    spec_model *target = NULL, *draft = NULL;
    snprintf(spec, sizeof spec, "zipf?V=%d", vocab);
    assert_int_equal(spec_model_open(&target, spec, NULL, spec_test_context(0), NULL), GSL_SUCCESS);
    assert_int_equal(
        spec_model_open(&draft, "perturb?of=target&alpha=0.7", target, spec_test_context(0), NULL),
        GSL_SUCCESS);
    draft->ends = spec_text_ends_one(end_of_text);
    spec_decoding_config config = {.decoder = SPEC_DECODER_DEFAULT, .burn_in = 2};
    config.decoder.target = target;
    config.decoder.opt_draft = draft;
    config.decoder.rule = rule;
    config.decoder.policy = policy;
    config.decoder.K = 3;
    const spec_round_source source = spec_sources_decoding(&config);
    spec_tally tally = {0};
    void *worker;
    assert_int_equal(source.worker_init(source.self, &worker, NULL), GSL_SUCCESS);
    assert_int_equal(source.batch(source.self, worker, spec_test_seed(), 3, n_rounds, &tally, NULL),
                     GSL_SUCCESS);
    source.worker_free(worker);
    spec_model_close(draft);
    spec_model_close(target);
    assert_true(tally.rounds == n_rounds && tally.emitted == tally.accepted + n_rounds);
    return tally;
}

/* Compares the decoder, below the limit, and the alias tables, from it on, with the law (1 - alpha)
 * alpha^k of n_accepted. */
TEST(small_and_large_vocabularies_have_the_same_law, STATISTICS)
{
    const uint64_t rounds = spec_test_samples(20000);
    for (int vocab = SPEC_SOURCES_FIXED_VOCAB - 1; vocab <= SPEC_SOURCES_FIXED_VOCAB; vocab++) {
        const spec_tally tally = zipf_batch(vocab, "token", "fixed", -1, rounds);
        double statistic = 0;
        for (int k = 0; k <= 3; k++) {
            const double expected = (double)rounds * pow(0.7, k) * (k < 3 ? 0.3 : 1);
            statistic += ((double)tally.n_accepted[k] - expected) *
                         ((double)tally.n_accepted[k] - expected) / expected;
        }
        assert_true(gsl_cdf_chisq_Q(statistic, 3) > SPEC_TEST_P);
        assert_true(tally.drafted == 3 * rounds && tally.tested[0] == rounds &&
                    tally.tested[1] == tally.passed[0]);
        assert_within(tally.time, 1.3 * (double)rounds, 1e-6);
    }
}

/* Alias tables require the token rule and a fixed length: others accept less, and charge less. */
TEST(other_rules_and_policies_run_the_decoder_in_any_vocabulary)
{
    const spec_tally match = zipf_batch(300, "match", "fixed", -1, 500);
    const spec_tally token = zipf_batch(300, "token", "fixed", -1, 500);
    assert_true(match.passed[0] < 100 && token.passed[0] > 300);
    const spec_tally oracle = zipf_batch(300, "token", "oracle", -1, 500);
    assert_within(oracle.time, 500 + 0.1 * (double)oracle.accepted, 1e-9);
    const spec_tally ends =
        zipf_batch(300, "token", "fixed", 0, 500); /* a draft stops after its end of text */
    assert_true(token.drafted == 1500 && ends.drafted < 1500);
}
