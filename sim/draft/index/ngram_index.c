/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/draft/index/ngram_index.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CAPACITY_AT_FIRST = 64 };

void spec_ngram_index_init(spec_ngram_index *index, int n)
{
    assert(n >= 1);
    *index = (spec_ngram_index){.n = n};
}

void spec_ngram_index_free(spec_ngram_index *index)
{
    free(index->token);
    free(index->number);
    free(index->before);
    free(index->after);
    free(index->first);
    free(index->last);
    free(index->mark);
    free(index->slot);
    *index = (spec_ngram_index){.n = index->n};
}

void spec_ngram_index_reset(spec_ngram_index *index)
{
    if (index->n_numbers > 0) memset(index->slot, -1, index->n_slots * sizeof *index->slot);
    index->n_tokens = index->n_numbers = 0;
}

/* Returns the slot of the n-gram at a position: the one that holds its number, or else a free
 * one. */
static size_t find(const spec_ngram_index *index, int position)
{
    const int *token = index->token + position;
    const size_t size = (size_t)index->n * sizeof *token;
    uint64_t hash = 0;
    for (int i = 0; i < index->n; i++)
        hash = (hash ^ (uint64_t)token[i]) * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t at = (size_t)(hash >> 32) & (index->n_slots - 1);;
         at = (at + 1) & (index->n_slots - 1)) {
        const int number = index->slot[at];
        if (number < 0 || memcmp(index->token + index->first[number], token, size) == 0) return at;
    }
}

static int grow(int **array, size_t n)
{
    int *larger = realloc(*array, n * sizeof *larger);
    if (larger != NULL) *array = larger;
    return larger != NULL ? GSL_SUCCESS : GSL_ENOMEM;
}

static int reserve(spec_ngram_index *index, int n, spec_error *error)
{
    int capacity = index->capacity > 0 ? index->capacity : CAPACITY_AT_FIRST;
    if (n <= index->capacity) return GSL_SUCCESS;
    while (capacity < n) capacity *= 2;
    const size_t size = (size_t)capacity;
    int *const slot = malloc(2 * size * sizeof *slot); /* at most half full */
    if (slot == NULL || grow(&index->token, size) != GSL_SUCCESS ||
        grow(&index->number, size) != GSL_SUCCESS || grow(&index->before, size) != GSL_SUCCESS ||
        grow(&index->after, size) != GSL_SUCCESS || grow(&index->first, size) != GSL_SUCCESS ||
        grow(&index->last, size) != GSL_SUCCESS || grow(&index->mark, size) != GSL_SUCCESS) {
        free(slot);
        return spec_fail(error, GSL_ENOMEM, "out of memory for an index of %d tokens", capacity);
    }
    free(index->slot);
    index->slot = slot;
    index->n_slots = 2 * size;
    index->capacity = capacity;
    memset(slot, -1, index->n_slots * sizeof *slot);
    for (int i = 0; i < index->n_numbers; i++) slot[find(index, index->first[i])] = i;
    return GSL_SUCCESS;
}

/* Adds the n-gram at a position whose tokens are all known. */
static void add(spec_ngram_index *index, int position)
{
    const size_t at = find(index, position);
    int number = index->slot[at];
    index->after[position] = -1;
    if (number < 0) {
        number = index->slot[at] = index->n_numbers++;
        index->first[number] = position;
        index->mark[number] = 0;
        index->before[position] = -1;
    } else {
        index->before[position] = index->last[number];
        index->after[index->last[number]] = position;
    }
    index->last[number] = position;
    index->number[position] = number;
}

int spec_ngram_index_follow(spec_ngram_index *index, const int *text, size_t n, spec_error *error)
{
    assert(n >= (size_t)index->n_tokens);
    if (n > SPEC_NGRAM_INDEX_MAX)
        return spec_fail(error, GSL_EINVAL, "a text of more than %d tokens is too long to index",
                         SPEC_NGRAM_INDEX_MAX);
    const int status = reserve(index, (int)n, error);
    if (status != GSL_SUCCESS) return status;
    while (index->n_tokens < (int)n) {
        const int last = index->n_tokens++;
        index->token[last] = text[last];
        if (index->n_tokens >= index->n) add(index, index->n_tokens - index->n);
    }
    return GSL_SUCCESS;
}
