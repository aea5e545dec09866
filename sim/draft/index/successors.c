/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/draft/index/successors.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CAPACITY_AT_FIRST = 256, CAPACITY_MAX = 1 << 28 };

void spec_successors_free(spec_successors *counts)
{
    free(counts->ngram);
    free(counts->successor);
    free(counts->ngram_slot);
    free(counts->successor_slot);
    *counts = (spec_successors){0};
}

void spec_successors_reset(spec_successors *counts)
{
    if (counts->n_ngrams > 0) {
        memset(counts->ngram_slot, -1, counts->n_slots * sizeof(int));
        memset(counts->successor_slot, -1, counts->n_slots * sizeof(int));
    }
    counts->n_ngrams = counts->n_successors = 0;
}

static uint64_t mix(uint64_t hash, int token)
{
    return (hash ^ (uint64_t)token) * UINT64_C(0x9e3779b97f4a7c15);
}

static size_t ngram_slot(const spec_successors *counts, const int *ngram, int n)
{
    const size_t last = counts->n_slots - 1;
    uint64_t hash = (uint64_t)n;
    for (int i = 0; i < n; i++) hash = mix(hash, ngram[i]);
    for (size_t at = (size_t)(hash >> 32) & last;; at = (at + 1) & last) {
        const int found = counts->ngram_slot[at];
        if (found < 0 || (counts->ngram[found].n == n && memcmp(counts->ngram[found].token, ngram,
                                                                (size_t)n * sizeof *ngram) == 0))
            return at;
    }
}

static size_t successor_slot(const spec_successors *counts, int ngram, int token)
{
    const size_t last = counts->n_slots - 1;
    const uint64_t hash = mix(mix(1, ngram), token);
    for (size_t at = (size_t)(hash >> 32) & last;; at = (at + 1) & last) {
        const int found = counts->successor_slot[at];
        if (found < 0 ||
            (counts->successor[found].ngram == ngram && counts->successor[found].token == token))
            return at;
    }
}

int spec_successors_reserve(spec_successors *counts, int more, spec_error *error)
{
    assert(more >= 0);
    if (more <= counts->capacity - counts->n_successors) return GSL_SUCCESS;
    if (more > CAPACITY_MAX - counts->n_successors)
        return spec_fail(error, GSL_ENOMEM, "texts of more than %d tokens are too long to count",
                         CAPACITY_MAX / SPEC_SUCCESSORS_ORDER);
    int capacity = counts->capacity > 0 ? counts->capacity : CAPACITY_AT_FIRST;
    while (capacity - counts->n_successors < more) capacity *= 2;
    const size_t n = (size_t)capacity, n_slots = 2 * n; /* at most half full */
    spec_successors_ngram *ngram = realloc(counts->ngram, n * sizeof *ngram);
    if (ngram != NULL) counts->ngram = ngram;
    spec_successor *successor = realloc(counts->successor, n * sizeof *successor);
    if (successor != NULL) counts->successor = successor;
    int *slot[2] = {malloc(n_slots * sizeof(int)), malloc(n_slots * sizeof(int))};
    if (ngram == NULL || successor == NULL || slot[0] == NULL || slot[1] == NULL) {
        free(slot[0]);
        free(slot[1]);
        return spec_fail(error, GSL_ENOMEM, "out of memory for %d successors", capacity);
    }
    free(counts->ngram_slot);
    free(counts->successor_slot);
    counts->ngram_slot = slot[0];
    counts->successor_slot = slot[1];
    counts->n_slots = n_slots;
    counts->capacity = capacity;
    memset(slot[0], -1, n_slots * sizeof(int));
    memset(slot[1], -1, n_slots * sizeof(int));
    for (int i = 0; i < counts->n_ngrams; i++)
        slot[0][ngram_slot(counts, counts->ngram[i].token, counts->ngram[i].n)] = i;
    for (int i = 0; i < counts->n_successors; i++)
        slot[1][successor_slot(counts, counts->successor[i].ngram, counts->successor[i].token)] = i;
    return GSL_SUCCESS;
}

void spec_successors_add(spec_successors *counts, const int *ngram, int n, int token, int count)
{
    assert(n >= 1 && n <= SPEC_SUCCESSORS_ORDER && counts->n_successors < counts->capacity);
    int *slot = &counts->ngram_slot[ngram_slot(counts, ngram, n)];
    if (*slot < 0) {
        *slot = counts->n_ngrams++;
        counts->ngram[*slot] = (spec_successors_ngram){.n = n, .best = -1, .head = -1};
        memcpy(counts->ngram[*slot].token, ngram, (size_t)n * sizeof *ngram);
    }
    const int at = *slot;
    spec_successors_ngram *of = &counts->ngram[at];
    slot = &counts->successor_slot[successor_slot(counts, at, token)];
    if (*slot < 0) {
        *slot = counts->n_successors++;
        counts->successor[*slot] = (spec_successor){.ngram = at, .token = token, .next = of->head};
        of->head = *slot;
    }
    counts->successor[*slot].count += count;
    of->sum += count;
    if (of->best < 0 || counts->successor[*slot].count > counts->successor[of->best].count)
        of->best = *slot;
}

int spec_successors_find(const spec_successors *counts, const int *ngram, int n)
{
    return counts->n_slots > 0 ? counts->ngram_slot[ngram_slot(counts, ngram, n)] : -1;
}

int spec_successors_count(const spec_successors *counts, int ngram, int token)
{
    const int found = counts->successor_slot[successor_slot(counts, ngram, token)];
    return found >= 0 ? counts->successor[found].count : 0;
}
