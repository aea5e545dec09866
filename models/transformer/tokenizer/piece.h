/* SPDX-License-Identifier: GPL-3.0-or-later */
/* piece: a string of bytes in a file or a vocabulary, given by its start and length.
 * It borrows the bytes, and there is no NUL at the end. */
#ifndef SPECLAB_PIECE_H
#define SPECLAB_PIECE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    const char *bytes;
    size_t length;
} spec_piece;

/* _is returns whether the piece is this text; _byte returns the byte that it names, as in "<0x0A>",
 * or -1. */
bool spec_piece_is(spec_piece piece, const char *text);
int spec_piece_byte(spec_piece piece);

/* Returns < 0, 0 or > 0 if a sorts before, with or after b: by unsigned bytes, then length. */
int spec_piece_order(spec_piece a, spec_piece b);

#endif
