/* Places of a draft, and drafts of other lengths and kinds. */
#include "experiments/conformance/fixtures.h"

const spec_recipe spec_fixture_no_draft_4 = {
    .kind = {"no-draft-4", "no draft at all: the bonus token alone",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 4, .nodes = 0, .variants = 2,
    .target = {SPEC_PROFILE_STEPS, 2.0}, .draft = {SPEC_PROFILE_STEPS, 2.0}, .order = SPEC_ORDER_OWN,
};

const spec_recipe spec_fixture_long_4 = {
    .kind = {"long-4", "eight places, most accepted: what happens only late in a draft",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 4, .nodes = 8, .variants = 1,
    .target = {SPEC_PROFILE_STEPS, 2.0}, .draft = {SPEC_PROFILE_STEPS, 2.0}, .order = SPEC_ORDER_REVERSED,
    .blend = {0.9, 0.9},
};

const spec_recipe spec_fixture_fading_4 = {
    .kind = {"fading-4", "each place less acceptable than the last: rejections at the end, bonus rows, ratios of a "
                         "whole block",
             SPEC_SCOPE_VERIFY | SPEC_SCOPE_STREAM, spec_recipe_open},
    .vocab = 4, .nodes = 4, .variants = 2,
    .target = {SPEC_PROFILE_STEPS, 2.0}, .draft = {SPEC_PROFILE_STEPS, 2.0}, .order = SPEC_ORDER_REVERSED,
    .blend = {0.95, 0.1},
};

const spec_recipe spec_fixture_rising_4 = {
    .kind = {"rising-4", "first places are lost, later ones sure: rejections at the start, and what outlives them",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 4, .nodes = 4, .variants = 2,
    .target = {SPEC_PROFILE_STEPS, 2.0}, .draft = {SPEC_PROFILE_STEPS, 2.0}, .order = SPEC_ORDER_REVERSED,
    .blend = {0.1, 0.95},
};

const spec_recipe spec_fixture_shorter_4 = {
    .kind = {"shorter-4", "drafts of all lengths in one batch, left out or padded: rows and counts of somebody else",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 4, .nodes = 3, .variants = 2, .shorter = true,
    .target = {SPEC_PROFILE_STEPS, 2.0}, .draft = {SPEC_PROFILE_STEPS, 2.0}, .order = SPEC_ORDER_REVERSED,
    .blend = {0.5, 0.5},
};

const spec_recipe spec_fixture_shorter_batch_3 = {
    .kind = {"shorter-batch-3", "all lengths in batches of three, few accepted: padding taken for a token",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 8, .nodes = 2, .variants = 2, .batch = 3, .shorter = true,
    .target = {SPEC_PROFILE_STEPS, 2.0}, .draft = {SPEC_PROFILE_STEPS, 2.0}, .order = SPEC_ORDER_OWN,
    .edits = SPEC_EDIT_NO_ENDS,
};

const spec_recipe spec_fixture_fixed_4 = {
    .kind = {"fixed-4", "a draft that was chosen, without rows: its probability is 1",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 4, .nodes = 2, .variants = 2, .drawn = SPEC_DRAWN_FIXED,
    .target = {SPEC_PROFILE_STEPS, 1.2}, .draft = {SPEC_PROFILE_STEPS, 1.2}, .order = SPEC_ORDER_NEXT,
};

const spec_recipe spec_fixture_fixed_zeros_8 = {
    .kind = {"fixed-zeros-8", "chosen tokens that are impossible: accepted at a coin of 0",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 8, .nodes = 1, .variants = 2, .drawn = SPEC_DRAWN_FIXED,
    .target = {SPEC_PROFILE_STEPS, 1.5}, .draft = {SPEC_PROFILE_STEPS, 1.5}, .order = SPEC_ORDER_NEXT,
    .edits = SPEC_EDIT_TARGET_ZEROS,
};
