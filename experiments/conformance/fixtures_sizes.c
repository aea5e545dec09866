/* Vocabularies of all sizes. */
#include "experiments/conformance/fixtures.h"

const spec_recipe spec_fixture_one_1 = {
    .kind = {"one-1", "a vocabulary of one token: whatever divides by V - 1",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 1, .nodes = 2, .variants = 1,
    .target = {SPEC_PROFILE_STEPS, 1.0}, .draft = {SPEC_PROFILE_STEPS, 1.0}, .order = SPEC_ORDER_SAME,
};

const spec_recipe spec_fixture_tile_33 = {
    .kind = {"tile-33", "one token more than a tile, with most of the mass at the ends of tiles",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 33, .nodes = 1, .variants = 2,
    .target = {SPEC_PROFILE_ZIPF, 1.3}, .draft = {SPEC_PROFILE_ZIPF, 0.7}, .order = SPEC_ORDER_NEXT,
    .edits = SPEC_EDIT_TILES,
};

const spec_recipe spec_fixture_tile_257 = {
    .kind = {"tile-257", "eight tiles and a token, with most of the mass at their ends",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 257, .nodes = 1, .variants = 2,
    .target = {SPEC_PROFILE_ZIPF, 1.3}, .draft = {SPEC_PROFILE_ZIPF, 0.7}, .order = SPEC_ORDER_NEXT,
    .edits = SPEC_EDIT_TILES,
};

const spec_recipe spec_fixture_vocab_1000 = {
    .kind = {"vocab-1000", "no multiple of anything: the last part of a tile, sums in low precision",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 1000, .nodes = 1, .variants = 2, .batch = 64,
    .target = {SPEC_PROFILE_ZIPF, 1.0}, .draft = {SPEC_PROFILE_ZIPF, 0.7}, .order = SPEC_ORDER_NEXT,
    .edits = SPEC_EDIT_TILES,
};

const spec_recipe spec_fixture_vocab_32000 = {
    .kind = {"vocab-32000", "the vocabulary of Llama 2, rows with a long tail",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 32000, .nodes = 1, .variants = 1, .batch = 8,
    .target = {SPEC_PROFILE_ZIPF, 1.1}, .draft = {SPEC_PROFILE_ZIPF, 1.1}, .order = SPEC_ORDER_NEXT,
    .blend = {0.3, 0.3}, .edits = SPEC_EDIT_TILES,
};

const spec_recipe spec_fixture_filtered_50257 = {
    .kind = {"filtered-50257", "the vocabulary of GPT-2, all but 40 tokens filtered out",
             SPEC_SCOPE_VERIFY, spec_recipe_open},
    .vocab = 50257, .nodes = 1, .variants = 1, .batch = 8,
    .target = {SPEC_PROFILE_ZIPF, 0.8}, .draft = {SPEC_PROFILE_ZIPF, 0.8}, .order = SPEC_ORDER_SAME,
    .blend = {0.0, 0.0}, .edits = SPEC_EDIT_TILES | SPEC_EDIT_FILTERED,
};

const spec_recipe spec_fixture_vocab_151936 = {
    .kind = {"vocab-151936", "the vocabulary of Qwen, both drawn and verified: tokens beyond 2^16, sums of light tails",
             SPEC_SCOPE_VERIFY | SPEC_SCOPE_DRAFT, spec_recipe_open},
    .vocab = 151936, .nodes = 1, .variants = 1, .batch = 3, .blind = true,
    .target = {SPEC_PROFILE_ZIPF, 1.0}, .draft = {SPEC_PROFILE_ZIPF, 1.2}, .order = SPEC_ORDER_NEXT,
    .blend = {0.3, 0.3}, .edits = SPEC_EDIT_TILES,
};
