/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the claim on trees: emitted tokens have exactly the target's law, for every kind of
 * siblings that the rule supports. A round is enumerated over all drafts and decisions, and the
 * target continues its tokens to a text of full length. Small cases also run the whole decoding
 * loop, several rounds per text. */
#include "sim/chance/rng.h"
#include "sim/output_law.h"
#include "tests/support/battery.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tests/support/tree_round.h"

static const struct {
    const char *widths;
    int depth;
} shapes[] = {{"2", 1}, {"3", 1}, {"2.1", 2}, {"1.2", 2}, {"2.2", 2}};
enum { N_SHAPES = 5, PAIRS = 200, LENGTH_MAX = 3, LIMIT = TREE_ROUND_LIMIT };

static bool goes_with(const spec_rule *rule, spec_siblings siblings)
{
    return rule->claim == SPEC_LOSSLESS && (rule->siblings & SPEC_SIBLINGS_BIT(siblings));
}

/* ---- one round ------------------------------------------------------------------------------- */

TEST(every_rule_is_lossless_for_its_siblings, STATISTICS)
{
    uint64_t noise = spec_test_seed();
    const uint64_t pairs = spec_test_samples(PAIRS);
    for (int r = 0; spec_rules[r] != NULL; r++)
        for (int siblings = 0; siblings < SPEC_SIBLINGS_KINDS; siblings++) {
            if (!goes_with(spec_rules[r], (spec_siblings)siblings)) continue;
            double worst = 0.0;
            uint64_t branches = 0;
            for (uint64_t c = 0; c < pairs; c++) {
                const bool pairs_only = siblings == SPEC_SIBLINGS_HUB;
                const int shape = c % N_SHAPES == 1 && pairs_only ? 4 : (int)(c % N_SHAPES);
                const int family = (int)(c / N_SHAPES % PAIR_FAMILIES);
                const int depth = shapes[shape].depth, most = shape == 4 ? 3 : 4;
                const int V = 1 + (int)(c / N_SHAPES / PAIR_FAMILIES + c % 3) % most;
                OWNED(table_model) target, draft;
                tree_round law;
                char drafting[64];
                snprintf(drafting, sizeof drafting, "tree?widths=%s&siblings=%s",
                         shapes[shape].widths, spec_siblings_names[siblings]);
                table_model_init(&target, V);
                table_model_init(&draft, V);
                table_pair_randomize(&target, &draft, (pair_family)family, &noise);
                const spec_decoder_config config = tree_round_config(
                    &target.head, &draft.head, spec_rules[r]->name, drafting, depth);
                tree_round_enumerate(&law, &config);
                const double tv = tree_round_tv(&law, &target, depth + 1);
                if (!(tv < 1e-12))
                    fail_msg("%s %s V=%d %s: tv %g", spec_rules[r]->name, drafting, V,
                             pair_family_names[family], tv);
                branches += law.branches;
                if (tv > worst) worst = tv;
            }
            print_message("%-11s %-8s %4llu pairs %8llu branches, worst tv %.1e\n",
                          spec_rules[r]->name, spec_siblings_names[siblings],
                          (unsigned long long)pairs, (unsigned long long)branches, worst);
        }
}

/* ---- several rounds -------------------------------------------------------------------------- */

/* Runs the decoding loop to texts of one to three tokens, so a round begins where another has
 * ended. */
TEST(whole_texts_are_lossless)
{
    uint64_t noise = spec_test_seed();
    for (int r = 0; spec_rules[r] != NULL; r++)
        for (int siblings = 0; siblings < SPEC_SIBLINGS_KINDS; siblings++)
            for (int c = 0; c < 2 * PAIR_FAMILIES; c++) {
                static const struct {
                    int shape, V, n_tokens;
                } cases[] = {{0, 3, 2}, {0, 2, 3}, {2, 2, 2}, {3, 2, 2}};
                const int shape = cases[c % 4].shape, V = cases[c % 4].V,
                          n_tokens = cases[c % 4].n_tokens;
                const int end_of_text = c / 4 % 2 == 1 ? 1 : -1;
                if (!goes_with(spec_rules[r], (spec_siblings)siblings)) continue;
                OWNED(table_model) target, draft;
                OWNED(spec_output_law) law;
                char drafting[64];
                snprintf(drafting, sizeof drafting, "tree?widths=%s&siblings=%s",
                         shapes[shape].widths, spec_siblings_names[siblings]);
                table_model_init(&target, V);
                table_model_init(&draft, V);
                table_pair_randomize(&target, &draft, (pair_family)(c % PAIR_FAMILIES), &noise);
                target.head.ends = draft.head.ends = spec_text_ends_one(end_of_text);
                const spec_decoder_config config = tree_round_config(
                    &target.head, &draft.head, spec_rules[r]->name, drafting, shapes[shape].depth);
                assert_works(spec_output_law_init(&law, &config, NULL, 0, n_tokens, LIMIT, &error));
                if (!(law.tv < 1e-12) || !(fabs(law.total - 1.0) < 1e-12))
                    fail_msg("%s %s m=%d: tv %g", spec_rules[r]->name, drafting, n_tokens, law.tv);
            }
}

/* If a node has one child, drawn or chosen, every rule decides as the token rule does. Exceptions
 * are match and target-only, which ignore the draft's law, and the two that judge a chain as a
 * whole. */
TEST(chains_are_judged_as_by_the_token_rule)
{
    static const char *const draftings[] = {"chain", "greedy", "lookup", "tree?n=1&siblings=top"};
    static const char *const policies[] = {"fixed", "heuristic?cap=3", "confidence?threshold=0.45"};
    uint64_t noise = spec_test_seed();
    for (int c = 0; c < 4 * 2 * PAIR_FAMILIES; c++) {
        const char *drafting = draftings[c % 4], *policy = policies[c % 4 == 3 ? 0 : c / 4 % 3];
        const int prompt[] = {0, 1, 0};
        table_model target, draft;
        double accepted = 0.0; /* by the token rule, the first in the table */
        table_model_init(&target, 2 + c % 2);
        table_model_init(&draft, 2 + c % 2);
        table_pair_randomize(&target, &draft, (pair_family)(c / 8), &noise);
        for (int r = 0; spec_rules[r] != NULL; r++) {
            if (spec_rules[r]->claim != SPEC_LOSSLESS || spec_rules[r] == &spec_verify_match ||
                spec_rules[r] == &spec_verify_target_only)
                continue;
            if (spec_rules[r]->needs_schedule) continue;
            spec_decoder_config config =
                tree_round_config(&target.head, &draft.head, spec_rules[r]->name, drafting, 2);
            OWNED(spec_output_law) law;
            config.policy = policy;
            assert_works(spec_output_law_init(&law, &config, prompt, 3, 2, LIMIT, &error));
            if (r == 0) accepted = law.accepted;
            assert_within(law.tv, 0.0, 1e-12);
            if (spec_rules[r]->asks == SPEC_ASKS_BLOCK || spec_rules[r]->asks == SPEC_ASKS_LEAVES)
                assert_true(law.accepted > accepted - 1e-15);
            else assert_within(law.accepted, accepted, 1e-15);
        }
        table_model_free(&target);
        table_model_free(&draft);
    }
}

/* ---- acceptance at one place ----------------------------------------------------------------- */

static double acceptance(const char *rule, const char *drafting, const double *target_row,
                         const double *draft_row, int V)
{
    OWNED(table_model) target, draft;
    OWNED(spec_output_law) law;
    table_model_init(&target, V);
    table_model_init(&draft, V);
    table_model_fill(&target, target_row);
    table_model_fill(&draft, draft_row);
    const spec_decoder_config config =
        tree_round_config(&target.head, &draft.head, rule, drafting, 1);
    assert_works(spec_output_law_init(&law, &config, NULL, 0, 1, LIMIT, &error));
    const double accepted = law.accepted;
    assert_within(law.tv, 0.0, 1e-14);
    return accepted;
}

TEST(acceptances_are_the_known_ones)
{
    /* tests/oracle/vectors.py: rational arithmetic over all drafts; rho of kseq by 200 halvings. */
    static const double target[2][3] = {{0.5, 0.3, 0.2}, {0.3, 0.4, 0.3}};
    static const double draft[2][3] = {{0.2, 0.5, 0.3}, {0.6, 0.3, 0.1}};
    static const struct {
        const char *rule, *drafting;
        int vector;
        double accepted;
    } known[] = {
        {"match", "tree?n=1", 0, 0.31},
        {"match", "tree?n=2", 0, 0.507},
        {"match", "tree?n=3", 0, 0.6379},
        {"naive-tree", "tree?n=1", 0, 0.7},
        {"naive-tree", "tree?n=2", 0, 0.76},
        {"naive-tree", "tree?n=3", 0, 0.808},
        {"token", "tree?n=3", 0, 0.7}, /* only the first child */
        {"rrs", "tree?n=1", 0, 0.7},
        {"rrs", "tree?n=2", 0, 0.76},
        {"rrs", "tree?n=3", 0, 0.808},
        {"kseq", "tree?n=1", 0, 0.7},
        {"kseq", "tree?n=2", 0, 0.791355287257},
        {"kseq", "tree?n=3", 0, 0.858518605654},
        {"rrsw", "tree?n=2&siblings=without", 0, 283.0 / 350.0},
        {"rrsw", "tree?n=3&siblings=without", 0, 1.0}, /* all tokens are covered */
        {"spechub", "tree?n=2&siblings=hub", 0, 0.9},
        {"token-rest", "tree?n=2&siblings=greedy", 0,
         0.3 + 0.2 + 0.4},                          /* and the overlap with (.4, 0, .6) */
        {"match", "tree?n=2&siblings=top", 0, 0.5}, /* target(1) + target(2) */
        {"rrs", "tree?n=2", 1, 0.82},
        {"rrsw", "tree?n=2&siblings=without", 1, 0.875},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const int v = known[i].vector;
        const double accepted =
            acceptance(known[i].rule, known[i].drafting, target[v], draft[v], 3);
        if (!(fabs(accepted - known[i].accepted) < 1e-12))
            fail_msg("%s %s: %.15g, not %.15g", known[i].rule, known[i].drafting, accepted,
                     known[i].accepted);
    }
}

/* [Thomas26] Algorithms 6 and 7, [SunR24] and [Hu25]; two siblings. */
TEST(acceptances_agree_with_closed_forms)
{
    uint64_t noise = spec_test_seed();
    for (int c = 0; c < 25 * PAIR_FAMILIES; c++) {
        const int V = 2 + c % 3;
        OWNED(table_model) target, draft;
        table_model_init(&target, V);
        table_model_init(&draft, V);
        table_pair_randomize(&target, &draft, (pair_family)(c % PAIR_MIXED), &noise);
        const double *t = target.row, *d = draft.row;
        int hub = 0;
        double rest = 0.0, overlap = 0.0, match = 0.0, naive = 0.0, hubbed;
        for (int i = 0; i < V; i++)
            if (d[i] > d[hub]) hub = i;
        for (int i = 0; i < V; i++)
            if (i != hub) rest += d[i];
        hubbed = t[hub];
        for (int i = 0; i < V; i++) {
            overlap += fmin(t[i], d[i]);
            naive += fmin(t[i], d[i]) + fmax(t[i] - d[i], 0.0) * d[i];
            match += t[i] * (1.0 - (1.0 - d[i]) * (1.0 - d[i]));
            if (i != hub) hubbed += fmin(t[i], rest > 0.0 ? d[i] / rest : 1.0 / (V - 1));
        }
        assert_within(acceptance("token", "tree?n=2", t, d, V), overlap, 1e-13);
        assert_within(acceptance("naive-tree", "tree?n=2", t, d, V), naive, 1e-13);
        assert_within(acceptance("match", "tree?n=2", t, d, V), match, 1e-13);
        assert_within(acceptance("spechub", "tree?n=2&siblings=hub", t, d, V), hubbed, 1e-13);
        assert_within(acceptance("token-rest", "tree?n=2&siblings=greedy", t, d, V), hubbed, 1e-13);
        /* With as many siblings without replacement as there are tokens, one is always accepted. */
        assert_within(acceptance("rrsw", V == 2   ? "tree?n=2&siblings=without"
                                         : V == 3 ? "tree?n=3&siblings=without"
                                                  : "tree?n=4&siblings=without",
                                 t, d, V), 1.0, 1e-13);
        /* Two iid drafts accept at most twice as much as one; kseq reaches at least (1 - 1/4) of
         * their optimum [SunZ23]. */
        const double rrs = acceptance("rrs", "tree?n=2", t, d, V),
                     kseq = acceptance("kseq", "tree?n=2", t, d, V);
        assert_true(rrs > overlap - 1e-13 && rrs < 2.0 * overlap + 1e-13);
        assert_true(kseq > 0.75 * rrs - 1e-13 && kseq < 1.0 + 1e-13);
    }
}

/* ---- what is wrong is seen ------------------------------------------------------------------- */

/* Computes the law of one token for a rule whose siblings were drawn in another way than the draft
 * declares. */
typedef enum { SORTED, TOP_AS_IID, TOP_AS_WITHOUT, WITHOUT_AS_IID, IID_AS_WITHOUT } mislabelling;

static double mislabelled_tv(mislabelling wrong, const char *rule, const double *target,
                             const double *row, int V, int n)
{
    static const char *const from[] = {"without", "top", "top", "without", "iid"};
    static const spec_siblings to[] = {SPEC_SIBLINGS_WITHOUT, SPEC_SIBLINGS_IID,
                                       SPEC_SIBLINGS_WITHOUT, SPEC_SIBLINGS_IID,
                                       SPEC_SIBLINGS_WITHOUT};
    char spec[64];
    snprintf(spec, sizeof spec, "tree?n=%d&siblings=%s", n, from[wrong]);
    OWNED(table_model) model;
    OWNED(spec_drafter) drafter;
    spec_policy policy;
    OWNED(spec_draft) draft;
    OWNED(spec_enumeration) walk;
    const spec_rule *judge;
    double law[4] = {0.0}, weight[4], distance = 0.0;
    const double *rows[5] = {target, target, target, target, target};
    int token[2], node[1];
    table_model_init(&model, V);
    table_model_fill(&model, row);
    assert_int_equal(spec_drafter_init(&drafter, spec, &model.head, NULL), GSL_SUCCESS);
    assert_int_equal(spec_policy_init(&policy, "fixed", 1, NULL), GSL_SUCCESS);
    assert_int_equal(spec_draft_init(&draft, n, V, NULL), GSL_SUCCESS);
    assert_int_equal(spec_rule_find(&judge, rule, NULL), GSL_SUCCESS);
    assert_int_equal(spec_enumeration_init(&walk, LIMIT), GSL_SUCCESS);
    do {
        spec_round round = {.token = token, .node = node};
        assert_int_equal(spec_drafter_draft(&draft, &drafter, NULL, 0, &policy, &walk.chance, NULL),
                         GSL_SUCCESS);
        draft.siblings = to[wrong];
        for (int i = 0; i < draft.n_nodes; i++) draft.sampled[i] = true;
        for (int i = 1; wrong == SORTED && i < draft.n_nodes;
             i++) /* in order of decreasing draft probability */
            for (int j = i; j > 0 && row[draft.token[j]] > row[draft.token[j - 1]]; j--) {
                const int swapped = draft.token[j];
                draft.token[j] = draft.token[j - 1];
                draft.token[j - 1] = swapped;
            }
        judge->verify(&round, judge, &draft, rows, weight, &walk.chance);
        law[round.token[0]] += spec_enumeration_probability(&walk);
    } while (spec_enumeration_next(&walk));
    for (int i = 0; i < V; i++) distance += fabs(law[i] - target[i]);
    return 0.5 * distance;
}

TEST(siblings_taken_for_what_they_are_not_show, STATISTICS)
{
    static const struct {
        mislabelling wrong;
        const char *rule, *what;
        double share; /* share of the pairs on which the error must show */
    } cases[] = {
        {SORTED, "rrsw", "without replacement, sorted by probability", 1.0},
        {TOP_AS_IID, "rrs", "top, judged by the row as if iid", 1.0},
        {TOP_AS_IID, "kseq", "top, judged by the row as if iid", 1.0},
        {TOP_AS_WITHOUT, "rrsw", "top, judged as if without replacement", 1.0},
        {WITHOUT_AS_IID, "rrs", "without replacement, judged as if iid",
         0.5}, /* not if one of them leaves little */
        {IID_AS_WITHOUT, "rrsw", "iid, judged as if without replacement", 0.5},
    };
    uint64_t noise = spec_test_seed();
    const int pairs = (int)spec_test_samples(PAIRS);
    for (size_t w = 0; w < sizeof cases / sizeof *cases; w++) {
        int caught = 0;
        double worst = 0.0;
        for (int c = 0; c < pairs; c++) {
            const int V = 3 + c % 2, n = 2 + c / 2 % (V - 2);
            OWNED(table_model) target, draft;
            table_model_init(&target, V);
            table_model_init(&draft, V);
            table_pair_randomize(&target, &draft, PAIR_PLAIN, &noise);
            const double tv =
                mislabelled_tv(cases[w].wrong, cases[w].rule, target.row, draft.row, V, n);
            caught += tv > 1e-6;
            if (tv > worst) worst = tv;
        }
        print_message("%-5s %-45s caught on %d of %d pairs, worst tv %.3f\n", cases[w].rule,
                      cases[w].what, caught, pairs, worst);
        assert_true(caught >= cases[w].share * pairs);
    }
}

/* ---- sampled against enumerated -------------------------------------------------------------- */

/* Compares 100000 texts of two tokens with the enumerated law, which rejects a law that is off by
 * 3% in one of 9 cells. */
TEST(sampled_rounds_follow_the_enumerated_law, STATISTICS)
{
    static const char *const pairings[][2] = {
        {"match", "iid"}, {"naive-tree", "without"}, {"rrs", "iid"},           {"rrsw", "without"},
        {"kseq", "iid"},  {"spechub", "hub"},        {"token-rest", "greedy"},
    };
    const uint64_t samples = spec_test_samples(100000), seed = spec_test_seed();
    uint64_t noise = seed;
    OWNED(table_model) target, draft;
    table_model_init(&target, 3);
    table_model_init(&draft, 3);
    table_pair_randomize(&target, &draft, PAIR_PLAIN, &noise);
    OWNED_RNG *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    for (size_t i = 0; i < sizeof pairings / sizeof *pairings; i++) {
        char drafting[64];
        snprintf(drafting, sizeof drafting, "tree?widths=2.2&siblings=%s", pairings[i][1]);
        const spec_decoder_config config =
            tree_round_config(&target.head, &draft.head, pairings[i][0], drafting, 2);
        spec_decoder decoder;
        tree_round law;
        uint64_t counts[39] = {0};
        double probability[39];
        size_t cells = 0;
        tree_round_enumerate(&law, &config);
        spec_rng_stream(rng, seed, i);
        spec_chance chance = spec_chance_sampled(rng);
        assert_int_equal(spec_decoder_init(&decoder, &config, NULL), GSL_SUCCESS);
        uint64_t seen[LENGTH_MAX + 1][27] = {{0}};
        for (uint64_t s = 0; s < samples; s++) {
            assert_int_equal(spec_decoder_reset(&decoder, NULL, 0, NULL), GSL_SUCCESS);
            assert_int_equal(spec_decoder_round(&decoder, &chance, NULL, NULL), GSL_SUCCESS);
            int text = 0;
            for (int k = 0; k < decoder.round.n_emitted; k++)
                text = text * 3 + decoder.round.token[k];
            seen[decoder.round.n_emitted][text]++;
        }
        for (int n = 1, texts = 3; n <= LENGTH_MAX; n++, texts *= 3)
            for (int text = 0; text < texts; text++) {
                if (law.prefix[n][text] < 1e-15) {
                    assert_int_equal(seen[n][text], 0);
                    continue;
                }
                counts[cells] = seen[n][text];
                probability[cells++] = law.prefix[n][text];
            }
        const double p = spec_battery_chi_square(counts, probability, cells);
        print_message("%-10s %-8s %zu cells, p %.3f\n", pairings[i][0], pairings[i][1], cells, p);
        assert_true(p > SPEC_TEST_P);
        spec_decoder_free(&decoder);
    }
}
