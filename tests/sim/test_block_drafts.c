/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Block drafts in the decoding loop: the law of the output, and the tokens that are accepted. */
#include "models/synthetic/cases.h"
#include "sim/chance/rng.h"
#include "sim/output_law.h"
#include "tests/models/open_model.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

enum { DEPTH = 3, V_MAX = 4 };

static spec_output_law law_of(const char *rule, const char *drafting, const opened *target,
                              const opened *draft, int K, int n_tokens)
{
    spec_error error = {""};
    spec_output_law law;
    spec_decoder_config config = SPEC_DECODER_DEFAULT;
    config.target = target->model;
    config.opt_draft = draft->model;
    config.rule = rule;
    config.drafting = drafting;
    config.K = K;
    if (spec_output_law_init(&law, &config, NULL, 0, n_tokens, 0, &error) != GSL_SUCCESS)
        fail_msg("%s %s %s: %s", rule, drafting, draft->model->spec, error.text);
    return law;
}

TEST(every_rule_is_lossless_with_block_drafts, SLOW | STATISTICS)
{
    static const char *const rules[] = {"token", "block", "traversal", "match", "naive-tree"};
    static const char *const drafts[] = {"block?of=target",
                                         "block?of=target&row=mean",
                                         "block?of=target&row=greedy",
                                         "block?of=target&paths=2",
                                         "markov-block?of=target",
                                         "markov-block?of=target&rank=1",
                                         "markov-block?of=target&top=2"};
    uint64_t laws = 0;
    double worst = 0.0;
    for (int family = 0; family < SPEC_CASES_FAMILIES; family++)
        for (uint64_t seed = 0; seed < spec_test_samples(6); seed++)
            for (size_t d = 0; d < sizeof drafts / sizeof *drafts; d++) {
                char spec[128];
                snprintf(spec, sizeof spec, "cases?V=%d&order=2&family=%s&seed=%d%s",
                         2 + (int)seed % 2, spec_cases_families[family], (int)seed,
                         seed % 3 == 2 ? "&end=1" : "");
                opened target = open_model(spec, NULL), draft = open_model(drafts[d], target.model);
                for (int c = 0; c < 10; c++) {
                    OWNED(spec_output_law) law = law_of(
                        rules[c / 2], c % 2 == 0 ? "chain" : "greedy", &target, &draft, 3, 2);
                    if (!(law.tv < 1e-12) || !(fabs(law.total - 1.0) < 1e-12))
                        fail_msg("%s %s %s: tv %g", rules[c / 2], drafts[d], spec, law.tv);
                    if (law.tv > worst) worst = law.tv;
                    laws++;
                }
                spec_output_law law =
                    law_of("traversal", "tree?widths=2.1&siblings=without", &target, &draft, 2, 2);
                assert_true(law.tv < 1e-12);
                spec_output_law_free(&law);
                opened_free(&draft);
                opened_free(&target);
            }
    print_message("%llu laws, worst tv %.1e\n", (unsigned long long)laws, worst);
}

/* The rule compares rows of several rounds, and those of a block change with the round's start. */
TEST(block_greedy_refuses_block_drafts)
{
    OWNED(opened) target = open_model("dirichlet?V=3&order=2", NULL);
    OWNED(opened) draft = open_model("markov-block?of=target&temperature=0.9", target.model);
    spec_decoder decoder;
    spec_decoder_config config = SPEC_DECODER_DEFAULT;
    config.target = target.model;
    config.opt_draft = draft.model;
    config.rule = "block-greedy";
    assert_fails_with(spec_decoder_init(&decoder, &config, &error), GSL_EINVAL,
                      "but those of draft heads and block drafts do");
}

/* Returns the probability that a path of the given rows is accepted as far as `offset`: E[sum_x
 * min(target(x), row(x))] over all predecessors that are drafted and accepted. */
static long double accepted(opened *target, double (*row)[V_MAX], int *text, int length, int offset,
                            long double weight)
{
    const int V = target->model->vocab;
    double here[V_MAX];
    long double sum = 0.0L;
    memcpy(here, row_after(target, text, (size_t)length), (size_t)V * sizeof *here);
    for (int x = 0; x < V; x++) {
        const long double both = weight * fmin(here[x], row[length][x]);
        text[length] = x;
        sum += length == offset ? both : accepted(target, row, text, length + 1, offset, both);
    }
    return sum;
}

/* mean_n_accepted of the first round is the sum of the offsets' objectives. */
TEST(the_decoder_accepts_what_the_objective_says)
{
    static const char *const drafts[] = {"block?of=target", "block?of=target&row=mean",
                                         "block?of=target&alpha=0.8"};
    double found[3];
    OWNED(opened) target = open_model("dirichlet?V=3&order=2&concentration=0.5&seed=5", NULL);
    for (size_t d = 0; d < 3; d++) {
        OWNED(opened) draft = open_model(drafts[d], target.model);
        const int path[DEPTH] = {0};
        int text[DEPTH];
        double row[DEPTH][V_MAX], store[3 * DEPTH];
        const double *read[DEPTH];
        long double sum = 0.0L;
        assert_works(spec_session_score(
            &draft.session,
            &(spec_score_request){
                .token = path, .n_nodes = DEPTH - 1, .ret_row = read, .scratch = store},
            &error));
        for (int i = 0; i < DEPTH; i++) memcpy(row[i], read[i], 3 * sizeof(double));
        for (int i = 0; i < DEPTH; i++) sum += accepted(&target, row, text, 0, i, 1.0L);
        OWNED(spec_output_law) law = law_of("token", "chain", &target, &draft, DEPTH, 1);
        assert_within(law.accepted, (double)sum, 1e-13);
        found[d] = law.accepted;
    }
    assert_true(found[0] > found[1] + 1e-3 && found[0] > found[2] + 1e-3);
}

/* A round costs c for its pass, c_token per row read, and 1 for the verification. The oracle pays
 * only for accepted tokens. */
TEST(a_round_costs_one_pass_and_a_time_per_token)
{
    static const struct {
        const char *draft, *drafting, *policy;
        int K, rows; /* rows that a full draft reads; 0: those of the oracle */
    } cases[] = {{"block?of=target", "chain", "fixed", 5, 5},
                 {"markov-block?of=target", "chain", "fixed", 5, 5},
                 {"markov-block?of=target", "greedy", "fixed", 3, 3},
                 {"markov-block?of=target", "chain", "oracle", 5, 0},
                 {"markov-block?of=target", "tree?widths=3.1.2", "fixed", 3, 7},
                 {"block?of=target", "marginals?nodes=9", "fixed", 4, 4},
                 {"block?of=target", "chain", "trim", 5, 5},
                 {"block?of=target", "chain", "fixed", 0, 0}};
    OWNED(opened) target = open_model("dirichlet?V=4&order=2&concentration=0.5&seed=5", NULL);
    OWNED_RNG *rng = spec_rng_alloc();
    spec_rng_stream(rng, 42, 1);
    spec_chance chance = spec_chance_sampled(rng);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        OWNED(opened) draft = open_model(cases[c].draft, target.model);
        OWNED(spec_decoder) decoder;
        spec_decoder_config config = SPEC_DECODER_DEFAULT;
        spec_tally tally = {0};
        config.target = target.model;
        config.opt_draft = draft.model;
        config.drafting = cases[c].drafting;
        config.rule = "naive-tree";
        config.policy = cases[c].policy;
        config.K = cases[c].K;
        config.costs = (spec_costs){.draft = 0.3, .token = 0.07, .verify = 1.1, .fixed = 0.01};
        assert_works(spec_decoder_init(&decoder, &config, &error));
        double expected = 0.0;
        for (int round = 0; round < 40; round++) {
            assert_works(spec_decoder_round(&decoder, &chance, &tally, &error));
            const bool oracle = cases[c].policy[0] == 'o';
            const int rows = oracle ? decoder.round.n_accepted : cases[c].rows;
            expected += (rows > 0 ? 0.3 : 0.0) + 0.07 * rows + 1.11;
            /* Rows are drafted already when trim cuts, and verified tokens cost nothing. */
            if (cases[c].policy[0] == 't') assert_int_equal(decoder.round.n_drafted, 5);
        }
        assert_within(tally.time, expected, 1e-12);
    }
}

/* The guess is a separate call, before that of the chain. */
TEST(the_clock_charges_one_call_for_a_draft_ahead_too)
{
    const spec_costs costs = {.draft = 0.3,
                              .token = 0.07,
                              .verify = 0.9,
                              .verify_token = 0.02,
                              .fixed = 0.01,
                              .one_pass = true};
    spec_charges charges = {.calls = 4, .rows = 4, .tokens = 4, .calls_ahead = 6, .rows_ahead = 6};
    const double drafting = 0.3 + 4 * 0.07, ahead = 2 * 0.3 + 6 * 0.07;
    assert_within(spec_costs_round(&costs, &charges), drafting + ahead + 0.01, 1e-15);
    charges.rows_ahead = 1; /* less than the pass */
    assert_within(spec_costs_round(&costs, &charges), drafting + 0.9 + 4 * 0.02 + 0.01, 1e-15);
}

/* Calls have a huge cost, but lookup makes none. */
TEST(a_policy_weighs_no_calls_without_a_model)
{
    OWNED(opened) target = open_model("uniform?V=1", NULL);
    OWNED_RNG *rng = spec_rng_alloc();
    spec_rng_stream(rng, 42, 2);
    spec_chance chance = spec_chance_sampled(rng);
    OWNED(spec_decoder) decoder;
    spec_decoder_config config = SPEC_DECODER_DEFAULT;
    spec_tally tally = {0};
    config.target = target.model;
    config.drafting = "lookup";
    config.policy = "goodput";
    config.costs.draft = 1e6;
    assert_works(spec_decoder_init(&decoder, &config, &error));
    for (int round = 0; round < 40; round++)
        assert_works(spec_decoder_round(&decoder, &chance, &tally, &error));
    assert_true(tally.drafted >= 30 * 5);
    assert_true(tally.time == 40.0);
}
