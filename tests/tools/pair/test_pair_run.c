/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares the sums of pair_run with the decoding loop, which is enumerated: over all texts of the
 * target both have the same means. */
#include "tools/pair/pair_run.h"

#include "analysis/acceptance/text_rounds.h"
#include "models/row.h"
#include "sim/decode.h"
#include "tests/support/model_of.h"
#include "tests/support/near.h"
#include "tests/support/paced_model.h"
#include "tests/support/table_model.h"

#include <math.h>
#include <string.h>

enum { LONGEST = 3 };

static spec_pair_plan plan_of(const spec_model *target, const spec_model *draft,
                              const spec_pair_text *text, int texts, int tokens)
{
    return (spec_pair_plan){.target = target,
                            .draft = {draft},
                            .n_drafts = 1,
                            .K = LONGEST,
                            .text = text,
                            .n_texts = texts,
                            .tokens = tokens};
}

/* The means over the rounds that begin in the first positions of a text. */
typedef struct {
    double rounds[LONGEST], emitted[LONGEST]; /* by K - 1 */
    double came[LONGEST], passed[LONGEST];    /* for the longest K, by depth */
    double overlap, agree, positions;
} means;

static void decode(means *sum, const spec_decoder_config *config, int positions)
{
    spec_enumeration walk;
    spec_decoder decoder;
    assert_int_equal(spec_enumeration_init(&walk, 0), GSL_SUCCESS);
    assert_works(spec_decoder_init(&decoder, config, &error));
    do {
        double rounds = 0.0, emitted = 0.0, came[LONGEST] = {0}, passed[LONGEST] = {0};
        bool ended = false;
        assert_works(spec_decoder_reset(&decoder, NULL, 0, &error));
        while (decoder.n_context < (size_t)positions && !ended) {
            const size_t before = decoder.n_context;
            assert_works(spec_decoder_round(&decoder, &walk.chance, NULL, &error));
            rounds++;
            for (size_t i = before; i < decoder.n_context && !ended; i++, emitted++)
                ended = spec_model_ends_text(config->target, decoder.context[i]);
            for (int i = 0; i < decoder.draft.n_nodes; i++) {
                came[i] += decoder.round.n_accepted >= i;
                passed[i] += decoder.round.n_accepted > i;
            }
        }
        const double probability = spec_enumeration_probability(&walk);
        sum->rounds[config->K - 1] += probability * rounds;
        sum->emitted[config->K - 1] += probability * emitted;
        for (int i = 0; i < LONGEST && config->K == LONGEST; i++) {
            sum->came[i] += probability * came[i];
            sum->passed[i] += probability * passed[i];
        }
    } while (spec_enumeration_next(&walk));
    spec_enumeration_free(&walk);
    spec_decoder_free(&decoder);
}

static means by_decoding(const spec_model *target, const spec_model *draft, bool greedy,
                         int positions)
{
    means sum = {.positions = NAN};
    spec_decoder_config config = SPEC_DECODER_DEFAULT;
    config.target = target;
    config.opt_draft = draft;
    config.drafting = greedy ? "greedy" : "chain";
    for (config.K = 1; config.K <= LONGEST; config.K++) decode(&sum, &config, positions);
    return sum;
}

/* Writes the next text of n digits below V; returns false after the last. */
static bool next_text(int *text, int n, int V)
{
    int i = n - 1;
    while (i >= 0 && text[i] == V - 1) text[i--] = 0;
    if (i >= 0) text[i]++;
    return i >= 0;
}

static double chance_of(spec_session *session, const int *text, int n, double *scratch)
{
    double product = 1.0;
    spec_error error;
    for (int i = 0; i < n; i++) {
        const double *row = spec_session_row(session, text, (size_t)i, scratch, &error);
        assert_non_null(row);
        product *= row[text[i]];
        if (spec_model_ends_text(session->model, text[i])) /* what follows is not part of the
                                                            * text */
            return product * pow(1.0 / session->model->vocab, n - 1 - i);
    }
    return product;
}

/* Returns the sums of the first draft of a run, over all its texts, each with a weight. */
static void add(means *sum, const spec_pair_run *run, const double *weight)
{
    for (int i = 0; i < run->plan.n_texts; i++) {
        const double *block = run->block + (size_t)i * (size_t)run->n_columns;
        const spec_pair_sums *of = (const spec_pair_sums *)(block + spec_pair_run_sums(run, 0));
        sum->positions += weight[i] * block[0];
        sum->overlap += weight[i] * of->overlap;
        sum->agree += weight[i] * of->agree;
        for (int k = 0; k < LONGEST; k++) {
            double *const into[] = {sum->rounds, sum->emitted, sum->came, sum->passed};
            for (int a = 0; a < 4; a++)
                into[a][k] +=
                    weight[i] * block[spec_pair_run_array(run, 0, (spec_pair_array)a) + k];
        }
    }
}

/* Adds up all texts that the target may write, each with its probability. */
static means by_texts(const spec_model *target, const spec_model *draft, bool greedy, int positions)
{
    means sum = {.positions = 0.0};
    const int n = positions + LONGEST - 1, V = target->vocab;
    const int texts = (int)lround(pow(V, n));
    FREED int *token = calloc((size_t)texts * (size_t)n, sizeof *token);
    FREED spec_pair_text *text = calloc((size_t)texts, sizeof *text);
    FREED double *weight = calloc((size_t)texts, sizeof *weight),
                 *scratch = calloc((size_t)V, sizeof *scratch);
    spec_session session;
    assert_works(spec_session_init(&session, target, &error));
    for (int i = 0; i < texts; i++) {
        int *own = token + i * n;
        if (i > 0) {
            memcpy(own, own - n, (size_t)n * sizeof *own);
            assert_true(next_text(own, n, V));
        }
        text[i] = (spec_pair_text){.token = own, .n_given = (size_t)n, .category = -1};
        weight[i] = chance_of(&session, own, n, scratch);
    }
    spec_session_free(&session);
    spec_pair_plan plan = plan_of(target, draft, text, texts, 1);
    plan.greedy = greedy;
    OWNED(spec_pair_run) run;
    assert_works(spec_pair_run_init(&run, &plan, &error));
    assert_int_equal(run.K[0], draft->reach > 0 && draft->reach < LONGEST ? draft->reach : LONGEST);
    add(&sum, &run, weight);
    return sum;
}

static void assert_equal_means(const means *a, const means *b)
{
    for (int k = 0; k < LONGEST; k++) {
        assert_within(a->rounds[k], b->rounds[k], 1e-12);
        assert_within(a->emitted[k], b->emitted[k], 1e-12);
        assert_within(a->came[k], b->came[k], 1e-12);
        assert_within(a->passed[k], b->passed[k], 1e-12);
    }
}

static void compare(const spec_model *target, const spec_model *draft, bool greedy, int positions)
{
    const means decoded = by_decoding(target, draft, greedy, positions),
                read = by_texts(target, draft, greedy, positions);
    assert_equal_means(&read, &decoded);
}

typedef struct {
    table_model target, draft;
} tables;

static void tables_init(tables *t, int V, pair_family family, uint64_t *noise)
{
    table_model_init(&t->target, V);
    table_model_init(&t->draft, V);
    table_pair_randomize(&t->target, &t->draft, family, noise);
}

static void tables_free(tables *t)
{
    table_model_free(&t->target);
    table_model_free(&t->draft);
}

/* Compares rounds, their tokens, and acceptance by depth, for every K. */
TEST(the_means_are_those_of_the_decoding_loop)
{
    uint64_t noise = 27;
    for (int family = 0; family < PAIR_FAMILIES; family++) {
        OWNED(tables) t;
        tables_init(&t, 3, (pair_family)family, &noise);
        for (int greedy = 0; greedy < 2; greedy++)
            compare(&t.target.head, &t.draft.head, greedy, 3);
    }
}

TEST(a_text_may_end)
{
    uint64_t noise = 27;
    OWNED(tables) t;
    tables_init(&t, 3, PAIR_PLAIN, &noise);
    t.target.head.ends = spec_text_ends_one(1);
    for (int known = 0; known < 2; known++) { /* does the draft know the end? */
        t.draft.head.ends = spec_text_ends_one(known ? 1 : -1);
        for (int greedy = 0; greedy < 2; greedy++) {
            const means decoded = by_decoding(&t.target.head, &t.draft.head, greedy, 3),
                        read = by_texts(&t.target.head, &t.draft.head, greedy, 3);
            for (int k = 0; k < LONGEST; k++) {
                assert_within(read.rounds[k], decoded.rounds[k], 1e-12);
                assert_within(read.emitted[k], decoded.emitted[k], 1e-12);
            }
            if (known) assert_equal_means(&read, &decoded);
        }
    }
}

/* The rows depend on where the round begins. */
TEST(block_drafts_are_read_round_by_round)
{
    OWNED_MODEL *target = model_of("markov?V=3&order=2&seed=3", NULL);
    static const char *const drafts[] = {"block?reach=2&alpha=0.9",
                                         "markov-block?reach=3&alpha=0.7",
                                         "block?row=mean&reach=3&alpha=0.8"};
    for (size_t i = 0; i < sizeof drafts / sizeof *drafts; i++) {
        OWNED_MODEL *draft = model_of(drafts[i], target);
        const int K = draft->reach < LONGEST ? draft->reach : LONGEST;
        means decoded = {.positions = NAN}, read = by_texts(target, draft, false, 3);
        spec_decoder_config config = SPEC_DECODER_DEFAULT;
        config.target = target;
        config.opt_draft = draft;
        for (config.K = 1; config.K <= K; config.K++) decode(&decoded, &config, 3);
        for (int k = 0; k < K; k++) {
            assert_within(read.rounds[k], decoded.rounds[k], 1e-12);
            assert_within(read.emitted[k], decoded.emitted[k], 1e-12);
        }
        if (K == LONGEST) assert_equal_means(&read, &decoded);
    }
}

/* ---- a draft that declines ------------------------------------------------------------------- */

/* A table model that asks not to draft a token after token 0. */
typedef struct {
    spec_model head;
    const table_model *table;
} hesitant;

static const double *hesitant_row(const spec_model *model, void *session, const int *context,
                                  size_t n, double *scratch, spec_error *error)
{
    (void)scratch;
    (void)error;
    *(bool *)session = n > 0 && context[n - 1] == 0;
    return table_model_row(((const hesitant *)model)->table, context, n);
}

static int hesitant_session(const spec_model *model, void **ret, spec_error *error)
{
    (void)model;
    (void)error;
    *ret = calloc(1, sizeof(bool));
    return *ret != NULL ? GSL_SUCCESS : GSL_ENOMEM;
}

static void hesitant_free(const spec_model *model, void *session)
{
    (void)model;
    free(session);
}

static bool hesitant_declines(const spec_model *model, const void *session)
{
    (void)model;
    return *(const bool *)session;
}

TEST(a_draft_may_decline)
{
    static const spec_model_kind kind = {.name = "hesitant",
                                         .row = hesitant_row,
                                         .session_init = hesitant_session,
                                         .session_free = hesitant_free,
                                         .declines = hesitant_declines};
    uint64_t noise = 27;
    OWNED(tables) t;
    tables_init(&t, 3, PAIR_PLAIN, &noise);
    hesitant draft = {.head = t.draft.head, .table = &t.draft};
    draft.head.kind = &kind;
    draft.head.declines = true;
    compare(&t.target.head, &draft.head, false, 3);
}

/* ---- the texts ------------------------------------------------------------------------------- */

/* The target writes texts: means over many of them are those of the decoding loop. A wrong version,
 * in which a rejection stops the text, is off by more than 0.1. */
TEST(the_target_writes_its_texts)
{
    enum { TEXTS = 4000 };
    uint64_t noise = 27;
    OWNED(tables) t;
    tables_init(&t, 3, PAIR_PLAIN, &noise);
    t.target.head.ends = t.draft.head.ends = spec_text_ends_one(1);
    const means decoded = by_decoding(&t.target.head, &t.draft.head, false, 3);
    FREED spec_pair_text *text = calloc(TEXTS, sizeof *text);
    FREED double *weight = calloc(TEXTS, sizeof *weight);
    for (int i = 0; i < TEXTS; i++) weight[i] = 1.0 / TEXTS;
    spec_pair_plan plan = plan_of(&t.target.head, &t.draft.head, text, TEXTS, 3);
    plan.seed = spec_test_seed();
    OWNED(spec_pair_run) run;
    assert_works(spec_pair_run_init(&run, &plan, &error));
    means read = {.positions = 0.0};
    add(&read, &run, weight);
    for (int k = 0; k < LONGEST; k++) {
        assert_within(read.rounds[k], decoded.rounds[k], 0.08); /* 5 se of numbers in 1..3 */
        assert_within(read.emitted[k], decoded.emitted[k], 0.12);
    }
}

/* Compares a text of several blocks of rounds, row by row. */
TEST(a_long_text_is_read_in_blocks)
{
    enum { N = 150, FROM = 2, V = 3, ROUNDS = N - LONGEST + 1 };
    uint64_t noise = 27;
    int token[FROM + N];
    double ratio[N], overlap[N], reach[N + 1], sum = 0.0, agree = 0.0, excess = 0.0, variance = 0.0;
    int limit[ROUNDS];
    OWNED(tables) t;
    tables_init(&t, V, PAIR_PLAIN, &noise);
    for (int i = 0; i < FROM + N; i++) token[i] = (int)(V * table_uniform(&noise));
    for (size_t i = 0; i < N; i++) {
        const double *a = table_model_row(&t.target, token, FROM + i),
                     *b = table_model_row(&t.draft, token, FROM + i);
        ratio[i] = fmin(1.0, b[token[FROM + i]] / a[token[FROM + i]]);
        overlap[i] = fmin(a[0], b[0]) + fmin(a[1], b[1]) + fmin(a[2], b[2]);
        if (i < ROUNDS) sum += overlap[i];
        if (i < ROUNDS) agree += spec_row_argmax(a, V) == spec_row_argmax(b, V);
        if (i < ROUNDS) limit[i] = LONGEST;
        double entropy = 0.0;
        for (int x = 0; x < V; x++) entropy -= a[x] * log(a[x]);
        excess += -log(a[token[FROM + i]]) - entropy;
        for (int x = 0; x < V; x++) variance += a[x] * pow(-log(a[x]) - entropy, 2.0);
    }
    const spec_text_rounds_draft draft = {.n = ROUNDS,
                                          .stride = 1,
                                          .ratio = ratio,
                                          .overlap = overlap,
                                          .going = overlap,
                                          .opt_limit = limit};
    spec_text_rounds expected = {0.0, 0.0};
    spec_text_rounds_add(&expected, NULL, NULL, reach, &draft, LONGEST);
    const spec_pair_text text = {.token = token, .n = FROM, .n_given = N, .category = -1};
    const spec_pair_plan plan = plan_of(&t.target.head, &t.draft.head, &text, 1, 1);
    OWNED(spec_pair_run) run;
    assert_works(spec_pair_run_init(&run, &plan, &error));
    means read = {.positions = 0.0};
    add(&read, &run, (const double[]){1.0});
    assert_within(read.positions, ROUNDS, 0.0);
    assert_within(read.overlap, sum, 1e-12);
    assert_within(read.agree, agree, 0.0);
    assert_within(read.rounds[LONGEST - 1], expected.rounds, 1e-11);
    assert_within(read.emitted[LONGEST - 1], expected.emitted, 1e-11);
    const spec_pair_head *head = (const spec_pair_head *)run.block;
    assert_within(head->excess, excess, 1e-11);
    assert_within(head->variance, variance, 1e-11);
}

/* ---- the plan -------------------------------------------------------------------------------- */

/* Models whose passes take known times, on a clock that only they advance. */
TEST(passes_are_timed_by_width_and_model)
{
    enum { TEXTS = 2 };
    uint64_t noise = 27;
    double now = 0.0;
    OWNED(tables) t;
    paced_model target, slow, fast;
    tables_init(&t, 3, PAIR_PLAIN, &noise);
    const spec_pair_text text[TEXTS] = {{.category = -1}, {.category = -1}};
    const spec_pair_plan plan = {
        .target = paced_model_init(&target, &t.target.head, 0.5, 0.125, &now),
        .draft = {paced_model_init(&slow, &t.draft.head, 0.25, 0.0, &now),
                  paced_model_init(&fast, &t.draft.head, 0.0625, 0.0, &now)},
        .n_drafts = 2,
        .K = LONGEST,
        .text = text,
        .n_texts = TEXTS,
        .tokens = 9,
        .seed = spec_test_seed(),
        .clock = paced_clock(&now)};
    OWNED(spec_pair_run) run;
    assert_works(spec_pair_run_init(&run, &plan, &error));
    for (int i = 0; i < TEXTS; i++) {
        const double *block = run.block + i * run.n_columns;
        for (int width = 1; width <= LONGEST + 1; width++) {
            const double *sum = block + spec_pair_run_pass(width);
            assert_true(sum[0] > 0.0);
            assert_within(sum[1] / sum[0], 0.5 + 0.125 * (width - 1), 1e-12);
        }
        for (int d = 0; d < 2; d++) {
            const spec_pair_sums *own =
                (const spec_pair_sums *)(block + spec_pair_run_sums(&run, d));
            assert_true(own->passes > 0.0);
            assert_within(own->seconds / own->passes, d == 0 ? 0.25 : 0.0625, 1e-12);
        }
    }
}

TEST(a_text_must_fit_into_every_window)
{
    uint64_t noise = 27;
    OWNED(tables) t;
    tables_init(&t, 3, PAIR_PLAIN, &noise);
    static const int prompt[] = {0, 2};
    const spec_pair_text text = {.token = prompt, .n = 2, .category = -1};
    const spec_pair_plan plan = plan_of(&t.target.head, &t.draft.head, &text, 1, 4);
    t.draft.head.window = 2 + 4 + LONGEST;
    spec_pair_run run;
    assert_works(spec_pair_run_init(&run, &plan, &error));
    spec_pair_run_free(&run);
    t.draft.head.window--;
    assert_fails_with(spec_pair_run_init(&run, &plan, &error), GSL_EINVAL,
                      "a prompt of 2 tokens, --tokens 4 and a draft of 3 exceed the 8 tokens");
    spec_pair_run_free(&run);
}
