/* SPDX-License-Identifier: GPL-3.0-or-later */
/* token_table: a hash table from byte strings to tokens.
 * The caller keeps the strings. The hash is a sum over the bytes, so that one pass over a string
 * yields the hashes of all its prefixes and suffixes. */
#ifndef SPECLAB_TOKEN_TABLE_H
#define SPECLAB_TOKEN_TABLE_H

#include "models/transformer/tokenizer/piece.h"
#include "speclab/status.h"

#include <stdint.h>

/* hash(s) = sum of (s[i] + 1) base^i, modulo 2^64. The suffix that begins at i has the hash
 * (hash(s) - hash of the prefix before i) inverse^i. */
#define SPEC_TOKEN_TABLE_BASE UINT64_C(0x9E3779B97F4A7C15)
#define SPEC_TOKEN_TABLE_INVERSE UINT64_C(0xF1DE83E19937733D)

typedef struct {
    uint64_t hash;
    spec_piece piece; /* bytes NULL: the slot is free */
    int symbol;
} spec_piece_slot;

typedef struct {
    spec_piece_slot *slot;
    size_t n_slots, n; /* a power of two; slots taken */
} spec_token_table;

int spec_token_table_init(spec_token_table *table, spec_error *error);
void spec_token_table_free(spec_token_table *table); /* may be zeroed */

uint64_t spec_token_table_hash(spec_piece piece);

/* Return the symbol of a string, or -1; the second function takes its hash. */
int spec_token_table_find(const spec_token_table *table, spec_piece piece);
int spec_token_table_find_hashed(const spec_token_table *table, spec_piece piece, uint64_t hash);

/* Adds a string that is not in the table; its bytes must not move. */
int spec_token_table_add(spec_token_table *table, spec_piece piece, int symbol, spec_error *error);

#endif
