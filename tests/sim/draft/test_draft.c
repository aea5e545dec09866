/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/draft/draft.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

static const double row[] = {0.27, 0.0, 0.73};

TEST(nodes_keep_token_parent_row_and_how_they_came)
{
    OWNED(spec_draft) draft;
    assert_int_equal(spec_draft_init(&draft, 4, 3, NULL), GSL_SUCCESS);
    assert_int_equal(draft.n_nodes, 0);
    spec_draft_append(&draft, 2, -1, row, true);
    spec_draft_append(&draft, 1, 0, row, false);
    spec_draft_append(&draft, 0, 1, NULL, false);
    assert_int_equal(draft.n_nodes, 3);
    const int token[] = {2, 1, 0}, parent[] = {-1, 0, 1};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(draft.token[i], token[i]);
        assert_int_equal(draft.parent[i], parent[i]);
    }
    assert_ptr_equal(spec_draft_law(&draft, 0), row);
    assert_null(spec_draft_law(&draft, 1)); /* chosen, so one-hot whatever its row is */
    assert_null(spec_draft_law(&draft, 2));
    assert_within(spec_draft_confidence(&draft, 0), 0.73, 0.0);
    assert_within(spec_draft_confidence(&draft, 1), 0.0, 0.0);
    assert_within(spec_draft_confidence(&draft, 2), 1.0, 0.0);
}

/* A token that the draft drew without saying what the probabilities were. */
TEST(an_unseen_token_counts_as_sampled)
{
    OWNED(spec_draft) draft;
    assert_int_equal(spec_draft_init(&draft, 4, 3, NULL), GSL_SUCCESS);
    spec_draft_append(&draft, 2, -1, row, false);
    spec_draft_retract(&draft);
    spec_draft_append_unseen(&draft, 1, true);
    assert_int_equal(draft.n_nodes, 1);
    assert_int_equal(draft.token[0], 1);
    assert_int_equal(draft.parent[0], -1);
    assert_true(draft.sampled[0]);
    assert_null(spec_draft_law(&draft, 0));
}

TEST(a_chain_has_no_branches_until_a_node_leaves_the_line)
{
    OWNED(spec_draft) draft;
    assert_int_equal(spec_draft_init(&draft, 4, 3, NULL), GSL_SUCCESS);
    spec_draft_append(&draft, 2, -1, NULL, false);
    spec_draft_append(&draft, 2, 0, NULL, false);
    assert_false(draft.branches);
    spec_draft_append(&draft, 1, 0, NULL, false);
    assert_true(draft.branches);
    spec_draft_append(&draft, 1, 2, NULL, false);
    assert_true(draft.branches);
    spec_draft_reset(&draft);
    assert_false(draft.branches);
    assert_int_equal(draft.n_nodes, 0);
}

TEST(slots_of_different_nodes_do_not_overlap)
{
    OWNED(spec_draft) draft;
    assert_int_equal(spec_draft_init(&draft, 3, 3, NULL), GSL_SUCCESS);
    for (int i = 0; i < 3; i++) {
        double *slot = spec_draft_slot(&draft);
        for (int x = 0; x < 3; x++) slot[x] = 0.1 * (i + 1) + 0.01 * x;
        spec_draft_append(&draft, 0, i - 1, slot, true);
    }
    for (int i = 0; i < 3; i++)
        for (int x = 0; x < 3; x++) assert_within(draft.row[i][x], 0.1 * (i + 1) + 0.01 * x, 0.0);
    spec_draft_retract(&draft);
    assert_int_equal(draft.n_nodes, 2);
    assert_ptr_equal(spec_draft_slot(&draft), draft.row[2]); /* the slot is free again */
}

TEST(a_draft_of_no_capacity_and_a_zeroed_one_are_fine)
{
    OWNED(spec_draft) draft;
    assert_int_equal(spec_draft_init(&draft, 0, 1, NULL), GSL_SUCCESS);
    spec_draft_free(&draft);
    assert_int_equal(draft.capacity, 0);
    assert_null(draft.store);
}
