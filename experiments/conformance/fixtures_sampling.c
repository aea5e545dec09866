/* Sampling parameters, which the sampler applies to whole rows. No probability lies at a threshold. */
#include "experiments/conformance/fixtures.h"

const spec_recipe spec_fixture_greedy_8 = {
    .kind = {"greedy-8", "temperature 0: the argmax alone, of target and draft",
             SPEC_SCOPE_VERIFY | SPEC_SCOPE_DRAFT | SPEC_SCOPE_STREAM, spec_recipe_open},
    .vocab = 8, .nodes = 2, .variants = 2, .blind = true,
    .sampling = {0.0f, 0, 1.0f, 0.0f}, /* temperature, top_k, top_p, min_p */
    .target = {SPEC_PROFILE_STEPS, 2.0}, .draft = {SPEC_PROFILE_STEPS, 2.0}, .order = SPEC_ORDER_OWN,
    .blend = {0.4, 0.4},
};

const spec_recipe spec_fixture_cold_8 = {
    .kind = {"cold-8", "temperature .5: what the target, the draft or the bonus row leaves out",
             SPEC_SCOPE_VERIFY | SPEC_SCOPE_DRAFT | SPEC_SCOPE_STREAM, spec_recipe_open},
    .vocab = 8, .nodes = 1, .variants = 2, .blind = true,
    .sampling = {0.5f, 0, 1.0f, 0.0f}, /* temperature, top_k, top_p, min_p */
    .target = {SPEC_PROFILE_STEPS, 2.5}, .draft = {SPEC_PROFILE_STEPS, 2.0}, .order = SPEC_ORDER_NEXT,
};

const spec_recipe spec_fixture_hot_8 = {
    .kind = {"hot-8", "temperature 2: a parameter that is applied to one row and not to the other",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 8, .nodes = 1, .variants = 2,
    .sampling = {2.0f, 0, 1.0f, 0.0f}, /* temperature, top_k, top_p, min_p */
    .target = {SPEC_PROFILE_STEPS, 4.0}, .draft = {SPEC_PROFILE_STEPS, 4.0}, .order = SPEC_ORDER_NEXT,
};

const spec_recipe spec_fixture_top_k_16 = {
    .kind = {"top-k-16", "top-k 5: filters of one row alone, tokens that must not come",
             SPEC_SCOPE_VERIFY | SPEC_SCOPE_DRAFT, spec_recipe_open},
    .vocab = 16, .nodes = 1, .variants = 2, .blind = true,
    .sampling = {1.0f, 5, 1.0f, 0.0f}, /* temperature, top_k, top_p, min_p */
    .target = {SPEC_PROFILE_STEPS, 2.0}, .draft = {SPEC_PROFILE_STEPS, 2.0}, .order = SPEC_ORDER_OWN,
    .blend = {0.5, 0.5},
};

const spec_recipe spec_fixture_top_p_16 = {
    .kind = {"top-p-16", "top-p .9: the token that crosses the line",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 16, .nodes = 1, .variants = 2,
    .sampling = {1.0f, 0, 0.9f, 0.0f}, /* temperature, top_k, top_p, min_p */
    .target = {SPEC_PROFILE_STEPS, 3.0}, .draft = {SPEC_PROFILE_STEPS, 3.0}, .order = SPEC_ORDER_OWN,
    .blend = {0.5, 0.5},
};

const spec_recipe spec_fixture_min_p_16 = {
    .kind = {"min-p-16", "min-p .25: a filter that is left out, or kept for the bonus row",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 16, .nodes = 1, .variants = 2,
    .sampling = {1.0f, 0, 1.0f, 0.25f}, /* temperature, top_k, top_p, min_p */
    .target = {SPEC_PROFILE_STEPS, 3.0}, .draft = {SPEC_PROFILE_STEPS, 3.0}, .order = SPEC_ORDER_OWN,
    .blend = {0.8, 0.8},
};

const spec_recipe spec_fixture_joint_16 = {
    .kind = {"joint-16", "top-k and top-p on the same probabilities: filters that renormalise in between",
             SPEC_SCOPE_VERIFY | SPEC_SCOPE_STREAM, spec_recipe_open},
    .vocab = 16, .nodes = 1, .variants = 2,
    .sampling = {1.0f, 8, 0.6f, 0.0f}, /* temperature, top_k, top_p, min_p */
    .target = {SPEC_PROFILE_STEPS, 1.5}, .draft = {SPEC_PROFILE_STEPS, 1.5}, .order = SPEC_ORDER_OWN,
    .blend = {0.5, 0.5},
};

const spec_recipe spec_fixture_everything_32 = {
    .kind = {"everything-32", "temperature, top-k, top-p and min-p together, temperature first",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 32, .nodes = 1, .variants = 2,
    .sampling = {0.7f, 16, 0.8f, 0.1f}, /* temperature, top_k, top_p, min_p */
    .target = {SPEC_PROFILE_STEPS, 3.0}, .draft = {SPEC_PROFILE_STEPS, 3.0}, .order = SPEC_ORDER_OWN,
    .blend = {0.5, 0.5},
};

const spec_recipe spec_fixture_served_300 = {
    .kind = {"served-300", "what requests ask for, temperature .8, top-k 40 and top-p .9, over many tokens",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 300, .nodes = 1, .variants = 1,
    .sampling = {0.8f, 40, 0.9f, 0.0f}, /* temperature, top_k, top_p, min_p */
    .target = {SPEC_PROFILE_ZIPF, 1.2}, .draft = {SPEC_PROFILE_ZIPF, 1.2}, .order = SPEC_ORDER_OWN,
    .blend = {0.5, 0.5}, .edits = SPEC_EDIT_TILES,
};
