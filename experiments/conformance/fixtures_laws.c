/* Chains of the kinds that rows come in. */
#include "experiments/conformance/fixtures.h"

const spec_recipe spec_fixture_plain_4 = {
    .kind = {"plain-4", "four tokens, three places, no row like another: whatever is wrong with the law itself",
             SPEC_SCOPE_VERIFY | SPEC_SCOPE_STREAM, spec_recipe_open},
    .vocab = 4, .nodes = 3, .variants = 3,
    .target = {SPEC_PROFILE_STEPS, 2.0}, .draft = {SPEC_PROFILE_STEPS, 1.5}, .order = SPEC_ORDER_OWN,
};

const spec_recipe spec_fixture_two_2 = {
    .kind = {"two-2", "two tokens, overlap about .5: whatever is wrong with the law of a token, with the most power a "
                      "draw",
             SPEC_SCOPE_VERIFY | SPEC_SCOPE_STREAM, spec_recipe_open},
    .vocab = 2, .nodes = 2, .variants = 1,
    .target = {SPEC_PROFILE_MODE, 0.7}, .draft = {SPEC_PROFILE_MODE, 0.75}, .order = SPEC_ORDER_NEXT,
};

const spec_recipe spec_fixture_near_uniform_8 = {
    .kind = {"near-uniform-8", "nearly flat rows: uniform numbers with gaps, tokens off by one, a draft that is "
                               "always accepted",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 8, .nodes = 1, .variants = 2,
    .target = {SPEC_PROFILE_STEPS, 0.4}, .draft = {SPEC_PROFILE_STEPS, 0.4}, .order = SPEC_ORDER_REVERSED,
};

const spec_recipe spec_fixture_low_entropy_8 = {
    .kind = {"low-entropy-8", "the target is sure, the draft of something else: argmax for a sample, residuals "
                              "through softmax",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 8, .nodes = 2, .variants = 2,
    .target = {SPEC_PROFILE_MODE, 0.85}, .draft = {SPEC_PROFILE_MODE, 0.6}, .order = SPEC_ORDER_NEXT,
};

const spec_recipe spec_fixture_heavy_draft_4 = {
    .kind = {"heavy-draft-4", "the draft is sure of what the target hardly likes: acceptance that is too lenient, "
                              "corrections from the target",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 4, .nodes = 1, .variants = 2,
    .target = {SPEC_PROFILE_STEPS, 1.5}, .draft = {SPEC_PROFILE_MODE, 0.9}, .order = SPEC_ORDER_REVERSED,
};

const spec_recipe spec_fixture_zipf_16 = {
    .kind = {"zipf-16", "power laws that overlap to a half: rows, residuals and sums of a common kind",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 16, .nodes = 2, .variants = 2,
    .target = {SPEC_PROFILE_ZIPF, 1.2}, .draft = {SPEC_PROFILE_ZIPF, 0.8}, .order = SPEC_ORDER_NEXT,
};

const spec_recipe spec_fixture_llm_64 = {
    .kind = {"llm-64", "a sure mode and light tails, the draft flatter: rows as language models have them",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 64, .nodes = 1, .variants = 2,
    .target = {SPEC_PROFILE_MODE, 0.5}, .draft = {SPEC_PROFILE_MODE, 0.3}, .order = SPEC_ORDER_OWN,
    .blend = {0.4, 0.4},
};

const spec_recipe spec_fixture_anti_aligned_8 = {
    .kind = {"anti-aligned-8", "what one likes, the other does not: the residual is nearly all of the target",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 8, .nodes = 1, .variants = 2,
    .target = {SPEC_PROFILE_STEPS, 4.0}, .draft = {SPEC_PROFILE_STEPS, 4.0}, .order = SPEC_ORDER_REVERSED,
};

const spec_recipe spec_fixture_equal_8 = {
    .kind = {"equal-8", "draft and target equal to the bit, the ends of the row 0: a rejection has nothing to draw "
                        "from",
             SPEC_SCOPE_VERIFY | SPEC_SCOPE_STREAM, spec_recipe_open},
    .vocab = 8, .nodes = 6, .variants = 1,
    .target = {SPEC_PROFILE_STEPS, 2.0}, .draft = {SPEC_PROFILE_STEPS, 2.0}, .order = SPEC_ORDER_SAME,
    .blend = {1.0, 1.0}, .edits = SPEC_EDIT_NO_ENDS,
};

const spec_recipe spec_fixture_disjoint_8 = {
    .kind = {"disjoint-8", "no token in common: whatever is accepted is impossible",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 8, .nodes = 1, .variants = 2,
    .target = {SPEC_PROFILE_STEPS, 1.5}, .draft = {SPEC_PROFILE_STEPS, 1.5}, .order = SPEC_ORDER_OWN,
    .edits = SPEC_EDIT_DISJOINT,
};

const spec_recipe spec_fixture_one_hot_target_4 = {
    .kind = {"one-hot-target-4", "one token alone is possible, and the draft does not know which: any other is "
                                 "impossible",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 4, .nodes = 2, .variants = 2,
    .target = {SPEC_PROFILE_STEPS, 1.0}, .draft = {SPEC_PROFILE_STEPS, 1.0}, .order = SPEC_ORDER_OWN,
    .edits = SPEC_EDIT_TARGET_ONE_HOT,
};

const spec_recipe spec_fixture_one_hot_draft_4 = {
    .kind = {"one-hot-draft-4", "the draft's rows are one-hot: corrections that come from the whole target, ratios "
                                "over 1",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 4, .nodes = 2, .variants = 2,
    .target = {SPEC_PROFILE_STEPS, 1.2}, .draft = {SPEC_PROFILE_STEPS, 1.0}, .order = SPEC_ORDER_SAME,
    .edits = SPEC_EDIT_DRAFT_ONE_HOT,
};

const spec_recipe spec_fixture_ties_8 = {
    .kind = {"ties-8", "many tokens alike: sorting, thresholds, < for <=",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 8, .nodes = 1, .variants = 2,
    .target = {SPEC_PROFILE_TIES, 0.0}, .draft = {SPEC_PROFILE_TIES, 0.0}, .order = SPEC_ORDER_NEXT,
};

const spec_recipe spec_fixture_target_zeros_8 = {
    .kind = {"target-zeros-8", "drafted tokens that are impossible, both ends among them: u <= 0, scans that fall off "
                               "the end",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 8, .nodes = 2, .variants = 2,
    .target = {SPEC_PROFILE_STEPS, 1.5}, .draft = {SPEC_PROFILE_STEPS, 1.5}, .order = SPEC_ORDER_NEXT,
    .edits = SPEC_EDIT_TARGET_ZEROS,
};

const spec_recipe spec_fixture_draft_zeros_8 = {
    .kind = {"draft-zeros-8", "tokens that are never drafted: 0/0, and residuals that must bring them",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 8, .nodes = 1, .variants = 2,
    .target = {SPEC_PROFILE_STEPS, 1.5}, .draft = {SPEC_PROFILE_STEPS, 1.5}, .order = SPEC_ORDER_SAME,
    .edits = SPEC_EDIT_DRAFT_ZEROS,
};

const spec_recipe spec_fixture_tiny_draft_8 = {
    .kind = {"tiny-draft-8", "the likeliest token has draft probability 2^-22: ratios that overflow, logarithms that "
                             "cancel",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 8, .nodes = 1, .variants = 2,
    .target = {SPEC_PROFILE_STEPS, 1.5}, .draft = {SPEC_PROFILE_STEPS, 1.5}, .order = SPEC_ORDER_SAME,
    .edits = SPEC_EDIT_DRAFT_TINY,
};

const spec_recipe spec_fixture_one_unit_8 = {
    .kind = {"one-unit-8", "draft and target differ by 2^-22 in two tokens: residuals that vanish by rounding",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 8, .nodes = 1, .variants = 2,
    .target = {SPEC_PROFILE_STEPS, 1.5}, .draft = {SPEC_PROFILE_STEPS, 1.5}, .order = SPEC_ORDER_SAME,
    .edits = SPEC_EDIT_ONE_UNIT,
};

const spec_recipe spec_fixture_light_tail_32 = {
    .kind = {"light-tail-32", "tails of a few per cent that the draft lacks: what is cut off, or too weak for half "
                              "precision",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 32, .nodes = 1, .variants = 1,
    .target = {SPEC_PROFILE_ZIPF, 2.5}, .draft = {SPEC_PROFILE_ZIPF, 4.0}, .order = SPEC_ORDER_SAME,
};
