/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/tokenizer/piece.h"

#include <string.h>

bool spec_piece_is(spec_piece piece, const char *text)
{
    return piece.length == strlen(text) && memcmp(piece.bytes, text, piece.length) == 0;
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int spec_piece_byte(spec_piece piece)
{
    if (piece.length != 6 || memcmp(piece.bytes, "<0x", 3) != 0 || piece.bytes[5] != '>') return -1;
    const int high = digit(piece.bytes[3]), low = digit(piece.bytes[4]);
    return high < 0 || low < 0 ? -1 : 16 * high + low;
}

int spec_piece_order(spec_piece a, spec_piece b)
{
    const int order = memcmp(a.bytes, b.bytes, a.length < b.length ? a.length : b.length);
    return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}
