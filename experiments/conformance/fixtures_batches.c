/* Batches, and the same round twice. */
#include "experiments/conformance/fixtures.h"

const spec_recipe spec_fixture_batch_1 = {
    .kind = {"batch-1", "one request alone: what only holds for several",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 3, .nodes = 1, .variants = 2, .batch = 1,
    .target = {SPEC_PROFILE_STEPS, 1.5}, .draft = {SPEC_PROFILE_STEPS, 1.5}, .order = SPEC_ORDER_REVERSED,
};

const spec_recipe spec_fixture_batch_3 = {
    .kind = {"batch-3", "three requests, each with rows of its own: what only holds for powers of two",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 3, .nodes = 1, .variants = 3, .batch = 3,
    .target = {SPEC_PROFILE_STEPS, 1.5}, .draft = {SPEC_PROFILE_STEPS, 1.5}, .order = SPEC_ORDER_REVERSED,
};

const spec_recipe spec_fixture_batch_64 = {
    .kind = {"batch-64", "sixty-four requests: rows and random numbers of a neighbour",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 4, .nodes = 1, .variants = 3, .batch = 64,
    .target = {SPEC_PROFILE_STEPS, 2.5}, .draft = {SPEC_PROFILE_STEPS, 2.5}, .order = SPEC_ORDER_REVERSED,
};

const spec_recipe spec_fixture_repeats_4 = {
    .kind = {"repeats-4", "every round twice, with the same seed and offset: a seeded sampler must say the same",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 4, .nodes = 2, .variants = 2, .repeats = true,
    .target = {SPEC_PROFILE_STEPS, 1.5}, .draft = {SPEC_PROFILE_STEPS, 1.5}, .order = SPEC_ORDER_REVERSED,
};

const spec_recipe spec_fixture_coins_8 = {
    .kind = {"coins-8", "coins from us, 0 and the last float below 1 among them: comparisons of the wrong kind",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 8, .nodes = 2, .variants = 2, .coins = true,
    .target = {SPEC_PROFILE_STEPS, 2.0}, .draft = {SPEC_PROFILE_STEPS, 2.0}, .order = SPEC_ORDER_REVERSED,
    .edits = SPEC_EDIT_TARGET_ZEROS,
};
