/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/tokenizer/token_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 1024 };

static int out_of_memory(spec_error *error)
{
    return spec_fail(error, GSL_ENOMEM, "out of memory for the tokenizer");
}

int spec_token_table_init(spec_token_table *table, spec_error *error)
{
    *table = (spec_token_table){.slot = calloc(SLOTS, sizeof *table->slot), .n_slots = SLOTS};
    return table->slot == NULL ? out_of_memory(error) : GSL_SUCCESS;
}

void spec_token_table_free(spec_token_table *table)
{
    free(table->slot);
    *table = (spec_token_table){0};
}

uint64_t spec_token_table_hash(spec_piece piece)
{
    uint64_t hash = 0, power = 1;
    for (size_t i = 0; i < piece.length; i++, power *= SPEC_TOKEN_TABLE_BASE) {
        hash += ((uint64_t)(unsigned char)piece.bytes[i] + 1) * power;
    }
    return hash;
}

/* Returns the slot of a string, or the free slot for it. */
static spec_piece_slot *slot_of(spec_piece_slot *slot, size_t n_slots, spec_piece piece,
                                uint64_t hash)
{
    uint64_t mixed = hash ^ hash >> 29;
    mixed *= UINT64_C(0xD6E8FEB86659FD93);
    for (size_t i = (size_t)(mixed >> 32) & (n_slots - 1);; i = (i + 1) & (n_slots - 1)) {
        const spec_piece *held = &slot[i].piece;
        if (held->bytes == NULL) return &slot[i];
        if (slot[i].hash == hash && held->length == piece.length &&
            memcmp(held->bytes, piece.bytes, piece.length) == 0) {
            return &slot[i];
        }
    }
}

int spec_token_table_find_hashed(const spec_token_table *table, spec_piece piece, uint64_t hash)
{
    const spec_piece_slot *slot = slot_of(table->slot, table->n_slots, piece, hash);
    return slot->piece.bytes == NULL ? -1 : slot->symbol;
}

int spec_token_table_find(const spec_token_table *table, spec_piece piece)
{
    return spec_token_table_find_hashed(table, piece, spec_token_table_hash(piece));
}

static int grow(spec_token_table *table, spec_error *error)
{
    const size_t n_slots = 2 * table->n_slots;
    spec_piece_slot *slot = calloc(n_slots, sizeof *slot);
    if (slot == NULL) return out_of_memory(error);
    for (size_t i = 0; i < table->n_slots; i++) {
        const spec_piece_slot *from = &table->slot[i];
        if (from->piece.bytes != NULL) *slot_of(slot, n_slots, from->piece, from->hash) = *from;
    }
    free(table->slot);
    table->slot = slot;
    table->n_slots = n_slots;
    return GSL_SUCCESS;
}

int spec_token_table_add(spec_token_table *table, spec_piece piece, int symbol, spec_error *error)
{
    int status = GSL_SUCCESS;
    if (2 * (table->n + 1) > table->n_slots) SPEC_TRY(grow(table, error));
    const uint64_t hash = spec_token_table_hash(piece);
    spec_piece_slot *slot = slot_of(table->slot, table->n_slots, piece, hash);
    assert(slot->piece.bytes == NULL);
    *slot = (spec_piece_slot){hash, piece, symbol};
    table->n++;
done:
    return status;
}
