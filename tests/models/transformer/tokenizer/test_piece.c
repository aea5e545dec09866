/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/tokenizer/piece.h"

#include "tests/support/support.h"

#define BYTES(text) {text, sizeof(text) - 1}
#define PIECE(text) ((spec_piece)BYTES(text))

static int sign(int x)
{
    return (x > 0) - (x < 0);
}

/* Each piece sorts before all later ones: the empty one, prefixes, a NUL byte, bytes above 127. */
TEST(order_is_by_unsigned_bytes_then_length)
{
    static const spec_piece piece[] = {BYTES(""),   BYTES("\0"), BYTES("a"),    BYTES("a\0"),
                                       BYTES("ab"), BYTES("b"),  BYTES("\x80"), BYTES("\xff")};
    const int n = sizeof piece / sizeof *piece;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            assert_int_equal(sign(spec_piece_order(piece[i], piece[j])), sign(i - j));
}

TEST(byte_names_are_read_and_others_refused)
{
    assert_int_equal(spec_piece_byte(PIECE("<0x00>")), 0);
    assert_int_equal(spec_piece_byte(PIECE("<0x9F>")), 0x9f);
    assert_int_equal(spec_piece_byte(PIECE("<0xFF>")), 255);
    assert_int_equal(spec_piece_byte(PIECE("<0xff>")), -1);
    assert_int_equal(spec_piece_byte(PIECE("<0xG0>")), -1);
    assert_int_equal(spec_piece_byte(PIECE("<0x0A")), -1);
    assert_int_equal(spec_piece_byte(PIECE("<0x0A>>")), -1);
}

TEST(a_piece_is_the_text_of_its_own_length)
{
    const spec_piece part = {"llama3", 5};
    assert_true(spec_piece_is(part, "llama"));
    assert_false(spec_piece_is(part, "llama3"));
    assert_false(spec_piece_is(part, "llam"));
    assert_true(spec_piece_is(PIECE(""), ""));
}
