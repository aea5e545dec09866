/* Trees of drafts. */
#include "experiments/conformance/fixtures.h"

static const int siblings[] = {-1, -1, -1, -1, -1, -1, -1};
static const int binary[] = {-1, -1, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5};
static const int sparse[] = {-1, -1, 0, 0, 2, 2, 4, 4, 6, 6};
static const int wide_first[] = {-1, -1, -1, 0, 0, 1, 1, 2, 2};

const spec_recipe spec_fixture_pair_iid_4 = {
    .kind = {"pair-iid-4", "two siblings of one row: the second judged by the first's residual",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 4, .nodes = 2, .variants = 2, .drawn = SPEC_DRAWN_IID, .opt_parent = siblings,
    .target = {SPEC_PROFILE_STEPS, 2.0}, .draft = {SPEC_PROFILE_STEPS, 2.0}, .order = SPEC_ORDER_REVERSED,
};

const spec_recipe spec_fixture_wide_iid_8 = {
    .kind = {"wide-iid-8", "seven siblings, many of them the same token: duplicates tried twice",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 8, .nodes = 7, .variants = 2, .drawn = SPEC_DRAWN_IID, .opt_parent = siblings,
    .target = {SPEC_PROFILE_STEPS, 1.5}, .draft = {SPEC_PROFILE_MODE, 0.6}, .order = SPEC_ORDER_REVERSED,
};

const spec_recipe spec_fixture_binary_iid_4 = {
    .kind = {"binary-iid-4", "a binary tree of depth 3: slices of the wrong node",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 4, .nodes = 14, .variants = 3, .drawn = SPEC_DRAWN_IID, .opt_parent = binary,
    .target = {SPEC_PROFILE_STEPS, 2.0}, .draft = {SPEC_PROFILE_STEPS, 2.0}, .order = SPEC_ORDER_REVERSED,
    .blend = {0.5, 0.5},
};

const spec_recipe spec_fixture_sparse_iid_4 = {
    .kind = {"sparse-iid-4", "a deep chain with leaves at its side: paths, depths and parents",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 4, .nodes = 10, .variants = 2, .drawn = SPEC_DRAWN_IID, .opt_parent = sparse,
    .target = {SPEC_PROFILE_STEPS, 2.0}, .draft = {SPEC_PROFILE_STEPS, 2.0}, .order = SPEC_ORDER_REVERSED,
    .blend = {0.7, 0.7},
};

const spec_recipe spec_fixture_shorter_iid_4 = {
    .kind = {"shorter-iid-4", "trees of which the last nodes are missing",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 4, .nodes = 6, .variants = 2, .drawn = SPEC_DRAWN_IID, .shorter = true, .opt_parent = binary,
    .target = {SPEC_PROFILE_STEPS, 2.0}, .draft = {SPEC_PROFILE_STEPS, 2.0}, .order = SPEC_ORDER_REVERSED,
    .blend = {0.3, 0.3},
};

const spec_recipe spec_fixture_pair_without_4 = {
    .kind = {"pair-without-4", "two siblings without replacement: draft rows that are not renormalised",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 4, .nodes = 2, .variants = 2, .drawn = SPEC_DRAWN_WITHOUT, .opt_parent = siblings,
    .target = {SPEC_PROFILE_STEPS, 2.0}, .draft = {SPEC_PROFILE_STEPS, 2.0}, .order = SPEC_ORDER_REVERSED,
};

const spec_recipe spec_fixture_wide_without_8 = {
    .kind = {"wide-without-8", "six siblings of eight tokens: what is left of a row when most is drawn",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 8, .nodes = 6, .variants = 2, .drawn = SPEC_DRAWN_WITHOUT, .opt_parent = siblings,
    .target = {SPEC_PROFILE_STEPS, 1.5}, .draft = {SPEC_PROFILE_MODE, 0.6}, .order = SPEC_ORDER_REVERSED,
};

const spec_recipe spec_fixture_binary_without_4 = {
    .kind = {"binary-without-4", "a binary tree without replacement",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 4, .nodes = 14, .variants = 3, .drawn = SPEC_DRAWN_WITHOUT, .opt_parent = binary,
    .target = {SPEC_PROFILE_STEPS, 2.0}, .draft = {SPEC_PROFILE_STEPS, 2.0}, .order = SPEC_ORDER_REVERSED,
    .blend = {0.5, 0.5},
};

const spec_recipe spec_fixture_all_without_3 = {
    .kind = {"all-without-3", "every token a sibling: nothing is left over",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 3, .nodes = 3, .variants = 2, .drawn = SPEC_DRAWN_WITHOUT, .opt_parent = siblings,
    .target = {SPEC_PROFILE_STEPS, 1.5}, .draft = {SPEC_PROFILE_STEPS, 1.5}, .order = SPEC_ORDER_REVERSED,
};

const spec_recipe spec_fixture_wide_fixed_8 = {
    .kind = {"wide-fixed-8", "four siblings that were chosen: each has probability 1",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 8, .nodes = 4, .variants = 2, .drawn = SPEC_DRAWN_FIXED, .opt_parent = siblings,
    .target = {SPEC_PROFILE_STEPS, 1.0}, .draft = {SPEC_PROFILE_STEPS, 1.0}, .order = SPEC_ORDER_OWN,
};

const spec_recipe spec_fixture_deep_fixed_4 = {
    .kind = {"deep-fixed-4", "a chosen tree, wide at first: Medusa's kind",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 4, .nodes = 9, .variants = 2, .drawn = SPEC_DRAWN_FIXED, .opt_parent = wide_first,
    .target = {SPEC_PROFILE_STEPS, 1.5}, .draft = {SPEC_PROFILE_STEPS, 1.5}, .order = SPEC_ORDER_OWN,
};
