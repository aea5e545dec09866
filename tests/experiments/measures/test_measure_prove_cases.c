/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/draft/drafter.h"
#include "sim/verify/verify.h"
#include "tests/experiments/measures/run_measure.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <stdlib.h>

#define EVERY_FAMILY                                                                               \
    "family = [\"plain\", \"zeros\", \"levels\", \"equal\", \"near\", \"disjoint\", \"one-hot\", " \
    "\"mixed\"]; "

TEST(a_lossless_rule_is_lossless_on_every_family)
{
    OWNED(spec_result) result;
    run(&result, "prove_cases", 0,
        "rule = [\"token\", \"match\"]; " EVERY_FAMILY "K = 2; V = [1, 2]; cases = 20;");
    assert_all_hold(&result, 32);
    for (size_t i = 0; i < 32; i++) {
        assert_string_equal(text(&result, i, "verdict"), "lossless");
        assert_true(number(&result, i, "worst_tv") >= number(&result, i, "least_tv"));
        assert_true(number(&result, i, "shown") == 0.0);
    }
}

/* The loop with chains drafted ahead has more decisions than without, and the same law. Too few
 * tokens would prove nothing, and are refused. */
TEST(drafting_ahead_is_lossless_on_every_family)
{
    OWNED(spec_result) result;
    run(&result, "prove_cases", 0,
        "rule = [\"token\", \"block\"]; drafting = [\"chain\", \"greedy\"]; ahead = [0, "
        "1]; " EVERY_FAMILY "K = 1; tokens = 3; V = 2; cases = 10;");
    assert_all_hold(&result, 64);
    for (size_t i = 0; i < 64; i++) {
        assert_string_equal(text(&result, i, "verdict"), "lossless");
        for (size_t other = 0; other < 64; other++) { /* the same point, not drafted ahead */
            bool same =
                number(&result, i, "ahead") == 1.0 && number(&result, other, "ahead") == 0.0;
            static const char *const names[] = {"rule", "drafting", "family"};
            for (int n = 0; n < 3; n++)
                same =
                    same && strcmp(text(&result, i, names[n]), text(&result, other, names[n])) == 0;
            if (!same) continue;
            assert_true(number(&result, i, "mean_n_accepted") ==
                        number(&result, other, "mean_n_accepted"));
            if (strcmp(text(&result, i, "drafting"), "chain") == 0 &&
                strcmp(text(&result, i, "family"), "plain") == 0)
                assert_true(number(&result, i, "branches") > number(&result, other, "branches"));
        }
    }
}

/* The worst tv over all families is the worst of one of them. */
TEST(every_family_is_all_families)
{
    OWNED(spec_result) each, all;
    run(&each, "prove_cases", 0,
        "rule = \"resample-target\"; " EVERY_FAMILY "K = 1; V = 2; tokens = 2; cases = 7;");
    run(&all, "prove_cases", 0,
        "rule = \"resample-target\"; family = \"every\"; K = 1; V = 2; tokens = 2; cases = 7;");
    assert_int_equal(each.table.n_rows, 8);
    size_t worst = 0;
    double branches = 0.0, shown = 0.0;
    for (size_t i = 0; i < 8; i++) {
        if (number(&each, i, "worst_tv") > number(&each, worst, "worst_tv")) worst = i;
        branches += number(&each, i, "branches");
        shown += number(&each, i, "shown") / 8.0;
    }
    assert_true(number(&all, 0, "worst_tv") == number(&each, worst, "worst_tv"));
    assert_string_equal(text(&all, 0, "worst_family"), text(&each, worst, "worst_family"));
    assert_true(number(&all, 0, "worst_seed") == number(&each, worst, "worst_seed"));
    assert_true(number(&all, 0, "branches") == branches);
    assert_within(number(&all, 0, "shown"), shown, 1e-9);
}

/* The proof table has each rule that claims to be lossless with every kind of siblings that its
 * claim covers. */
TEST(the_proof_table_leaves_no_claim_out)
{
    OWNED(spec_experiment) e;
    assert_works(spec_experiment_load(&e, "experiments/cfg/prove_cases.cfg", NULL, &error));
    for (int r = 0; spec_rules[r] != NULL; r++) {
        const spec_rule *rule = spec_rules[r];
        unsigned seen = 0;
        bool on_chains = false;
        for (uint64_t i = 0; i < spec_grid_size(&e.grid); i++) {
            const char *drafting = spec_grid_value(&e.grid, i, "drafting"), *name = "";
            if (strcmp(spec_grid_value(&e.grid, i, "rule"), rule->name) != 0) continue;
            const char *siblings = strstr(drafting, "siblings=");
            if (siblings != NULL) name = siblings + 9;
            for (int kind = 0; kind < SPEC_SIBLINGS_KINDS; kind++)
                if (strcmp(name, spec_siblings_names[kind]) == 0) seen |= SPEC_SIBLINGS_BIT(kind);
            on_chains = on_chains || strcmp(drafting, "chain") == 0;
        }
        const bool claims = rule->claim == SPEC_LOSSLESS || rule->claim == SPEC_LOSSLESS_ARGMAX;
        if (on_chains != claims || seen != (claims ? rule->siblings : 0u))
            fail_msg("prove_cases.cfg: the strategies of %s are not those of its claim",
                     rule->name);
    }
}

/* Does the same for chains that are drafted ahead, sampled and greedy, over texts long enough to
 * use one. */
TEST(the_table_of_drafting_ahead_leaves_no_claim_out)
{
    OWNED(spec_experiment) e;
    assert_works(spec_experiment_load(&e, "experiments/cfg/prove_ahead.cfg", NULL, &error));
    for (int r = 0; spec_rules[r] != NULL; r++) {
        const spec_rule *rule = spec_rules[r];
        bool chain = false, greedy = false;
        for (uint64_t i = 0; i < spec_grid_size(&e.grid); i++) {
            if (strcmp(spec_grid_value(&e.grid, i, "rule"), rule->name) != 0) continue;
            assert_string_equal(spec_grid_value(&e.grid, i, "ahead"), "1");
            chain = chain || strcmp(spec_grid_value(&e.grid, i, "drafting"), "chain") == 0;
            greedy = greedy || strcmp(spec_grid_value(&e.grid, i, "drafting"), "greedy") == 0;
        }
        const bool claims = rule->claim == SPEC_LOSSLESS || rule->claim == SPEC_LOSSLESS_ARGMAX;
        if (chain != claims || greedy != claims)
            fail_msg("%s must be in prove_ahead.cfg if it is lossless, and only then", rule->name);
    }
}

static bool has_value(const spec_grid *grid, const char *name, const char *value)
{
    for (uint64_t i = 0; i < spec_grid_size(grid); i++)
        if (strcmp(spec_grid_value(grid, i, name), value) == 0) return true;
    return false;
}

/* Returns the name of a drafting strategy without its keys. */
static bool is_named(const char *drafting, const char *name)
{
    const size_t n = strlen(name);
    return strncmp(drafting, name, n) == 0 && (drafting[n] == '?' || drafting[n] == '\0');
}

/* For chains, and for trees whose siblings are the most probable tokens: each strategy without a
 * model or a file is in one of the two tables of copies, with all rules that hold for it. */
TEST(the_tables_of_copies_leave_no_strategy_and_no_rule_out)
{
    spec_experiment table[2];
    spec_error error = {""};
    if (spec_experiment_load(&table[0], "experiments/cfg/prove_copies.cfg", NULL, &error) !=
            GSL_SUCCESS ||
        spec_experiment_load(&table[1], "experiments/cfg/prove_copies_trees.cfg", NULL, &error) !=
            GSL_SUCCESS)
        fail_msg("%s", error.text);
    for (int r = 0; spec_rules[r] != NULL; r++) {
        const spec_rule *rule = spec_rules[r];
        const bool claims = rule->claim == SPEC_LOSSLESS || rule->claim == SPEC_LOSSLESS_ARGMAX,
                   on_trees = (rule->siblings & SPEC_SIBLINGS_BIT(SPEC_SIBLINGS_TOP)) != 0;
        const bool control = strcmp(rule->name, "resample-target") == 0;
        if (has_value(&table[0].grid, "rule", rule->name) != (claims || control))
            fail_msg("%s must be in prove_copies.cfg if it is lossless, and only then", rule->name);
        if (has_value(&table[1].grid, "rule", rule->name) != (claims && on_trees))
            fail_msg("%s must be in prove_copies_trees.cfg if it is lossless for top siblings, and "
                     "only then",
                     rule->name);
    }
    for (int d = 0; spec_drafter_kinds[d] != NULL; d++) {
        const spec_drafter_kind *kind = spec_drafter_kinds[d];
        bool seen = false;
        for (int t = 0; t < 2; t++)
            for (uint64_t i = 0; i < spec_grid_size(&table[t].grid); i++)
                seen = seen || is_named(spec_grid_value(&table[t].grid, i, "drafting"), kind->name);
        const bool copies = !kind->needs_model && strchr(kind->usage, ':') == NULL;
        if (seen != copies)
            fail_msg(
                "%s must be in prove_copies.cfg or prove_copies_trees.cfg if it needs no model or "
                "file, and only then",
                kind->name);
    }
    for (int t = 0; t < 2; t++) spec_experiment_free(&table[t]);
}

/* A table of strategies that never draft would prove nothing: the token rule would then have a
 * single branch for each text. */
TEST(each_strategy_of_the_tables_of_copies_drafts)
{
    static const char *const path[] = {"experiments/cfg/prove_copies.cfg",
                                       "experiments/cfg/prove_copies_trees.cfg"};
    for (int t = 0; t < 2; t++) {
        spec_experiment e;
        assert_works(spec_experiment_load(&e, path[t], NULL, &error));
        for (uint64_t i = 0; i < spec_grid_size(&e.grid); i++) {
            if (strcmp(spec_grid_value(&e.grid, i, "rule"), "token") != 0) continue;
            const char *drafting = spec_grid_value(&e.grid, i, "drafting");
            char grid[300];
            OWNED(spec_result) result;
            snprintf(grid, sizeof grid,
                     "rule = \"token\"; drafting = \"%s\"; family = \"plain\"; V = 2; cases = 1; "
                     "tokens = %s; K = %s; prompt = \"%s\";",
                     drafting, spec_grid_value(&e.grid, i, "tokens"),
                     spec_grid_value(&e.grid, i, "K"), spec_grid_value(&e.grid, i, "prompt"));
            run(&result, "prove_cases", 0, grid);
            const int texts = 1 << atoi(spec_grid_value(&e.grid, i, "tokens"));
            if (!(number(&result, 0, "branches") > texts)) fail_msg("%s", drafting);
        }
        spec_experiment_free(&e);
    }
}

/* resample-target, which ignores the residual, is biased unless nothing is ever rejected. */
TEST(a_mistake_shows_and_is_told_from_one_that_cannot)
{
    OWNED(spec_result) result;
    run(&result, "prove_cases", 0,
        "rule = \"resample-target\"; family = [\"plain\", \"equal\"]; K = 1; cases = 20;");
    assert_string_equal(text(&result, 0, "verdict"), "biased, as marked");
    assert_true(number(&result, 0, "shown") == 1.0 && number(&result, 0, "least_tv") > 1e-6);
    assert_string_equal(text(&result, 1, "verdict"), "biased, but not here");
    assert_true(number(&result, 1, "shown") == 0.0 && number(&result, 1, "worst_tv") < 1e-12);
    assert_int_equal(result.fails, 0);
}

/* `prove` repeats just the pair of the worst seed. */
TEST(the_worst_case_is_found_again_by_its_seed)
{
    OWNED(spec_result) many, one;
    char grid[400];
    run(&many, "prove_cases", 0,
        "rule = \"resample-target\"; family = \"zeros\"; K = 2; tokens = 2; cases = 50;");
    const int seed = (int)number(&many, 0, "worst_seed");
    assert_true(seed > 1 && seed <= 50);
    snprintf(
        grid, sizeof grid,
        "rule = \"resample-target\"; K = 2; tokens = 2; target = \"cases?family=zeros&seed=%d\";"
        "draft = \"chain:cases?family=zeros&side=draft&seed=%d\";",
        seed, seed);
    run(&one, "prove", 0, grid);
    assert_true(number(&many, 0, "worst_tv") == number(&one, 0, "tv"));
}

TEST(a_text_may_end)
{
    OWNED(spec_result) result;
    run(&result, "prove_cases", 0,
        "rule = [\"token\", \"block\"]; end = [0, 1]; K = 3; V = 2; cases = 30;");
    assert_all_hold(&result, 4);
    assert_true(number(&result, 0, "mean_n_accepted") != number(&result, 1, "mean_n_accepted"));
}

TEST(wrong_parameters_are_refused)
{
    static const char *const wrong[][2] = {
        {"rule = \"tokn\";", "did you mean 'token'"},
        {"rule = \"token\"; family = \"plane\";", "plain"},
        {"rule = \"token\"; family = \"plain&V=9\";", "V"},
        {"rule = \"token\"; V = 17;", "V: 17 is not within [1, 16]"},
        {"rule = \"token\"; V = 2; end = 2;", "end: 2 is not within [-1, 1]"},
        {"rule = \"token\"; V = 2; prompt = \"0/2\";", "prompt=0/2: '2' is not a number from 0 to "
                                                       "1"},
        {"rule = \"token\"; prompt = \"0/\";", "'' is not a number from 0 to 2"},
        {"rule = \"token\"; prompt = \"0.5\";", "prompt: 0.5 is not a token"},
        {"rule = \"token\"; cases = 0;", "cases: 0 is not within"},
        {"rule = \"rrs\"; drafting = \"tree?siblings=top\";", "does not support the top siblings"},
    };
    assert_grids_refused("prove_cases", wrong, sizeof wrong / sizeof *wrong);
}
