/* Texts that the sampler writes. */
#include "experiments/conformance/fixtures.h"

const spec_recipe spec_fixture_text_1_4 = {
    .kind = {"text-1-4", "one drafted token a round, rows after every token: state that is not rolled back",
             SPEC_SCOPE_STREAM, spec_recipe_open},
    .vocab = 4, .nodes = 1, .variants = 3,
    .target = {SPEC_PROFILE_STEPS, 2.0}, .draft = {SPEC_PROFILE_STEPS, 2.0}, .order = SPEC_ORDER_REVERSED,
};

const spec_recipe spec_fixture_text_5_3 = {
    .kind = {"text-5-3", "five drafted tokens, most accepted: long rounds, bonus tokens, ends of texts",
             SPEC_SCOPE_STREAM, spec_recipe_open},
    .vocab = 3, .nodes = 5, .variants = 1,
    .target = {SPEC_PROFILE_STEPS, 1.5}, .draft = {SPEC_PROFILE_STEPS, 1.5}, .order = SPEC_ORDER_REVERSED,
    .blend = {0.8, 0.8},
};

const spec_recipe spec_fixture_text_4_16 = {
    .kind = {"text-4-16", "four drafted tokens of a flatter model",
             SPEC_SCOPE_STREAM, spec_recipe_open},
    .vocab = 16, .nodes = 4, .variants = 1,
    .target = {SPEC_PROFILE_ZIPF, 1.2}, .draft = {SPEC_PROFILE_ZIPF, 0.7}, .order = SPEC_ORDER_NEXT,
    .blend = {0.5, 0.5},
};
