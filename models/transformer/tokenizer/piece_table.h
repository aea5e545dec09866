/* piece_table: which token a string of bytes is.
 * A hash table over strings that somebody else keeps. The hash is a sum over the bytes, so that those of all prefixes
 * and suffixes of a string come in one pass over it. */
#ifndef SPECLAB_PIECE_TABLE_H
#define SPECLAB_PIECE_TABLE_H

#include "models/transformer/tokenizer/tokenizer.h"

#include <stdint.h>

/* hash(s) = sum of (s[i] + 1) base^i, modulo 2^64. The suffix from i on has (hash - hash of the prefix) inverse^i. */
#define SPEC_PIECE_TABLE_BASE UINT64_C(0x9E3779B97F4A7C15)
#define SPEC_PIECE_TABLE_INVERSE UINT64_C(0xF1DE83E19937733D)

typedef struct {
    uint64_t hash;
    spec_piece piece; /* bytes NULL: the slot is free */
    int symbol;
} spec_piece_slot;

typedef struct {
    spec_piece_slot *slot;
    size_t n_slots, n; /* a power of two; slots taken */
} spec_piece_table;

int spec_piece_table_init(spec_piece_table *table, spec_error *error);
void spec_piece_table_free(spec_piece_table *table); /* a zeroed one is fine */

uint64_t spec_piece_table_hash(spec_piece piece);

/* The symbol of a string, or -1; the second form where its hash is known. */
int spec_piece_table_find(const spec_piece_table *table, spec_piece piece);
int spec_piece_table_find_hashed(const spec_piece_table *table, spec_piece piece, uint64_t hash);

/* A string that the table does not hold yet; its bytes must stay where they are. */
int spec_piece_table_add(spec_piece_table *table, spec_piece piece, int symbol, spec_error *error);

#endif
