/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A widened head on its widened target has the rows of the head on its own target, bit for bit. */
#include "models/heads/head_widening.h"
#include "models/model_open.h"
#include "models/transformer/engine/transformer.h"
#include "models/transformer/files/gguf_model.h"
#include "models/transformer/files/widening.h"
#include "tests/support/contexts.h"
#include "tests/support/drawn_head.h"
#include "tests/support/folder.h"
#include "tests/support/model_of.h"
#include "tests/support/support.h"

#include <string.h>

enum { V = 11, REACH = 4, TEXT = 30, NODES = 3, BY = 4 };

static const char target_spec[] =
    "random?dim=16&layers=3&heads=4&kv_heads=2&ffn=24&vocab=11&context=60&type=f32";

/* Computes the rows (NODES + 1, V) after a text and a chain of draft tokens. */
static void rows_of(double *ret_rows, const spec_model *draft)
{
    OWNED(spec_session) session;
    const double *row[NODES + 1];
    int text[TEXT];
    const int chain[NODES] = {3, 8, 1};
    for (int i = 0; i < TEXT; i++) text[i] = (7 * i * i + 3 * i + 1) % V;
    assert_works(spec_session_init(&session, draft, &error));
    assert_works(spec_session_score(&session,
                                    &(spec_score_request){.context = text,
                                                          .n_context = TEXT,
                                                          .token = chain,
                                                          .n_nodes = NODES,
                                                          .ret_row = row,
                                                          .scratch = ret_rows},
                                    &error));
    for (int i = 0; i <= NODES; i++)
        if (row[i] != ret_rows + i * V) memcpy(ret_rows + i * V, row[i], V * sizeof *ret_rows);
}

/* Compares a head's rows with those of the widened one; `spoilt`: leaves one gain unscaled. */
static bool has_same_rows(const drawn_head_config *config, bool spoilt)
{
    double before[(NODES + 1) * V], after[(NODES + 1) * V];
    int kept;
    OWNED_MODEL *target = model_of(target_spec, NULL);
    const spec_checkpoint *checkpoint = spec_transformer_of(target)->checkpoint;
    spec_checkpoint wide;
    spec_head head, wide_head;
    drawn_head(&head, config, checkpoint);
    assert_works(spec_widening_init(&wide, checkpoint, BY, "model", &error));
    assert_works(spec_head_widening_init(&wide_head, &head, &wide, BY, &error));
    if (spoilt) {
        float *gain = (float *)wide_head.tensor[SPEC_HEAD_FFN_NORM][0].data;
        gain[0] *= 2.0f;
    }
    assert_works(spec_gguf_model_write(&kept, &wide, &(spec_gguf_model_vocabulary){0}, "wide.gguf",
                                       NULL, &error));
    spec_model *draft = drawn_head_open(&head, "", target),
               *wide_target = model_of("gguf:wide.gguf", NULL),
               *wide_draft = drawn_head_open(&wide_head, "", wide_target);
    rows_of(before, draft);
    rows_of(after, wide_draft);
    spec_model_close(wide_draft);
    spec_model_close(wide_target);
    spec_model_close(draft);
    spec_head_free(&wide_head);
    spec_checkpoint_free(&wide);
    spec_head_free(&head);
    return memcmp(before, after, sizeof before) == 0;
}

TEST(every_kind_has_the_same_rows, .setup = spec_folder_enter, .teardown = spec_folder_leave)
{
    for (int kind = 0; kind < SPEC_HEAD_KINDS; kind++) {
        const bool ends =
            kind != SPEC_HEAD_REDRAFTER && kind != SPEC_HEAD_EAGLE && kind != SPEC_HEAD_EAGLE3;
        for (int normed = 0; normed < 2; normed++) {
            const drawn_head_config config = {(spec_head_kind)kind, ends ? REACH : 0, 0,
                                              normed == 1, 3 + (uint64_t)kind};
            if (!has_same_rows(&config, false))
                fail_msg("%s: other rows", spec_head_kind_names[kind]);
        }
    }
}

TEST(a_reduced_vocabulary_is_kept, .setup = spec_folder_enter, .teardown = spec_folder_leave)
{
    assert_true(has_same_rows(&(drawn_head_config){SPEC_HEAD_EAGLE3, 0, 5, false, 5}, false));
}

TEST(options_of_eagle3_are_kept, .setup = spec_folder_enter, .teardown = spec_folder_leave)
{
    const int options[] = {DRAWN_NO_OUTPUT, DRAWN_EMBEDDING, DRAWN_EMBEDDING | DRAWN_OTHER_DIM};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        assert_true(
            has_same_rows(&(drawn_head_config){SPEC_HEAD_EAGLE3, 0, 0, options[i], 5}, false));
}

TEST(a_norm_of_joined_states_is_refused)
{
    OWNED_MODEL *target = model_of(target_spec, NULL);
    const spec_checkpoint *checkpoint = spec_transformer_of(target)->checkpoint;
    spec_checkpoint wide;
    spec_head head, wide_head;
    drawn_head(&head, &(drawn_head_config){SPEC_HEAD_EAGLE3, 0, 0, DRAWN_FC_NORM, 5}, checkpoint);
    assert_works(spec_widening_init(&wide, checkpoint, BY, "model", &error));
    assert_fails_with(spec_head_widening_init(&wide_head, &head, &wide, BY, &error), GSL_EINVAL,
                      "norm_before_fc cannot be widened");
    spec_checkpoint_free(&wide);
    spec_head_free(&head);
}

TEST(a_gain_of_another_size_is_noticed, .setup = spec_folder_enter, .teardown = spec_folder_leave)
{
    assert_false(has_same_rows(&(drawn_head_config){SPEC_HEAD_EAGLE3, 0, 0, false, 5}, true));
}
