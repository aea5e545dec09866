/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The project's main claim: emitted tokens have exactly the law that the rule promises, for any
 * draft, strategy and policy. Every case enumerates all branches of the decoding loop and compares
 * with a product of the target's rows. */
#include "models/model_open.h"
#include "sim/chance/rng.h"
#include "sim/output_law.h"
#include "tests/support/contexts.h"
#include "tests/support/model_of.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tests/support/table_model.h"

#include <string.h>

/* The rules that do not judge a chain just as token does, and token itself. */
static const char *const rules[] = {"token",     "match",  "greedy",  "block",      "block-greedy",
                                    "traversal", "gumbel", "minhash", "target-only"};
static const char *const draftings[] = {"chain", "greedy", "lookup?max=2",
                                        "lookup?max=2&min=2&full=1"};
static const char *const policies[] = {"fixed",
                                       "heuristic?cap=3",
                                       "confidence?threshold=0.45",
                                       "cumulative?threshold=0.6",
                                       "peak?threshold=0.55",
                                       "oracle"};
enum {
    N_RULES = sizeof rules / sizeof *rules,
    N_DRAFTINGS = sizeof draftings / sizeof *draftings,
    N_POLICIES = sizeof policies / sizeof *policies,
    LIMIT = 10000000
};

typedef struct {
    uint64_t laws, branches;
    double worst;
} survey;

typedef struct {
    const char *rule, *drafting, *policy;
} method;

static spec_output_law law_of(const method *by, const spec_model *target, const spec_model *draft,
                              int K, int n_tokens, const int *prompt, size_t n_prompt)
{
    const spec_decoder_config config = {.target = target,
                                        .opt_draft = draft,
                                        .drafting = by->drafting,
                                        .policy = by->policy,
                                        .rule = by->rule,
                                        .K = K,
                                        .costs = SPEC_COSTS_DEFAULT};
    spec_output_law law;
    assert_works(spec_output_law_init(&law, &config, prompt, n_prompt, n_tokens, LIMIT, &error));
    return law;
}

static void check_lossless(survey *ret_survey, const method *by, const spec_model *target,
                           const spec_model *draft, int K, int n_tokens, const char *family)
{
    const int prompt[] = {0, target->vocab - 1, 0};
    const size_t n_prompt = by->drafting[0] == 'l' ? 3 : 0; /* prompt lookup needs earlier tokens */
    if (strcmp(by->rule, "block-greedy") == 0 && strchr("cp", by->policy[0]) != NULL)
        return; /* refused, because they read tokens */
    OWNED(spec_output_law) law = law_of(by, target, draft, K, n_tokens, prompt, n_prompt);
    if (!(law.tv < 1e-12) || !(fabs(law.total - 1.0) < 1e-12))
        fail_msg("%s %s %s K=%d m=%d V=%d %s: tv %g total %.17g", by->rule, by->drafting,
                 by->policy, K, n_tokens, target->vocab, family, law.tv, law.total);
    ret_survey->laws++;
    ret_survey->branches += law.branches;
    if (law.tv > ret_survey->worst) ret_survey->worst = law.tv;
}

/* Tries three random pairs (one under a sanitizer) for each rule x strategy x policy x K x tokens
 * in each family: 7344 pairs per family. */
TEST(every_rule_strategy_and_policy_is_lossless, STATISTICS)
{
    uint64_t noise = spec_test_seed();
    const uint64_t times = spec_test_samples(spec_test_stride(1) > 1 ? 1 : 3);
    for (int family = 0; family < PAIR_FAMILIES; family++) {
        survey seen = {0};
        for (uint64_t again = 0; again < times; again++)
            for (int c = 0; c < N_RULES * N_DRAFTINGS * N_POLICIES * 4 * 3; c++) {
                const int K = c % 4, n_tokens = 1 + c / 4 % 3;
                const method by = {rules[c / 12 % N_RULES],
                                   draftings[c / 12 / N_RULES % N_DRAFTINGS],
                                   policies[c / 12 / N_RULES / N_DRAFTINGS]};
                const int most = K + n_tokens <= 4 ? 4 : K + n_tokens == 5 ? 3 : 2;
                const int V = 1 + (int)(most * table_uniform(&noise));
                OWNED(table_model) target, draft;
                table_model_init(&target, V);
                table_model_init(&draft, V);
                table_pair_randomize(&target, &draft, (pair_family)family, &noise);
                check_lossless(&seen, &by, &target.head, &draft.head, K, n_tokens,
                               pair_family_names[family]);
            }
        print_message("%-8s %6llu laws %9llu branches, worst tv %.1e\n", pair_family_names[family],
                      (unsigned long long)seen.laws, (unsigned long long)seen.branches, seen.worst);
    }
}

/* The largest case that all policies share: three tokens of three, drafted three by three. */
TEST(larger_laws_are_exact_too)
{
    uint64_t noise = spec_test_seed();
    static const char *const sampling[] = {"token", "match", "block"};
    survey seen = {0};
    for (int c = 0; c < 2 * 3 * N_POLICIES; c++) {
        OWNED(table_model) target, draft;
        table_model_init(&target, 3);
        table_model_init(&draft, 3);
        table_pair_randomize(&target, &draft, c % 2 == 0 ? PAIR_ZEROS : PAIR_MIXED, &noise);
        const method by = {sampling[c / 2 % 3], draftings[c / 4 % 3], policies[c / 6]};
        check_lossless(&seen, &by, &target.head, &draft.head, 3, 3, "large");
    }
}

/* Texts may end within a round, at one token or two, and the draft model may end its text at
 * another token. */
TEST(an_end_of_text_changes_no_law, STATISTICS)
{
    uint64_t noise = spec_test_seed();
    const uint64_t times = spec_test_samples(4);
    survey seen = {0};
    for (uint64_t again = 0; again < times; again++)
        for (int c = 0; c < N_RULES * 3 * N_POLICIES * 3; c++) {
            OWNED(table_model) target, draft;
            table_model_init(&target, 3);
            table_model_init(&draft, 3);
            table_pair_randomize(&target, &draft, PAIR_MIXED, &noise);
            target.head.ends = spec_text_ends_one(1);
            draft.head.ends =
                spec_text_ends_one((int)(again % 3) - 1); /* no end, another end, the same end */
            if (c % 2 == 1) spec_text_ends_add(&target.head.ends, 2);
            if (c % 2 == 1 && again % 3 != 0) spec_text_ends_add(&draft.head.ends, 2);
            const method by = {rules[c % N_RULES], draftings[c / N_RULES % 3],
                               policies[c / N_RULES / 3 % N_POLICIES]};
            check_lossless(&seen, &by, &target.head, &draft.head, 1 + c / N_RULES / 3 / N_POLICIES,
                           3, "end of text");
        }
}

/* ---- policies that learn --------------------------------------------------------------------- */

/* Settings under which a text of few tokens teaches enough to change lengths. */
static const char *const learning[] = {
    "average?lengths=0.1.2&rate=0.9&warm=0&every=1",
    "gate?base=1&window=2&warm=1",
    "tiers?max=2&window=1",
    "switch-off?window=1&threshold=1",
    "switch-off?of=share&window=2&threshold=0.6",
    "refit?threshold=0.3&pairs=2",
    "refit?pairs=2&schedule=heuristic&cap=3",
    "bins?burn=1&least=0.5&width=0.3",
    "bins?burn=1&least=0.5&width=0.3&cut=product",
    "goodput?every=1&c=0.4",
    "eliminate?c=0.4&doubt=1e9",
    "ucb?c=0.4",
    "ucb?c=0.4&explore=0",
    "ucbspec?c=0.4",
    "exp3spec?c=0.4",
    "probe?least=1&max=3&samples=1&c=0.1",
    "climb?samples=1&c=0.4",
    "trim?every=1&token=0.4",
    "peak?threshold=0.6&top=2&least=1",
};
enum { N_LEARNING = sizeof learning / sizeof *learning };

/* Long texts with small drafts: four tokens take up to four rounds. */
TEST(policies_that_learn_are_lossless, SLOW | STATISTICS)
{
    static const char *const sampling[] = {"token", "match", "block", "traversal"};
    uint64_t noise = spec_test_seed();
    const uint64_t times = spec_test_samples(2);
    survey seen = {0};
    for (uint64_t again = 0; again < times; again++)
        for (int c = 0; c < 4 * 3 * N_LEARNING * PAIR_FAMILIES; c++) {
            const method by = {sampling[c % 4], draftings[c / 4 % 3],
                               learning[c / 12 % N_LEARNING]};
            OWNED(table_model) target, draft;
            table_model_init(&target, 2);
            table_model_init(&draft, 2);
            table_pair_randomize(&target, &draft, (pair_family)(c / 12 / N_LEARNING), &noise);
            check_lossless(&seen, &by, &target.head, &draft.head,
                           strstr(by.policy, "tiers") ? 1 : 2, 5, "learning");
        }
    print_message("%llu laws, %llu branches, worst tv %.1e\n", (unsigned long long)seen.laws,
                  (unsigned long long)seen.branches, seen.worst);
}

/* Chosen drafts depend on the text and on what the policy has learnt. So a decoder that is reset
 * before each round drafts other lengths, if that makes a difference within five tokens. */
TEST(what_policies_learn_matters_in_these_texts)
{
    uint64_t noise = spec_test_seed();
    OWNED_RNG *rng = spec_test_rng(spec_rng_pcg64dxsm, 42);
    spec_chance chance = spec_chance_sampled(rng);
    for (int p = 0; p < N_LEARNING - 1; p++) { /* the last one learns nothing */
        int other = 0;
        for (uint64_t text = 0; text < 400; text++) {
            OWNED(table_model) target, draft;
            spec_decoder going, fresh;
            table_model_init(&target, 2);
            table_model_init(&draft, 2);
            table_pair_randomize(&target, &draft, PAIR_PLAIN, &noise);
            const spec_decoder_config config = {.target = &target.head,
                                                .opt_draft = &draft.head,
                                                .drafting = "greedy",
                                                .policy = learning[p],
                                                .rule = "token",
                                                .K = strstr(learning[p], "tiers") ? 1 : 2,
                                                .costs = SPEC_COSTS_DEFAULT};
            assert_int_equal(spec_decoder_init(&going, &config, NULL), GSL_SUCCESS);
            assert_int_equal(spec_decoder_init(&fresh, &config, NULL), GSL_SUCCESS);
            while (going.n_context < 5) {
                assert_int_equal(spec_decoder_reset(&fresh, going.context, going.n_context, NULL),
                                 GSL_SUCCESS);
                assert_int_equal(spec_decoder_round(&going, &chance, NULL, NULL), GSL_SUCCESS);
                assert_int_equal(spec_decoder_round(&fresh, &chance, NULL, NULL), GSL_SUCCESS);
                other += going.round.n_drafted != fresh.round.n_drafted;
            }
            spec_decoder_free(&going);
            spec_decoder_free(&fresh);
        }
        print_message("%-45s other lengths %d times in 400 texts\n", learning[p], other);
        assert_true(other >= 20);
    }
}

/* The library's own models, with sampling transforms and at temperature 0 on either side. */
TEST(library_models_are_decoded_without_loss)
{
    static const char *const pairs[][2] = {
        {"markov?V=3&order=2&seed=3", "markov?V=3&order=1&seed=4"},
        {"dirichlet?V=3&concentration=0.3&seed=7", "dirichlet?V=3&seed=8"},
        {"markov?V=4&order=1&temperature=0.7&top_k=3", "markov?V=4&order=1&seed=9&top_p=0.8"},
        {"markov?V=3&order=1&seed=5", "markov?V=3&order=1&seed=6&temperature=0"},
        {"markov?V=3&order=1&seed=5&temperature=0", "markov?V=3&order=1&seed=6"},
        {"probs:0.5,0.3,0.2", "probs:0.2,0.5,0.3"},
    };
    survey seen = {0};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        spec_model *target, *draft;
        target = model_of(pairs[i][0], NULL);
        draft = model_of(pairs[i][1], target);
        for (int c = 0; c < N_RULES * N_DRAFTINGS * 3; c++) {
            const method by = {rules[c % N_RULES], draftings[c / N_RULES % N_DRAFTINGS], "fixed"};
            check_lossless(&seen, &by, target, draft, 1 + c / N_RULES / N_DRAFTINGS, 2,
                           pairs[i][0]);
        }
        spec_model_close(draft);
        spec_model_close(target);
    }
}

/* ---- what is wrong is seen ------------------------------------------------------------------- */

static const double example_target[] = {0.5, 0.3, 0.2}, example_draft[] = {0.2, 0.5, 0.3};

static void check_law(const char *rule, const char *drafting, const char *policy,
                      const double *expected, double tv)
{
    OWNED(table_model) target, draft;
    table_model_init(&target, 3);
    table_model_init(&draft, 3);
    table_model_fill(&target, example_target);
    table_model_fill(&draft, example_draft);
    const method by = {rule, drafting, policy};
    OWNED(spec_output_law) law = law_of(&by, &target.head, &draft.head, 1, 1, NULL, 0);
    for (int i = 0; i < 3; i++) assert_within(law.law[i], expected[i], 1e-15);
    assert_within(law.tv, tv, 1e-15);
}

TEST(wrong_rules_have_their_known_laws)
{
    /* tests/oracle/misc.py: "argmax draft + softmax-q test". */
    check_law("greedy-softmax", "greedy", "fixed", (const double[]){0.4, 0.6, 0.0}, 0.3);
    check_law("greedy-softmax", "chain", "fixed", example_target,
              0.0); /* right if drafts are sampled */

    /* The accepted mass is min(target, draft), and the rejected mass 1 - alpha is spread as the
     whole target. */
    double expected[3], alpha = 0.0, tv = 0.0;
    for (int i = 0; i < 3; i++) alpha += fmin(example_target[i], example_draft[i]);
    for (int i = 0; i < 3; i++) {
        expected[i] = fmin(example_target[i], example_draft[i]) + (1.0 - alpha) * example_target[i];
        tv += fabs(expected[i] - example_target[i]) / 2.0;
    }
    check_law("resample-target", "chain", "fixed", expected, tv);
    assert_within(tv, 0.15, 1e-15);
    /* A one-hot draft of token 1 is accepted with .3, otherwise the whole target is drawn from:
     * (.35, .3 + .21, .14). */
    check_law("resample-target", "greedy", "fixed", (const double[]){0.35, 0.51, 0.14}, 0.21);
}

TEST(an_anticipating_policy_is_caught)
{
    /* tests/oracle/misc.py: "drop-if-q<0.25". */
    const double dropped[] = {0.4, 0.36, 0.24};
    check_law("token", "chain", "confidence-drop?threshold=0.25", dropped, 0.1);
    /* The same threshold, used correctly. */
    check_law("token", "chain", "confidence?threshold=0.25", example_target, 0.0);
    check_law("token", "chain", "peak?threshold=0.55", example_target, 0.0);
    check_law("token", "chain", "trim?token=0.4", example_target, 0.0);
    check_law("token", "greedy", "trim-drawn?token=0.4", example_target, 0.0);
    check_law("match", "chain", "trim-drawn?token=0.4", example_target, 0.0);
    check_law("token", "greedy", "trim?token=0.4&sizes=1.3", example_target, 0.0);
    /* Without sampling nothing is anticipated. Matching emits the target's samples, but that is
     * right only if it does not read the retracted token. It does not, so this rule is safe. */
    check_law("token", "greedy", "confidence-drop?threshold=0.55", example_target, 0.0);
    check_law("match", "chain", "confidence-drop?threshold=0.25", example_target, 0.0);
}

TEST(wrong_rules_and_policies_show_on_random_models, SLOW | STATISTICS)
{
    static const struct {
        method by;
        double share; /* share of the pairs on which the error must show */
    } wrong[] = {
        {{"resample-target", "chain", "fixed"}, 1.0},
        {{"resample-target", "greedy", "fixed"}, 1.0},
        {{"resample-target", "lookup", "fixed"}, 1.0},
        {{"greedy-softmax", "greedy", "fixed"}, 1.0},
        {{"token", "chain", "confidence-drop?threshold=0.4"},
         0.7}, /* not if it drops all drawn tokens, or none */
        {{"token", "chain", "trim-drawn?token=0.4"}, 0.3},       /* likewise */
        {{"block", "chain", "peak?threshold=0.6&least=2"}, 0.1}, /* only at K = 2 */
        {{"token", "chain", "trim?token=0.4&sizes=1.3"}, 0.1},   /* likewise */
        {{"lenience?l=0.5", "chain", "fixed"}, 0.95},            /* not if no ratio is below 1 */
        {{"lenience?l=0.5", "greedy", "fixed"}, 1.0},
        {{"target-only?acc=0.5", "chain", "fixed"}, 1.0},
        {{"target-only?acc=0.5", "greedy", "fixed"}, 1.0},
        {{"target-only?single=0.3", "chain", "fixed"}, 0.9}, /* not if no token is so probable */
        {{"single-threshold?s=0.3", "chain", "fixed"},
         0.5}, /* nor if all such ratios are above 1 */
        {{"ensemble", "chain", "fixed"}, 1.0},
        {{"ensemble", "greedy", "fixed"}, 1.0},
        {{"cactus?delta=0.3", "chain", "fixed"}, 1.0},
        {{"cactus?delta=0.3", "greedy", "fixed"}, 1.0},
        {{"fly", "chain", "fixed"}, 0.35}, /* only at K = 2 */
        {{"fly", "greedy", "fixed"}, 0.35},
        {{"relaxed?delta=0.3", "chain", "fixed"}, 1.0},
        {{"typical", "chain", "fixed"}, 1.0},
        {{"top-k-relaxed?k=2", "chain", "fixed"}, 1.0},
        {{"mentored?budget=0.1", "chain", "fixed"}, 1.0},
        {{"mentored?budget=0.1", "greedy", "fixed"}, 1.0},
        {{"pardon", "chain", "fixed"}, 1.0},
        {{"pardon", "greedy", "fixed"}, 1.0},
        {{"hsd", "chain", "fixed"}, 0.4},      /* only at K = 2 */
        {{"resispec", "chain", "fixed"}, 0.6}, /* not if V = 2 */
    };
    uint64_t noise = spec_test_seed();
    const uint64_t times = spec_test_samples(200);
    for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
        uint64_t caught = 0;
        for (uint64_t t = 0; t < times; t++) {
            OWNED(table_model) target, draft;
            const int V = 2 + (int)(3.0 * table_uniform(&noise)),
                      K = 1 + (int)(2.0 * table_uniform(&noise));
            table_model_init(&target, V);
            table_model_init(&draft, V);
            table_pair_randomize(&target, &draft, PAIR_PLAIN, &noise);
            const int prompt[] = {0, 1, 0};
            OWNED(spec_output_law) law =
                law_of(&wrong[w].by, &target.head, &draft.head, K, 2, prompt, 3);
            caught += law.tv > 1e-6;
            assert_within(law.total, 1.0, 1e-14);
        }
        print_message("%-19s %-6s %-29s caught on %llu of %llu pairs\n", wrong[w].by.rule,
                      wrong[w].by.drafting, wrong[w].by.policy, (unsigned long long)caught,
                      (unsigned long long)times);
        assert_true((double)caught >= wrong[w].share * (double)times);
    }
}
