/* fixtures: the lines of the table spec_fixtures, by theme; each stands in the fixtures_*.c of its theme. */
#ifndef SPECLAB_FIXTURES_H
#define SPECLAB_FIXTURES_H

#include "experiments/conformance/recipe.h"

/* fixtures_laws.c */
extern const spec_recipe spec_fixture_plain_4, spec_fixture_two_2, spec_fixture_near_uniform_8,
    spec_fixture_low_entropy_8, spec_fixture_heavy_draft_4, spec_fixture_zipf_16, spec_fixture_llm_64,
    spec_fixture_anti_aligned_8, spec_fixture_equal_8, spec_fixture_disjoint_8, spec_fixture_one_hot_target_4,
    spec_fixture_one_hot_draft_4, spec_fixture_ties_8, spec_fixture_target_zeros_8, spec_fixture_draft_zeros_8,
    spec_fixture_tiny_draft_8, spec_fixture_one_unit_8, spec_fixture_light_tail_32;

/* fixtures_places.c */
extern const spec_recipe spec_fixture_no_draft_4, spec_fixture_long_4, spec_fixture_fading_4, spec_fixture_rising_4,
    spec_fixture_shorter_4, spec_fixture_shorter_batch_3, spec_fixture_fixed_4, spec_fixture_fixed_zeros_8;

/* fixtures_batches.c */
extern const spec_recipe spec_fixture_batch_1, spec_fixture_batch_3, spec_fixture_batch_64, spec_fixture_repeats_4,
    spec_fixture_coins_8;

/* fixtures_sizes.c */
extern const spec_recipe spec_fixture_one_1, spec_fixture_tile_33, spec_fixture_tile_257, spec_fixture_vocab_1000,
    spec_fixture_vocab_32000, spec_fixture_filtered_50257, spec_fixture_vocab_151936;

/* fixtures_draws.c */
extern const spec_recipe spec_fixture_blind_64, spec_fixture_blind_2, spec_fixture_blind_3,
    spec_fixture_blind_argmax_4, spec_fixture_blind_equal_16, spec_fixture_blind_zeros_8, spec_fixture_blind_long_3,
    spec_fixture_blind_half_steps_16;

/* fixtures_sampling.c */
extern const spec_recipe spec_fixture_greedy_8, spec_fixture_cold_8, spec_fixture_hot_8, spec_fixture_top_k_16,
    spec_fixture_top_p_16, spec_fixture_min_p_16, spec_fixture_joint_16, spec_fixture_everything_32,
    spec_fixture_served_300;

/* fixtures_trees.c */
extern const spec_recipe spec_fixture_pair_iid_4, spec_fixture_wide_iid_8, spec_fixture_binary_iid_4,
    spec_fixture_sparse_iid_4, spec_fixture_shorter_iid_4, spec_fixture_pair_without_4, spec_fixture_wide_without_8,
    spec_fixture_binary_without_4, spec_fixture_all_without_3, spec_fixture_wide_fixed_8, spec_fixture_deep_fixed_4;

/* fixtures_texts.c */
extern const spec_recipe spec_fixture_text_1_4, spec_fixture_text_5_3, spec_fixture_text_4_16;

#endif
