/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/round_log.h"

#include "models/model_open.h"
#include "sim/chance/rng.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <string.h>

static const char *const draftings[] = {"chain",
                                        "greedy",
                                        "tree?n=2",
                                        "tree?widths=3.2.1",
                                        "tree?children=2.1.3.0.1",
                                        "tree?n=2&siblings=without",
                                        "tree?n=4&siblings=without",
                                        "tree?n=2&siblings=top",
                                        "tree?n=2&siblings=hub",
                                        "tree?widths=3.2&siblings=greedy",
                                        "dynamic",
                                        "lookup",
                                        "suffix",
                                        "recycle",
                                        "lookahead",
                                        "gumbel?seed=7",
                                        "minhash?seed=7",
                                        NULL};

/* A decoder with its models and its log. */
typedef struct {
    spec_model *target, *draft;
    spec_decoder decoder;
    spec_round_log log;
    gsl_rng *rng;
} stand;

static bool open_stand(stand *s, const char *target, const char *draft, const char *drafting,
                       const char *rule, int K)
{
    static const int context[] = {2, 0, 1, 2, 0, 1, 2, 0};
    spec_error error;
    *s = (stand){.rng = spec_rng_alloc()};
    assert_works(spec_model_open(&s->target, target, NULL, NULL, &error));
    assert_works(spec_model_open(&s->draft, draft, s->target, NULL, &error));
    spec_decoder_config config = SPEC_DECODER_DEFAULT;
    config.target = s->target;
    config.opt_draft = s->draft;
    config.drafting = drafting;
    config.rule = rule;
    config.K = K;
    if (spec_decoder_init(&s->decoder, &config, &error) != GSL_SUCCESS) return false;
    assert_works(spec_decoder_reset(&s->decoder, context, 8, &error));
    spec_round_log_init(&s->log, &s->decoder, NULL, 0, s->rng);
    return true;
}

static void stand_free(stand *s)
{
    spec_round_log_free(&s->log);
    spec_decoder_free(&s->decoder);
    spec_model_close(s->draft);
    spec_model_close(s->target);
    gsl_rng_free(s->rng);
}

/* Returns the token that the round has after this node of its path. */
static int token_after(const spec_round *round, int node)
{
    int depth = 0;
    while (node >= 0 && round->node[depth++] != node) assert_true(depth < round->n_accepted);
    return round->token[depth];
}

static void check_test(const stand *s, const spec_told *told)
{
    const spec_draft *draft = &s->decoder.draft;
    if (told->node < 0) return;
    if (s->decoder.rule.asks == SPEC_ASKS_AHEAD && told->node > s->decoder.round.n_accepted) {
        assert_int_equal(told->after, s->decoder.round.n_accepted - 1);
        return;
    }
    assert_int_equal(draft->parent[told->node], told->after);
    const bool accepted = token_after(&s->decoder.round, told->after) == draft->token[told->node];
    if (told->decision.answer == 1) assert_true(accepted);
}

/* Checks that every decision names a node that fits draft and outcome. `known`: no decision is an
 * OTHER. */
static void check_round(const stand *s, bool known)
{
    const spec_draft *draft = &s->decoder.draft;
    const spec_round *round = &s->decoder.round;
    int block = 0, kept = 0;
    for (int d = 0; d < s->log.n; d++) {
        const spec_told *told = &s->log.told[d];
        const spec_decision *decision = &told->decision;
        assert_int_equal(told->role == SPEC_ROLE_DRAFT, told->drafting);
        switch (told->role) {
        case SPEC_ROLE_OTHER: assert_false(known); break;
        case SPEC_ROLE_DRAFT:
            assert_int_equal(draft->token[told->node], decision->answer);
            assert_int_equal(draft->parent[told->node], told->after);
            break;
        case SPEC_ROLE_SELECT: assert_true(spec_verify_children(draft, told->after) > 1); break;
        case SPEC_ROLE_TEST: check_test(s, told); break;
        case SPEC_ROLE_KEEP:
            kept += decision->answer;
            if (decision->answer == 1)
                assert_int_equal(told->node,
                                 round->n_accepted > 0 ? round->node[round->n_accepted - 1] : -1);
            break;
        case SPEC_ROLE_BLOCK: block = SPEC_RESIDUAL_BLOCK * decision->answer; break;
        case SPEC_ROLE_CORRECTION:
        case SPEC_ROLE_BONUS:
        case SPEC_ROLE_TARGET:
            assert_int_equal(block + decision->answer, token_after(round, told->after));
            assert_int_equal(told->role == SPEC_ROLE_BONUS,
                             spec_verify_children(draft, told->after) == 0);
            block = 0;
            break;
        }
    }
    assert_true(kept <= 1);
}

/* Returns whether all draft tokens that were drawn by chance are named exactly once. */
static void check_drawn(const stand *s)
{
    const spec_draft *draft = &s->decoder.draft;
    int named = 0, drawn = 0;
    for (int d = 0; d < s->log.n; d++) named += s->log.told[d].role == SPEC_ROLE_DRAFT;
    if (named == 0) return; /* chosen, or drawn by shared noise */
    for (int i = 0; i < draft->n_nodes; i++) drawn += draft->sampled[i];
    if (draft->siblings != SPEC_SIBLINGS_HUB) assert_int_equal(named, drawn);
}

TEST(every_rule_and_drafting_is_read, SLOW)
{
    static const struct {
        const char *target, *draft;
        int rounds;
    } pair[] = {
        {"dirichlet?V=4&concentration=0.4&seed=3", "dirichlet?V=4&concentration=0.4&seed=4", 60},
        {"dirichlet?V=4&concentration=1&seed=3", "perturb?of=target&alpha=0.9", 60},
        {"dirichlet?V=700&concentration=0.1&seed=3", "perturb?of=target&alpha=0.4", 6}};
    const uint64_t seed = spec_test_seed();
    int runs = 0;
    for (int p = 0; p < 3; p++)
        for (int r = 0; spec_rules[r] != NULL; r++)
            for (int d = 0; draftings[d] != NULL; d++) {
                OWNED(stand) s;
                const char *rule = spec_rules[r]->name;
                const bool opens =
                    open_stand(&s, pair[p].target, pair[p].draft, draftings[d], rule, 3);
                const bool large = p == 2 && strcmp(rule, "ot") == 0;
                for (int round = 0; opens && round < pair[p].rounds; round++) {
                    spec_rng_stream(s.rng, seed, (uint64_t)round);
                    assert_works(spec_round_log_next(&s.log, &error));
                    const bool tree = s.decoder.draft.branches;
                    check_round(&s, spec_rules[r]->asks != SPEC_ASKS_OTHER &&
                                    (!tree || !(large || spec_rules[r]->asks == SPEC_ASKS_LEAVES)));
                    check_drawn(&s);
                }
                runs += opens;
            }
    assert_true(runs > 400);
}

/* Returns the roles of the last round, as a text such as "draft 0, test 0, correction -1". */
static const char *roles(const stand *s)
{
    static char text[512];
    int n = 0;
    for (int d = 0; d < s->log.n; d++) {
        const spec_told *told = &s->log.told[d];
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%s %d", d > 0 ? ", " : "",
                      spec_role_names[told->role],
                      told->role >= SPEC_ROLE_BLOCK ? told->after : told->node);
    }
    return text;
}

/* Coins force each branch: the rows of both models are the same at every position. */
TEST(coins_tell_the_story_of_a_rule)
{
    static const struct {
        const char *drafting, *rule;
        double coin[12];
        const char *roles;
    } story[] = {
        {"chain",
         "token",
         {0.5, 0.5, 0.1, 0.7, 0.6},
         "draft 0, draft 1, test 0, test 1, "
         "correction 0"},
        {"chain", "token", {0.5, 0.5, 0.1, 0.1, 0.6}, "draft 0, draft 1, test 0, test 1, bonus 1"},
        {"chain", "match", {0.5, 0.5, 0.6, 0.1}, "draft 0, draft 1, target -1, target 0"},
        {"chain",
         "block",
         {0.5, 0.5, 0.6, 0.9, 0.6},
         "draft 0, draft 1, keep 1, keep 0, keep -1, "
         "correction -1"},
        {"chain", "traversal", {0.5, 0.5, 0.1, 0.6}, "draft 0, draft 1, keep 1, bonus 1"},
        /* a rejected token returns because its window is accepted; in the other case it stays
         * rejected */
        {"chain",
         "fly?window=1",
         {0.8, 0.1, 0.9, 0.6},
         "draft 0, draft 1, test 0, test 1, bonus 1"},
        {"chain",
         "fly?window=1",
         {0.8, 0.8, 0.9, 0.9, 0.1},
         "draft 0, draft 1, test 0, test 1, correction -1"},
        {"chain",
         "cut-invalid?rule=block",
         {0.5, 0.5, 0.1, 0.6},
         "draft 0, draft 1, keep 1, bonus 1"},
        {"tree?widths=2.1&siblings=without",
         "target-only",
         {0.1, 0.5, 0.1, 0.1, 0.6, 0.5, 0.1},
         "draft 0, draft 1, draft 2, draft 3, test 0, test 1, correction -1"},
        {"tree?widths=2.1",
         "rrs",
         {0.5, 0.5, 0.5, 0.5, 0.9, 0.1, 0.5},
         "draft 0, draft 1, draft 2, draft 3, test 0, test 1, correction -1"},
        {"tree?widths=2.1&siblings=hub",
         "spechub",
         {0.1, 0.1, 0.5, 0.5, 0.1, 0.1, 0.1},
         "draft 0, draft 1, draft 2, draft 3, test 1, test 0, test 2, bonus 2"},
    };
    for (size_t i = 0; i < sizeof story / sizeof story[0]; i++) {
        OWNED(stand) s;
        assert_true(open_stand(&s, "probs:0.5,0.2,0.1,0.2", "probs:0.4,0.3,0.2,0.1",
                               story[i].drafting, story[i].rule, 2));
        spec_rng_stream(s.rng, 1, 0);
        spec_round_log_init(&s.log, &s.decoder, story[i].coin, 12, s.rng);
        assert_works(spec_round_log_next(&s.log, &error));
        assert_string_equal(roles(&s), story[i].roles);
    }
}

/* The decision has the target's probability of the sibling that it selects, but does not name the
 * sibling. */
TEST(a_rejected_sibling_is_named_if_no_other_is_as_likely)
{
    static const struct {
        double second; /* the coin that draws the second sibling */
        const char *roles;
    } cases[] = {
        {0.3, "draft 0, draft 1, draft 2, draft 3, select -1, test 0, correction -1"},  /* 1, 1 */
        {0.9, "draft 0, draft 1, draft 2, draft 3, select -1, test -1, correction -1"}, /* 1, 2 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double coin[] = {0.3, cases[i].second, 0.5, 0.5, 0.5, 0.99, 0.5};
        OWNED(stand) s;
        assert_true(
            open_stand(&s, "probs:0.6,0.2,0.2", "probs:0.2,0.4,0.4", "tree?widths=2.1", "ot", 2));
        spec_rng_stream(s.rng, 1, 0);
        spec_round_log_init(&s.log, &s.decoder, coin, 7, s.rng);
        assert_works(spec_round_log_next(&s.log, &error));
        assert_string_equal(roles(&s), cases[i].roles);
    }
}

TEST(a_log_keeps_the_last_round_alone)
{
    OWNED(stand) s;
    assert_true(open_stand(&s, "probs:0.5,0.3,0.2", "probs:0.4,0.4,0.2", "chain", "token", 2));
    spec_rng_stream(s.rng, 1, 0);
    for (int i = 0; i < 5; i++) {
        assert_works(spec_round_log_next(&s.log, &error));
        assert_int_equal(s.log.told[0].role, SPEC_ROLE_DRAFT);
        assert_int_equal(s.log.told[1].node, 1);
        assert_true(s.log.n <= 5);
    }
}
