/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A draft that learns while it serves: it collects what was verified, its updates reach the engine,
 * and the law of the text remains the target's. */
#include "sim/online_draft.h"

#include "models/model_open.h"
#include "sim/chance/rng.h"
#include "sim/output_law.h"
#include "tests/support/contexts.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

#define DRAFT "random?dim=8&layers=2&heads=2&ffn=12&vocab=%d&context=64&type=f32&seed=%d%s"

typedef struct {
    spec_model *target, *draft;
    spec_online_draft online;
    spec_decoder decoder;
    gsl_rng *rng;
} service;

static void open_model(spec_model **ret_model, const char *spec, const spec_model *opt_target)
{
    assert_works(spec_model_open(ret_model, spec, opt_target, spec_test_context(1), &error));
}

static const spec_online_plan plan_default = {
    .learner = {.loss = SPEC_LOSSES_FKL, .texts = 1, .places = 8, .rate = 0.02}};

/* Returns the config of a decoder whose draft learns by the plan. */
static spec_decoder_config open_pair(service *s, const char *target, const char *draft,
                                     const spec_online_plan *plan)
{
    spec_decoder_config config = SPEC_DECODER_DEFAULT;
    *s = (service){.rng = gsl_rng_alloc(spec_rng_pcg64dxsm)};
    spec_rng_stream(s->rng, spec_test_seed(), 0);
    open_model(&s->target, target, NULL);
    open_model(&s->draft, draft, s->target);
    assert_works(spec_online_draft_init(&s->online, plan, s->draft, NULL, &error));
    config.target = s->target;
    config.opt_draft = s->draft;
    config.opt_online = &s->online;
    return config;
}

static void open_service(service *s, const char *target, const char *draft,
                         const spec_online_plan *plan, int K, const int *prompt, size_t n)
{
    spec_error error = {""};
    spec_decoder_config config = open_pair(s, target, draft, plan);
    config.K = K;
    if (spec_decoder_init(&s->decoder, &config, &error) != GSL_SUCCESS ||
        spec_decoder_reset(&s->decoder, prompt, n, &error) != GSL_SUCCESS)
        fail_msg("%s", error.text);
}

static void service_free(service *s)
{
    spec_decoder_free(&s->decoder);
    spec_online_draft_free(&s->online);
    spec_model_close(s->draft);
    spec_model_close(s->target);
    gsl_rng_free(s->rng);
}

static const spec_round *one_round(service *s)
{
    spec_chance chance = spec_chance_sampled(s->rng);
    assert_works(spec_decoder_round(&s->decoder, &chance, NULL, &error));
    return &s->decoder.round;
}

static const char *draft_spec(char text[128], int vocab, int seed, const char *more)
{
    snprintf(text, 128, DRAFT, vocab, seed, more);
    return text;
}

/* ---- what is collected ----------------------------------------------------------------------- */

enum { V = 7, PLACES = 20, WINDOWS = 3 };
#define TARGET "random?dim=16&layers=2&heads=2&ffn=24&vocab=7&context=64&type=f32&seed=1"

/* A window holds token i of the text at position i - from, and learns from `first` on. If the draft
 * has a begin of text, that is token 0. */
static void check_window(const service *s, int window, int from, int first, const bool *learns)
{
    const spec_draft_learner *learner = &s->online.learner;
    const int begin = s->online.model->checkpoint->adds_begin ? 1 : 0;
    OWNED(spec_session) session;
    spec_error error = {""};
    double scratch[V];
    assert_works(spec_session_init(&session, s->target, &error));
    for (int t = 0; t < PLACES; t++) {
        const int place = window * PLACES + t, i = from + t - begin;
        assert_int_equal(learner->token[place], i < 0 ? 1 : s->decoder.context[i]);
        assert_int_equal(learner->learns[place], from + t >= first && learns[i]);
        if (!learner->learns[place]) continue;
        assert_int_equal(learner->next[place], s->decoder.context[i + 1]);
        const double *row =
            spec_session_row(&session, s->decoder.context, (size_t)i + 1, scratch, &error);
        const float *logit = spec_graph_row(learner->target.value, place, V);
        for (int k = 0; k < V; k++) assert_within(exp((double)logit[k]), row[k], 1e-6);
    }
}

/* Collects from chains and trees, all verified positions and the rejected ones: positions, tokens
 * and rows. */
TEST(windows_hold_verified_text_with_the_targets_rows)
{
    static const int prompt[] = {3, 1, 6, 0, 2};
    static const char *const draftings[] = {"chain", "tree?widths=2.1&siblings=without"};
    for (int c = 0; c < 8; c++) {
        const spec_online_positions positions = c % 2 == 0 ? SPEC_ONLINE_ALL : SPEC_ONLINE_REJECTED;
        const spec_online_plan plan = {
            {.loss = SPEC_LOSSES_JSD, .texts = WINDOWS + 1, .places = PLACES, .rate = 0.1},
            positions};
        OWNED(service) s;
        char draft[128];
        bool learns[200] = {false};
        spec_decoder_config config = open_pair(&s, TARGET, draft_spec(draft, V, 2, ""), &plan);
        config.K = 2;
        config.drafting = draftings[c / 4];
        config.rule = c / 4 == 0 ? "token" : "rrsw";
        const int begin = c / 2 % 2;
        s.online.model->own_checkpoint.adds_begin = begin != 0;
        assert_works(spec_decoder_init(&s.decoder, &config, &error));
        assert_works(spec_decoder_reset(&s.decoder, prompt, 5, &error));
        int rejected = 0;
        while (s.decoder.n_context < PLACES + 2 * (PLACES - PLACES / 4) + 1) {
            const size_t before = s.decoder.n_context;
            const spec_round *round = one_round(&s);
            for (int k = 0; k < round->n_emitted; k++) {
                const bool was_rejected =
                    k == round->n_emitted - 1 && round->n_accepted < round->n_tested;
                learns[before + (size_t)k - 1] = positions == SPEC_ONLINE_ALL || was_rejected;
                rejected += was_rejected;
            }
        }
        assert_true(rejected > 5);
        assert_int_equal(s.online.learner.step, 0);
        check_window(&s, 0, 0, 4 + begin, learns);
        for (int w = 1; w < WINDOWS; w++) {
            const int from = w * (PLACES - PLACES / 4);
            check_window(&s, w, from, from + PLACES / 4, learns);
        }
    }
}

/* A text that was cut continues with other tokens, so those that were dropped are not learnt. */
TEST(a_text_that_is_cut_continues_its_window)
{
    static const int prompt[] = {3, 1};
    const spec_online_plan plan = {
        {.loss = SPEC_LOSSES_JSD, .texts = 2, .places = PLACES, .rate = 0.1}, SPEC_ONLINE_ALL};
    OWNED(service) s;
    char draft[128];
    bool learns[200];
    int token[4];
    for (int i = 0; i < 200; i++) learns[i] = true;
    open_service(&s, TARGET, draft_spec(draft, V, 2, ""), &plan, 5, prompt, 2);
    spec_chance chance = spec_chance_sampled(s.rng);
    while (s.decoder.n_context < PLACES + 2) {
        size_t n;
        assert_works(spec_decode(&s.decoder, 2, token, &n, &chance, NULL, &error));
    }
    check_window(&s, 0, 0, 2, learns);
}

/* The second window holds tokens 15 to 19 as context. A text that is cut to 15 tokens or fewer has
 * nothing in it, and its next token follows a context again. */
TEST(a_window_of_which_all_is_cut_begins_anew)
{
    static const int prompt[] = {3, 1};
    static const int cut_to[] = {14, 15, 16};
    static const double row[V] = {0.4, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1};
    const double *const rows[] = {row};
    const spec_online_plan plan = {
        {.loss = SPEC_LOSSES_JSD, .texts = 3, .places = PLACES, .rate = 0.1}, SPEC_ONLINE_ALL};
    for (int c = 0; c < 3; c++) {
        OWNED(service) s;
        char draft[128];
        int context[PLACES + 2] = {0}, token[] = {1};
        const spec_round round = {.n_emitted = 1, .token = token};
        open_service(&s, TARGET, draft_spec(draft, V, 2, ""), &plan, 5, prompt, 2);
        s.online.model->own_checkpoint.adds_begin = false;
        for (size_t n = 1; n <= PLACES + 1; n++)
            assert_works(spec_online_draft_observe(
                &s.online, &(spec_online_round){context, n, rows, &round}, &error));
        assert_true(s.online.window == 1 && s.online.from == PLACES - PLACES / 4);
        assert_works(spec_online_draft_observe(
            &s.online, &(spec_online_round){context, (size_t)cut_to[c] + 1, rows, &round}, &error));
        assert_int_equal(s.online.from, cut_to[c] <= 15 ? 0 : 15);
        assert_true(s.online.learner.learns[PLACES + cut_to[c] - s.online.from]);
    }
}

/* ---- what it changes ------------------------------------------------------------------------- */

/* The decoder's session has the rows of the new weights, as a fresh session has. If the weights
 * were not replaced, or old keys and values were kept, it would not. */
TEST(an_update_reaches_the_engine)
{
    static const int prompt[] = {2, 5, 1};
    OWNED(service) s;
    spec_session fresh;
    spec_error error = {""};
    double before[V], after[V], scratch[V];
    char draft[128];
    open_service(&s, "markov?V=7&order=1&seed=3", draft_spec(draft, V, 2, "&temperature=0.7"),
                 &plan_default, 3, prompt, 3);
    const spec_decoder *d = &s.decoder;
    while (s.online.learner.step < 3) {
        const long step = s.online.learner.step;
        const double *row =
            spec_session_row(&s.decoder.drafter.session, d->context, d->n_context, scratch, &error);
        memcpy(before, row, sizeof before);
        const size_t n = d->n_context;
        one_round(&s);
        row = spec_session_row(&s.decoder.drafter.session, d->context, n, scratch, &error);
        memcpy(after, row, sizeof after);
        assert_int_equal(memcmp(before, after, sizeof before) == 0, s.online.learner.step == step);
        assert_works(spec_session_init(&fresh, s.draft, &error));
        row = spec_session_row(&fresh, d->context, n, scratch, &error);
        assert_memory_equal(row, after, sizeof after);
        spec_session_free(&fresh);
    }
    assert_works(spec_decoder_forget(&s.decoder, &error));
    OWNED_MODEL *first;
    open_model(&first, draft, NULL);
    assert_works(spec_session_init(&fresh, first, &error));
    const double *row = spec_session_row(&fresh, d->context, d->n_context, scratch, &error);
    memcpy(before, row, sizeof before);
    row = spec_session_row(&s.decoder.drafter.session, d->context, d->n_context, scratch, &error);
    assert_memory_equal(before, row, sizeof before);
    spec_session_free(&fresh);
}

/* Runs several rounds, with updates between them. If forgetting did not restore the weights,
 * branches would not share their decisions, and their probabilities would not sum to 1. */
TEST(the_law_of_the_text_is_the_targets_while_the_draft_learns, SLOW)
{
    static const struct {
        const char *drafting, *rule, *policy, *target;
        spec_online_positions positions;
        int K, tokens;
    } ways[] = {
        {"chain", "token", "fixed", "markov?V=3&order=1&seed=3", SPEC_ONLINE_ALL, 1, 5},
        {"chain", "token", "fixed",
         "random?dim=8&layers=2&heads=2&ffn=12&vocab=3&context=40&type=f32&seed=9",
         SPEC_ONLINE_REJECTED, 2, 4},
        {"chain", "block", "fixed", "markov?V=2&order=2&seed=4", SPEC_ONLINE_ALL, 2, 6},
        {"chain", "token", "confidence?threshold=0.4", "markov?V=2&order=2&seed=4",
         SPEC_ONLINE_REJECTED, 2, 6},
        {"tree?widths=2.1&siblings=without", "rrsw", "fixed", "markov?V=2&order=2&seed=5",
         SPEC_ONLINE_ALL, 2, 4},
    };
    static const int prompt[] = {1, 0};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        spec_online_plan plan = {
            {.loss = (spec_losses_kind)(i + 1), .texts = 1, .places = 2, .rate = 0.1},
            ways[i].positions};
        service s;
        char draft[128];
        spec_output_law law;
        const int vocab = strstr(ways[i].target, "V=2") != NULL ? 2 : 3;
        spec_decoder_config config =
            open_pair(&s, ways[i].target, draft_spec(draft, vocab, 6, ""), &plan);
        config.drafting = ways[i].drafting;
        config.rule = ways[i].rule;
        config.policy = ways[i].policy;
        config.K = ways[i].K;
        assert_works(spec_output_law_init(&law, &config, prompt, 2, ways[i].tokens, 0, &error));
        if (!(law.tv < 1e-12 && fabs(law.total - 1.0) < 1e-12))
            fail_msg("%s with %s: tv %g, total %.17g", ways[i].rule, ways[i].drafting, law.tv,
                     law.total);
        print_message("%-6s %-33s %8llu branches, weights replaced %8llu times, tv %.1e\n",
                      ways[i].rule, ways[i].drafting, (unsigned long long)law.branches,
                      (unsigned long long)s.online.model->replacements, law.tv);
        assert_true(s.online.model->replacements > law.branches);
        spec_output_law_free(&law);
        spec_online_draft_free(&s.online);
        spec_model_close(s.draft);
        spec_model_close(s.target);
        gsl_rng_free(s.rng);
    }
}

TEST(greedy_text_equals_plain_greedy_text_while_the_draft_learns)
{
    static const char target[] =
        "random?dim=32&layers=2&heads=2&ffn=64&vocab=50&context=64&type=f32&seed=8&temperature=0";
    enum { TEXTS = 6, TOKENS = 50 };
    OWNED(service) s;
    OWNED(spec_decoder) plain;
    char draft[128];
    open_service(&s, target, draft_spec(draft, 50, 3, "&temperature=0"), &plan_default, 4, NULL, 0);
    spec_decoder_config config = SPEC_DECODER_DEFAULT;
    config.target = s.target;
    config.opt_draft = s.draft;
    assert_works(spec_decoder_init(&plain, &config, &error));
    spec_chance chance = spec_chance_sampled(s.rng);
    for (int text = 0; text < TEXTS; text++) {
        const int prompt[] = {text, 7, 3};
        int a[TOKENS], b[TOKENS];
        size_t n_a, n_b;
        double time;
        assert_works(spec_decoder_reset(&s.decoder, prompt, 3, &error));
        assert_works(spec_decoder_reset(&plain, prompt, 3, &error));
        assert_works(spec_decode(&s.decoder, TOKENS, a, &n_a, &chance, NULL, &error));
        assert_works(spec_decode_plain(&plain, TOKENS, b, &n_b, &chance, &time, &error));
        assert_int_equal(n_a, n_b);
        assert_memory_equal(a, b, n_a * sizeof *a);
    }
    assert_true(s.online.learner.step > 20);
}

/* ---- what it gains --------------------------------------------------------------------------- */

/* Returns the accepted and tested draft tokens of so many texts. */
static void decode_texts(uint64_t *ret_accepted, uint64_t *ret_tested, service *s, int texts)
{
    static const int prompt[] = {1, 0};
    *ret_accepted = *ret_tested = 0;
    for (int text = 0; text < texts; text++) {
        assert_works(spec_decoder_reset(&s->decoder, prompt, 2, &error));
        while (s->decoder.n_context < 50) {
            const spec_round *round = one_round(s);
            *ret_accepted += (uint64_t)round->n_accepted;
            *ret_tested += (uint64_t)round->n_tested;
        }
    }
}

/* The texts of a chain with few likely successors. Acceptance in the last texts is higher than in
 * the first ones by more than 5 standard errors. If updates did not reach the engine, both would be
 * equal, and differ by 5 standard errors once in 3 million times. */
TEST(acceptance_of_repetitive_text_rises)
{
    for (int positions = 0; positions < 2; positions++) {
        const spec_online_plan plan = {
            {.loss = SPEC_LOSSES_FKL, .texts = 2, .places = 50, .rate = 0.01},
            (spec_online_positions)positions};
        OWNED(service) s;
        char draft[128];
        uint64_t accepted[2], tested[2];
        open_service(&s, "markov?V=12&order=1&seed=3&concentration=0.1",
                     draft_spec(draft, 12, 2, ""), &plan, 3, NULL, 0);
        decode_texts(&accepted[0], &tested[0], &s, 8);
        decode_texts(&accepted[1], &tested[1], &s, 100);
        decode_texts(&accepted[1], &tested[1], &s, 40);
        double alpha[2], variance = 0.0;
        for (int i = 0; i < 2; i++) {
            alpha[i] = (double)accepted[i] / (double)tested[i];
            variance += alpha[i] * (1.0 - alpha[i]) / (double)tested[i];
        }
        const double z = (alpha[1] - alpha[0]) / sqrt(variance);
        print_message("%-8s acceptance from %.3f to %.3f, %.1f standard errors\n",
                      spec_online_positions_names[positions], alpha[0], alpha[1], z);
        assert_true(z > 5.0);
    }
}

/* ---- refusals -------------------------------------------------------------------------------- */

TEST(drafts_that_cannot_learn_are_refused)
{
    static const struct {
        const char *draft, *line;
    } cases[] = {
        {"markov?V=3&order=1", "cannot learn: give a transformer with weights of its own"},
        {"layers?exit=1", "cannot learn: give a transformer with weights of its own"},
        {"random?dim=32&layers=1&heads=2&ffn=32&vocab=3&context=16&type=q8_0",
         "cannot learn, because its weights are not floats of 32 bits"},
    };
    OWNED_MODEL *target;
    open_model(&target, "random?dim=8&layers=2&heads=2&ffn=12&vocab=3&context=40&type=f32", NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spec_online_draft online;
        OWNED_MODEL *draft;
        open_model(&draft, cases[i].draft, target);
        assert_fails_with(spec_online_draft_init(&online, &plan_default, draft, NULL, &error),
                          GSL_EINVAL, cases[i].line);
    }
}

TEST(rules_that_compare_rounds_and_drafting_ahead_are_refused)
{
    OWNED(service) s;
    char draft[128];
    spec_decoder_config config =
        open_pair(&s, "markov?V=3&order=1", draft_spec(draft, 3, 6, ""), &plan_default);
    config.rule = "block-greedy";
    assert_fails(spec_decoder_init(&s.decoder, &config, &error), GSL_EINVAL,
                 "rule 'block-greedy' needs a draft whose rows do not change "
                 "between rounds, and this one learns: use rule block");
    config.rule = "token";
    config.ahead = true;
    assert_fails(spec_decoder_init(&s.decoder, &config, &error), GSL_EINVAL,
                 "a draft that learns cannot draft ahead");
}
