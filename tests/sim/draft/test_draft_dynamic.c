/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks EAGLE-2's tree: a case by hand, the definition over all candidates, and losslessness under
 * every rule for top siblings. */
#include "sim/decode.h"
#include "sim/output_law.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tests/support/table_model.h"

#include <string.h>

typedef struct {
    spec_drafter drafter;
    spec_draft draft;
    spec_policy policy;
} bench;

static void bench_draft(bench *b, const char *spec, const spec_model *model, int K)
{
    spec_error error = {""};
    spec_script script; /* empty: any decision would break it */
    spec_script_init(&script, NULL, 0, NULL);
    if (spec_drafter_init(&b->drafter, spec, model, &error) != GSL_SUCCESS)
        fail_msg("%s: %s", spec, error.text);
    assert_works(spec_policy_init(&b->policy, "fixed", K, &error));
    assert_works(
        spec_draft_init(&b->draft, spec_drafter_nodes(&b->drafter, K), model->vocab, &error));
    assert_works(
        spec_drafter_draft(&b->draft, &b->drafter, NULL, 0, &b->policy, &script.chance, &error));
    assert_false(script.broken);
    assert_int_equal(b->draft.siblings, SPEC_SIBLINGS_TOP);
}

static void bench_free(bench *b)
{
    spec_drafter_free(&b->drafter);
    spec_draft_free(&b->draft);
}

static void check_nodes(const bench *b, const int *token, const int *parent, int n)
{
    assert_int_equal(b->draft.n_nodes, n);
    for (int i = 0; i < n; i++) {
        assert_int_equal(b->draft.token[i], token[i]);
        assert_int_equal(b->draft.parent[i], parent[i]);
        assert_false(b->draft.sampled[i]);
    }
}

/* The row is (.5, .3, .2) everywhere. Level 1: 0 (.5) and 1 (.3). Level 2: 00 (.25), 01 (.15), 10
 * (.15), 11 (.09). 00 and 01 grow, because 01 comes before 10: 000 (.125), 001 (.075), 010 (.075),
 * 011 (.045). */
TEST(the_best_of_each_level_grow_and_the_best_of_all_are_submitted)
{
    OWNED(table_model) model;
    OWNED(bench) b;
    table_model_init(&model, 3);
    table_model_fill(&model, (const double[]){0.5, 0.3, 0.2});
    bench_draft(&b, "dynamic?top=2&nodes=60&depth=3", &model.head, 8);
    check_nodes(&b, (const int[]){0, 1, 0, 1, 0, 1, 0, 1, 0, 1},
                (const int[]){-1, -1, 0, 0, 1, 1, 2, 2, 3, 3}, 10);
    assert_int_equal(b.drafter.n_calls, 3);
    bench_free(&b);
    bench_draft(&b, "dynamic?top=2&nodes=8", &model.head,
                3); /* without 010, which ties with 001, and 011 */
    check_nodes(&b, (const int[]){0, 1, 0, 1, 0, 1, 0, 1}, (const int[]){-1, -1, 0, 0, 1, 1, 2, 2},
                8);
    bench_free(&b);
    bench_draft(&b, "dynamic?top=2&nodes=6", &model.head, 3); /* .5 .3 .25 .15 .15 .125 */
    check_nodes(&b, (const int[]){0, 1, 0, 1, 0, 0}, (const int[]){-1, -1, 0, 0, 1, 2}, 6);
    bench_free(&b);
    bench_draft(&b, "dynamic?top=2&nodes=4", &model.head, 3); /* a tie: the earlier one */
    check_nodes(&b, (const int[]){0, 1, 0, 1}, (const int[]){-1, -1, 0, 0}, 4);
    bench_free(&b);
    bench_draft(&b, "dynamic?top=2&nodes=1", &model.head, 1);
    check_nodes(&b, (const int[]){0}, (const int[]){-1}, 1);
    assert_int_equal(b.drafter.n_calls, 1);
    bench_free(&b);
    bench_draft(&b, "dynamic?top=5", &model.head, 0);
    assert_int_equal(b.draft.n_nodes, 0);
    assert_int_equal(b.drafter.n_calls, 0);
    bench_free(&b);
    table_model_fill(&model, (const double[]){0.4, 0.4, 0.2}); /* all tie, so 0 grows before 1 */
    bench_draft(&b, "dynamic?top=2&nodes=3&depth=2", &model.head, 8);
    check_nodes(&b, (const int[]){0, 1, 0}, (const int[]){-1, -1, 0}, 3);
    bench_free(&b);
    model.head.ends = spec_text_ends_one(2); /* 1 grows, alone */
    spec_text_ends_add(&model.head.ends, 0);
    bench_draft(&b, "dynamic?top=2&nodes=60&depth=2", &model.head, 8);
    check_nodes(&b, (const int[]){0, 1, 0, 1}, (const int[]){-1, -1, 1, 1}, 4);
}

TEST(the_most_nodes_are_known_beforehand)
{
    static const struct {
        const char *spec;
        int K, nodes;
    } cases[] = {
        {"dynamic", 99, 60},
        {"dynamic", 1, 10},
        {"dynamic", 0, 0},
        {"dynamic?nodes=1024", 99, 510},
        {"dynamic?top=1", 99, 6},
        {"dynamic?top=1&depth=64", 5, 5},
        {"dynamic?top=2&nodes=9&depth=3", 3, 9},
        {"dynamic?top=2&nodes=11&depth=3", 3, 10},
        {"dynamic?top=32&depth=33", 99, 60},
        {"dynamic?top=32&depth=34", 99, SPEC_NODES_MAX + 1}, /* 32 32 grow */
    };
    OWNED(table_model) model;
    table_model_init(&model, 3);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OWNED(spec_drafter) drafter;
        assert_int_equal(spec_drafter_init(&drafter, cases[i].spec, &model.head, NULL),
                         GSL_SUCCESS);
        assert_int_equal(spec_drafter_nodes(&drafter, cases[i].K), cases[i].nodes);
    }
}

TEST(a_model_that_fails_fails_the_draft)
{
    for (int after = 0; after < 3; after++) {
        OWNED(table_model) model;
        OWNED(bench) b;
        table_model_init(&model, 3);
        bench_draft(&b, "dynamic?top=2&depth=3", &model.head, 3);
        model.fails_after = after;
        assert_status(spec_drafter_draft(&b.draft, &b.drafter, NULL, 0, &b.policy, NULL, &error),
                      GSL_EFAILED);
        assert_int_equal(b.draft.n_nodes, 0);
    }
}

/* ---- the definition -------------------------------------------------------------------------- */

enum { V = 4, LEVELS = 3, ALL = 4 + 16 + 64 };

/* A path, first token first, and its value. */
typedef struct {
    int path[LEVELS], length;
    double value;
    bool grows, grew, kept; /* grows: it has children; grew: it is one of them */
} node;

/* Returns the best of those that `is` marks and `done` does not, by value and then by index; -1 if
 * there is none. */
static int best(const node *all, int n, const bool *is, const bool *done)
{
    int found = -1;
    for (int i = 0; i < n; i++)
        if (is[i] && !done[i] && (found < 0 || all[i].value > all[found].value)) found = i;
    return found;
}

/* Goes through all V^1 + V^2 + V^3 paths; each step marks some. Without ties the order does not
 * matter. */
static void mark(node *all, const table_model *model, int top, int nodes)
{
    int n = 0;
    for (int length = 1; length <= LEVELS; length++)
        for (int text = 0, texts = length == 1   ? V
                                   : length == 2 ? V * V
                                                 : V * V * V;
             text < texts; text++, n++) {
            all[n] = (node){.length = length, .value = 1.0};
            for (int i = length - 1, rest = text; i >= 0; i--, rest /= V) all[n].path[i] = rest % V;
            for (int i = 0; i < length; i++)
                all[n].value *= table_model_row(model, all[n].path, (size_t)i)[all[n].path[i]];
        }
    assert_int_equal(n, ALL);
    for (int length = 1; length <= LEVELS; length++) {
        bool is[ALL], done[ALL] = {false};
        for (int parent = -1; parent < ALL;
             parent++) { /* the top children of the root, or of each growing node */
            if (parent < 0 ? length > 1 : !all[parent].grows || all[parent].length != length - 1)
                continue;
            for (int i = 0; i < ALL; i++)
                is[i] = all[i].length == length &&
                        (parent < 0 || memcmp(all[i].path, all[parent].path,
                                              (size_t)(length - 1) * sizeof(int)) == 0);
            for (int k = 0, i; k < top && (i = best(all, ALL, is, done)) >= 0; k++)
                all[i].grew = done[i] = true;
        }
        memset(done, 0, sizeof done);
        for (int i = 0; i < ALL; i++) is[i] = all[i].length == length && all[i].grew;
        for (int k = 0, i; k < top && (i = best(all, ALL, is, done)) >= 0; k++)
            all[i].grows = done[i] = true;
    }
    bool is[ALL], done[ALL] = {false};
    for (int i = 0; i < ALL; i++) is[i] = all[i].grew;
    for (int k = 0, i; k < nodes && (i = best(all, ALL, is, done)) >= 0; k++)
        all[i].kept = done[i] = true;
}

TEST(what_is_submitted_is_what_the_definition_says)
{
    uint64_t noise = spec_test_seed();
    OWNED(table_model) other, model;
    table_model_init(&other, V);
    table_model_init(&model, V);
    for (int c = 0; c < 300; c++) {
        const int top = 1 + c % 5, nodes = 1 + (int)(24 * table_uniform(&noise));
        char spec[64];
        node all[ALL];
        OWNED(bench) b;
        table_pair_randomize(&other, &model, PAIR_PLAIN, &noise);
        mark(all, &model, top, nodes);
        snprintf(spec, sizeof spec, "dynamic?top=%d&nodes=%d&depth=%d", top, nodes, LEVELS);
        bench_draft(&b, spec, &model.head, 7);
        int kept = 0;
        for (int i = 0; i < ALL; i++) kept += all[i].kept;
        assert_int_equal(b.draft.n_nodes, kept);
        for (int i = 0; i < kept; i++) {
            node drafted = {.length = 0};
            for (int at = i; at >= 0; at = b.draft.parent[at]) drafted.length++;
            for (int at = i, k = drafted.length; at >= 0; at = b.draft.parent[at])
                drafted.path[--k] = b.draft.token[at];
            int same = 0;
            for (int j = 0; j < ALL; j++)
                same += all[j].kept && all[j].length == drafted.length &&
                        memcmp(all[j].path, drafted.path, sizeof drafted.path) == 0;
            assert_int_equal(same, 1);
        }
    }
}

/* ---- no loss --------------------------------------------------------------------------------- */

TEST(every_rule_for_top_siblings_is_lossless, STATISTICS)
{
    static const char *const draftings[] = {
        "dynamic?top=2&nodes=3&depth=2", "dynamic?top=2&nodes=4&depth=3",
        "dynamic?top=3&nodes=5&depth=2", "tree?children=2.0.2&siblings=top",
        "tree?children=2.1.0.2&siblings=top"};
    uint64_t noise = spec_test_seed();
    const uint64_t pairs = spec_test_samples(200);
    for (int r = 0; spec_rules[r] != NULL; r++) {
        const bool lossless =
            spec_rules[r]->claim == SPEC_LOSSLESS || spec_rules[r]->claim == SPEC_LOSSLESS_ARGMAX;
        double worst = 0.0;
        if (!lossless || !(spec_rules[r]->siblings & SPEC_SIBLINGS_BIT(SPEC_SIBLINGS_TOP)))
            continue;
        for (uint64_t c = 0; c < pairs; c++) {
            OWNED(table_model) target, draft;
            OWNED(spec_output_law) law;
            const int vocab = 1 + (int)(4.0 * table_uniform(&noise));
            table_model_init(&target, vocab);
            table_model_init(&draft, vocab);
            table_pair_randomize(&target, &draft, (pair_family)(c % PAIR_FAMILIES), &noise);
            if (c % 3 == 0) target.head.ends = draft.head.ends = spec_text_ends_one(vocab - 1);
            const spec_decoder_config config = {.target = &target.head,
                                                .opt_draft = &draft.head,
                                                .policy = "fixed",
                                                .drafting = draftings[c % 5],
                                                .rule = spec_rules[r]->name,
                                                .K = 3,
                                                .costs = SPEC_COSTS_DEFAULT};
            assert_works(spec_output_law_init(&law, &config, NULL, 0, 3, 1000000, &error));
            if (!(law.tv < 1e-12) || !(fabs(law.total - 1.0) < 1e-12))
                fail_msg("%s %s %s: tv %g", spec_rules[r]->name, config.drafting,
                         pair_family_names[c % PAIR_FAMILIES], law.tv);
            if (law.tv > worst) worst = law.tv;
        }
        print_message("%-11s %llu pairs, worst tv %.1e\n", spec_rules[r]->name,
                      (unsigned long long)pairs, worst);
    }
}

/* ---- a child that is drawn ------------------------------------------------------------------- */

/* Computes the law of one or two tokens where every context has the same rows. */
static double tv_of(const char *drafting, const table_model *target, const table_model *draft)
{
    OWNED(spec_output_law) law;
    const spec_decoder_config config = {.target = &target->head,
                                        .opt_draft = &draft->head,
                                        .policy = "fixed",
                                        .drafting = drafting,
                                        .rule = "token-rest",
                                        .K = 2,
                                        .costs = SPEC_COSTS_DEFAULT};
    assert_works(spec_output_law_init(&law, &config, NULL, 0, 2, 10000000, &error));
    assert_within(law.total, 1.0, 1e-12);
    return law.tv;
}

/* With the proxy it is lossless on every pair. With the drawn token's own probability, or with a
 * proxy below other children's, whether a token is submitted would tell which one it is. */
TEST(a_drawn_child_may_be_left_out_if_its_value_does_not_tell_which_it_is, SLOW | STATISTICS)
{
    static const char *const shapes[] = {"top=2&nodes=2&depth=2", "top=3&nodes=2&depth=1",
                                         "top=3&nodes=3&depth=2", "top=3&nodes=5&depth=2"};
    uint64_t noise = spec_test_seed();
    const uint64_t pairs = spec_test_samples(240);
    int own = 0, mean = 0, plain = 0;
    double worst = 0.0;
    for (uint64_t c = 0; c < pairs; c++) {
        OWNED(table_model) target, draft;
        const pair_family family = (pair_family)(c % PAIR_FAMILIES);
        const int vocab = 2 + (int)(3.0 * table_uniform(&noise));
        char spec[64];
        table_model_init(&target, vocab);
        table_model_init(&draft, vocab);
        table_pair_randomize(&target, &draft, family, &noise);
        if (c % 3 == 0) target.head.ends = draft.head.ends = spec_text_ends_one(vocab - 1);
        for (int s = 0; s < 4; s++) {
            snprintf(spec, sizeof spec, "dynamic?%s&draw=proxy", shapes[s]);
            const double tv = tv_of(spec, &target, &draft);
            if (!(tv < 1e-12)) fail_msg("%s %s: tv %g", spec, pair_family_names[family], tv);
            if (tv > worst) worst = tv;
        }
        if (family != PAIR_PLAIN || vocab < 3) continue;
        plain++;
        own += tv_of("dynamic?top=3&nodes=2&depth=1&draw=own", &target, &draft) > 1e-6;
        mean += tv_of("dynamic?top=3&nodes=2&depth=1&draw=mean", &target, &draft) > 1e-6;
    }
    print_message("worst tv %.1e; own caught on %d, mean on %d of %d plain pairs\n", worst, own,
                  mean, plain);
    assert_true(own >= 0.9 * plain && mean >= 0.6 * plain);
}

/* By hand: the draft is (.5, .3, .2). If token 1 is drawn (.6), it is submitted beside 0; if 2 is
 * drawn, token 1 takes its place as a chosen one. */
TEST(its_own_probability_as_its_value_anticipates)
{
    OWNED(table_model) target, draft;
    OWNED(spec_output_law) law;
    table_model_init(&target, 3);
    table_model_init(&draft, 3);
    table_model_fill(&target, (const double[]){0.2, 0.5, 0.3});
    table_model_fill(&draft, (const double[]){0.5, 0.3, 0.2});
    const spec_decoder_config config = {.target = &target.head,
                                        .opt_draft = &draft.head,
                                        .policy = "fixed",
                                        .drafting = "dynamic?top=3&nodes=2&depth=1&draw=own",
                                        .rule = "token-rest",
                                        .K = 1,
                                        .costs = SPEC_COSTS_DEFAULT};
    assert_works(spec_output_law_init(&law, &config, NULL, 0, 1, 1000, &error));
    const double expected[] = {0.18, 0.7, 0.12};
    for (int i = 0; i < 3; i++) assert_within(law.law[i], expected[i], 1e-15);
    assert_within(law.tv, 0.2, 1e-15);
}

/* Adds the law of the round's first token, times `chance`, after these children of the root. */
static void add_first_token(double *ret_law, double chance, const table_model *target,
                            const double *row, const int *token, const bool *sampled, int n)
{
    spec_draft draft;
    spec_enumeration walk;
    int emitted[3], accepted[2];
    spec_round round = {.token = emitted, .node = accepted};
    double weight[3];
    const double *rows[3];
    assert_int_equal(spec_draft_init(&draft, 2, 3, NULL), GSL_SUCCESS);
    for (int i = 0; i < 3; i++) rows[i] = table_model_row(target, NULL, 0);
    draft.siblings = SPEC_SIBLINGS_TAIL;
    for (int i = 0; i < n; i++) spec_draft_append(&draft, token[i], -1, row, sampled[i]);
    assert_int_equal(spec_enumeration_init(&walk, 1000), GSL_SUCCESS);
    do {
        spec_verify_token_rest.verify(&round, &spec_verify_token_rest, &draft, rows, weight,
                                      &walk.chance);
        ret_law[emitted[0]] += chance * spec_enumeration_probability(&walk);
    } while (spec_enumeration_next(&walk));
    spec_enumeration_free(&walk);
    spec_draft_free(&draft);
}

/* The proxy does not suffice if it equals the value of another child. Here all three tokens and the
 * proxy have probability 1/3, and two are submitted. In a fork of vLLM [GenesisVLLM] the token with
 * the lowest id comes first among equals, so token 1 is submitted whether it was drawn or not, and
 * token 2 never. */
TEST(among_equals_the_drawn_child_must_come_first)
{
    OWNED(table_model) target, draft;
    const double even[] = {1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0};
    double by_id[3] = {0};
    table_model_init(&target, 3);
    table_model_init(&draft, 3);
    table_model_fill(&target, even);
    table_model_fill(&draft, even);
    for (int drawn = 1; drawn < 3; drawn++)
        add_first_token(by_id, 0.5, &target, even, (const int[]){0, 1},
                        (const bool[]){false, drawn == 1}, 2);
    const double expected[] = {1.0 / 3.0, 0.5, 1.0 / 6.0};
    for (int i = 0; i < 3; i++) assert_within(by_id[i], expected[i], 1e-15);
    assert_true(tv_of("dynamic?top=3&nodes=2&depth=1&draw=proxy", &target, &draft) < 1e-15);
}

/* ---- names ----------------------------------------------------------------------------------- */

TEST(what_does_not_go_together_is_refused)
{
    static const struct {
        const char *drafting, *rule, *says;
    } bad[] = {
        {"dynamic?top=0", "match", "top"},       {"dynamic?top=33", "match", "top"},
        {"dynamic?nodes=0", "match", "nodes"},   {"dynamic?nodes=1025", "match", "1024"},
        {"dynamic?depth=65", "match", "64"},     {"dynamic?width=2", "match", "width"},
        {"dynamic", "rrsw", "top siblings"},     {"dynamic", "kseq", "top siblings"},
    };
    OWNED(table_model) model;
    table_model_init(&model, 2);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const spec_decoder_config config = {.target = &model.head,
                                            .opt_draft = &model.head,
                                            .policy = "fixed",
                                            .drafting = bad[i].drafting,
                                            .rule = bad[i].rule,
                                            .K = 3};
        spec_decoder decoder;
        spec_error error = {""};
        assert_int_equal(spec_decoder_init(&decoder, &config, &error), GSL_EINVAL);
        if (strstr(error.text, bad[i].says) == NULL)
            fail_msg("%s: '%s'", bad[i].drafting, error.text);
    }
}
