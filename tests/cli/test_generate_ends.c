/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts of speclab generate end at each of the model's ends. SPECLAB names the program. */
#include "models/train/training_model.h"
#include "models/transformer/files/gguf_model.h"
#include "models/transformer/tokenizer/byte_vocabulary.h"
#include "tests/cli/generate_json.h"
#include "tests/support/support.h"

enum { TURN_END = 77, MESSAGE_END = 200 };

/* A model whose tokens are texts of two digits, with three ends: of a text, a turn and a message.
 */
static void write_three_ends(const char *path)
{
    spec_training_model model;
    spec_byte_vocabulary bytes;
    int kept;
    const spec_shape shape = {.dim = 16,
                              .n_layers = 1,
                              .n_heads = 2,
                              .n_kv_heads = 2,
                              .head_dim = 8,
                              .ffn_dim = 24,
                              .vocab = SPEC_BYTE_TOKENS,
                              .context = 64,
                              .norm_eps = 1e-5f,
                              .rope.base = 10000.0};
    assert_int_equal(
        spec_training_model_draw(&model, &(spec_training_shape){.shape = shape, .is_tied = true},
                                 64, 1, NULL),
        GSL_SUCCESS);
    model.checkpoint.begin_of_text = SPEC_BYTE_BEGIN;
    model.checkpoint.adds_begin = true;
    model.checkpoint.ends = (spec_text_ends){3, {SPEC_BYTE_END, TURN_END, MESSAGE_END}};
    spec_byte_vocabulary_fill(&bytes);
    for (int i = 3; i < SPEC_BYTE_TOKENS; i++) {
        snprintf(bytes.text[i], sizeof bytes.text[i], "%02x", i - 3);
        bytes.piece[i] = (spec_piece){bytes.text[i], 2};
        bytes.type[i] = SPEC_PIECE_NORMAL;
    }
    assert_int_equal(spec_gguf_model_write(&kept, &model.checkpoint,
                                           &(spec_gguf_model_vocabulary){.opt_data = &bytes.data},
                                           path, NULL, NULL),
                     GSL_SUCCESS);
    spec_training_model_free(&model);
}

/* The token that ends a text is the only one that is not shown. */
TEST(a_text_ends_at_each_of_its_ends_and_shows_all_before)
{
    spec_needs_program();
    write_three_ends("ends.gguf");
    spec_program_works("quantize ends.gguf small.gguf --type f16");
    spec_program_works(
        "train distill --target ends.gguf --data own --own-texts 8 --judge-texts 8 --dim 16 "
        "--layers 1 --heads 1 --window 40 --steps 1 -o draft.gguf");
    static const char *const ways[] = {"ends.gguf --plain", "ends.gguf --draft draft.gguf",
                                       "ends.gguf --drafting lookup", "small.gguf --plain",
                                       "draft.gguf --plain"};
    for (int way = 0; way < 5; way++) {
        int seen[SPEC_BYTE_TOKENS] = {0};
        char line[200];
        snprintf(line, sizeof line, "generate -n 50 --texts 100 --format json --target %s",
                 ways[way]);
        json_t *root = json_of(line), *text, *token;
        size_t t, i;
        json_array_foreach(json_object_get(root, "texts"), t, text)
        {
            const json_t *tokens = json_object_get(text, "tokens");
            const size_t n = json_array_size(tokens);
            const bool ended =
                strcmp(json_string_value(json_object_get(text, "ended")), "end of text") == 0;
            char shown[1000] = "";
            json_array_foreach(tokens, i, token)
            {
                const long long x = number(token, "token");
                const bool ends = x == SPEC_BYTE_END || x == TURN_END || x == MESSAGE_END;
                assert_int_equal(ends, ended && i + 1 == n);
                seen[x] += ends;
                if (!ends) strcat(shown, json_string_value(json_object_get(token, "text")));
            }
            assert_true(ended || n == 50);
            assert_string_equal(shown, json_string_value(json_object_get(text, "text")));
        }
        assert_true(seen[SPEC_BYTE_END] > 0 && seen[TURN_END] > 0 && seen[MESSAGE_END] > 0);
        json_decref(root);
    }
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
