/* Drafts that the sampler draws itself; rows are blind to them. */
#include "experiments/conformance/fixtures.h"

const spec_recipe spec_fixture_blind_64 = {
    .kind = {"blind-64", "rows side by side, verified and drawn at full speed",
             SPEC_SCOPE_VERIFY | SPEC_SCOPE_DRAFT, spec_recipe_open},
    .vocab = 64, .nodes = 3, .variants = 1, .blind = true,
    .target = {SPEC_PROFILE_MODE, 0.5}, .draft = {SPEC_PROFILE_MODE, 0.4}, .order = SPEC_ORDER_NEXT,
    .blend = {0.5, 0.5},
};

const spec_recipe spec_fixture_blind_2 = {
    .kind = {"blind-2", "two tokens: generators shared by draft and verifier, coins used twice",
             SPEC_SCOPE_DRAFT, spec_recipe_open},
    .vocab = 2, .nodes = 2, .variants = 1, .blind = true,
    .target = {SPEC_PROFILE_MODE, 0.7}, .draft = {SPEC_PROFILE_MODE, 0.6}, .order = SPEC_ORDER_NEXT,
};

const spec_recipe spec_fixture_blind_3 = {
    .kind = {"blind-3", "three tokens, little overlap: one Gumbel vector for draft and correction",
             SPEC_SCOPE_DRAFT, spec_recipe_open},
    .vocab = 3, .nodes = 1, .variants = 2, .blind = true,
    .target = {SPEC_PROFILE_STEPS, 1.8}, .draft = {SPEC_PROFILE_STEPS, 1.8}, .order = SPEC_ORDER_REVERSED,
};

const spec_recipe spec_fixture_blind_argmax_4 = {
    .kind = {"blind-argmax-4", "a flat draft, a target that is sure: drafts by argmax that are judged as samples",
             SPEC_SCOPE_DRAFT, spec_recipe_open},
    .vocab = 4, .nodes = 1, .variants = 2, .blind = true,
    .target = {SPEC_PROFILE_MODE, 0.8}, .draft = {SPEC_PROFILE_STEPS, 0.5}, .order = SPEC_ORDER_NEXT,
};

const spec_recipe spec_fixture_blind_equal_16 = {
    .kind = {"blind-equal-16", "draft and target equal and flat: drafts from filtered rows that are judged by whole "
                               "ones",
             SPEC_SCOPE_DRAFT, spec_recipe_open},
    .vocab = 16, .nodes = 2, .variants = 1, .blind = true,
    .target = {SPEC_PROFILE_STEPS, 0.5}, .draft = {SPEC_PROFILE_STEPS, 0.5}, .order = SPEC_ORDER_SAME,
    .blend = {1.0, 1.0},
};

const spec_recipe spec_fixture_blind_zeros_8 = {
    .kind = {"blind-zeros-8", "drafts that are often impossible, the ends among them",
             SPEC_SCOPE_DRAFT, spec_recipe_open},
    .vocab = 8, .nodes = 1, .variants = 2, .blind = true,
    .target = {SPEC_PROFILE_STEPS, 1.5}, .draft = {SPEC_PROFILE_STEPS, 1.5}, .order = SPEC_ORDER_NEXT,
    .edits = SPEC_EDIT_TARGET_ZEROS,
};

const spec_recipe spec_fixture_blind_long_3 = {
    .kind = {"blind-long-3", "seven places drawn one after another: a generator that starts again",
             SPEC_SCOPE_DRAFT, spec_recipe_open},
    .vocab = 3, .nodes = 7, .variants = 1, .blind = true,
    .target = {SPEC_PROFILE_STEPS, 1.5}, .draft = {SPEC_PROFILE_STEPS, 1.5}, .order = SPEC_ORDER_REVERSED,
    .blend = {0.8, 0.8},
};

const spec_recipe spec_fixture_blind_half_steps_16 = {
    .kind = {"blind-half-steps-16", "probabilities half-way between those of bf16: drafts drawn in lower precision "
                                    "than they are judged in",
             SPEC_SCOPE_DRAFT, spec_recipe_open},
    .vocab = 16, .nodes = 1, .variants = 1, .blind = true,
    .target = {SPEC_PROFILE_STEPS, 1.0}, .draft = {SPEC_PROFILE_STEPS, 1.0}, .order = SPEC_ORDER_SAME,
    .edits = SPEC_EDIT_HALF_STEPS,
};
