/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/ngram/kneser_ney.h"

#include "models/ngram/radix.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 64 };

/* The distinct k-grams of one order, ascending: (n, words + 1), key and count. */
typedef struct {
    uint64_t *record;
    size_t n;
    int words, bits;
} kgrams;

static const uint64_t *record_of(const kgrams *grams, size_t i)
{
    return grams->record + i * ((size_t)grams->words + 1);
}

static spec_ngram_key key_at(const uint64_t *word, int words)
{
    return (spec_ngram_key){{word[0], words == 2 ? word[1] : 0}};
}

/* Returns all tokens but the last. */
static spec_ngram_key key_context(spec_ngram_key key, int bits)
{
    key.word[0] = key.word[0] >> bits | key.word[1] << (64 - bits);
    key.word[1] >>= bits;
    return key;
}

static uint32_t key_token(spec_ngram_key key, int bits)
{
    return (uint32_t)(key.word[0] & (((uint64_t)1 << bits) - 1));
}

static bool same_key(spec_ngram_key a, spec_ngram_key b)
{
    return a.word[0] == b.word[0] && a.word[1] == b.word[1];
}

static double discount_of(const kgrams *grams)
{
    size_t once = 0, twice = 0;
    for (size_t i = 0; i < grams->n; i++) {
        const uint64_t count = record_of(grams, i)[grams->words];
        once += count == 1;
        twice += count == 2;
    }
    return once == 0 || twice == 0 ? 0.5 : (double)once / ((double)once + 2.0 * (double)twice);
}

/* Derives the k-grams at the ends of the (k+1)-grams. The count of each is the number of different
 * (k+1)-grams that end with it. The opening of each text is added once. */
static int derive_lower(kgrams *grams, int k, const spec_ngram_keys *opening, spec_error *error)
{
    int status = GSL_SUCCESS;
    const size_t words = (size_t)grams->words, n_all = grams->n + opening->n;
    uint64_t *lower = NULL, *workspace = NULL, *key = malloc((n_all + 1) * words * sizeof *key);
    if (key == NULL) SPEC_TRY(spec_ngram_counts_no_memory(error));
    for (size_t i = 0; i < grams->n; i++) {
        const spec_ngram_key tail =
            spec_ngram_key_tail(key_at(record_of(grams, i), grams->words), k, grams->bits);
        memcpy(key + i * words, tail.word, words * sizeof *key);
    }
    if (opening->n > 0)
        memcpy(key + grams->n * words, opening->word, opening->n * words * sizeof *key);
    free(grams->record);
    grams->record = NULL;
    workspace = malloc((n_all + 1) * words * sizeof *workspace);
    if (workspace == NULL) SPEC_TRY(spec_ngram_counts_no_memory(error));
    uint64_t *sorted = spec_radix_sort(key, workspace, n_all, grams->words, grams->words);
    if (sorted == workspace) workspace = key;
    key = sorted;
    free(workspace);
    workspace = NULL;

    size_t n = 0;
    for (size_t i = 0; i < n_all; i++) {
        n += i == 0 || memcmp(key + i * words, key + (i - 1) * words, words * sizeof *key) != 0;
    }
    lower = malloc((n + 1) * (words + 1) * sizeof *lower);
    if (lower == NULL) SPEC_TRY(spec_ngram_counts_no_memory(error));
    for (size_t i = 0, at = 0; i < n_all; at++) {
        const size_t begin = i;
        do i++;
        while (i < n_all && memcmp(key + i * words, key + begin * words, words * sizeof *key) == 0);
        memcpy(lower + at * (words + 1), key + begin * words, words * sizeof *key);
        lower[at * (words + 1) + words] = i - begin;
    }
    grams->record = lower;
    grams->n = n;
done:
    free(key);
    free(workspace);
    return status;
}

/* Appends the contexts of the k-grams, and their successors; stores the keys of the contexts in
 * `keys`. */
static int append_contexts(spec_kneser_ney *law, spec_ngram_keys *keys, const kgrams *grams,
                           spec_error *error)
{
    const size_t words = (size_t)grams->words;
    size_t n = 0;
    spec_ngram_key before = {{0, 0}};
    for (size_t i = 0; i < grams->n; i++) {
        const spec_ngram_key here =
            key_context(key_at(record_of(grams, i), grams->words), grams->bits);
        n += i == 0 || !same_key(here, before);
        before = here;
    }
    if (n >= UINT32_MAX - law->n_contexts) return spec_ngram_counts_no_memory(error);
    spec_successor *successor =
        realloc(law->successor, (law->n_successors + grams->n + 1) * sizeof *successor);
    if (successor == NULL) return spec_ngram_counts_no_memory(error);
    law->successor = successor;
    spec_ngram_context *context = realloc(law->context, (law->n_contexts + n) * sizeof *context);
    if (context == NULL) return spec_ngram_counts_no_memory(error);
    law->context = context;
    keys->word = malloc((n + 1) * words * sizeof *keys->word);
    if (keys->word == NULL) return spec_ngram_counts_no_memory(error);

    successor += law->n_successors;
    context += law->n_contexts;
    for (size_t i = 0; i < grams->n;) {
        const spec_ngram_key here =
            key_context(key_at(record_of(grams, i), grams->words), grams->bits);
        const size_t begin = i;
        uint64_t total = 0;
        for (; i < grams->n; i++) {
            const spec_ngram_key key = key_at(record_of(grams, i), grams->words);
            if (!same_key(here, key_context(key, grams->bits))) break;
            const uint64_t count = record_of(grams, i)[words];
            successor[i] = (spec_successor){key_token(key, grams->bits), (uint32_t)count};
            total += count;
        }
        context[keys->n] =
            (spec_ngram_context){law->n_successors + begin, (uint32_t)(i - begin), (uint32_t)total};
        memcpy(keys->word + keys->n * words, here.word, words * sizeof *keys->word);
        keys->n++;
    }
    law->n_contexts += n;
    law->n_successors += grams->n;
    return GSL_SUCCESS;
}

static int build_unigram(spec_kneser_ney *law, const kgrams *grams, spec_error *error)
{
    law->unigram = malloc((size_t)law->vocab * sizeof *law->unigram);
    if (law->unigram == NULL) return spec_ngram_counts_no_memory(error);
    const double uniform = 1.0 / (double)law->vocab;
    double total = 0.0;
    for (size_t i = 0; i < grams->n; i++) total += (double)record_of(grams, i)[grams->words];
    const double floor =
        total > 0.0 ? law->discount[1] * (double)grams->n / total * uniform : uniform;
    for (int w = 0; w < law->vocab; w++) law->unigram[w] = floor;
    for (size_t i = 0; i < grams->n; i++) {
        const uint64_t *record = record_of(grams, i);
        law->unigram[record[0]] += ((double)record[grams->words] - law->discount[1]) / total;
    }
    return GSL_SUCCESS;
}

static inline size_t hash_of(uint32_t parent, uint32_t token)
{
    uint64_t hash = (uint64_t)parent << 32 | token;
    hash ^= hash >> 29;
    hash *= 0xD6E8FEB86659FD93u;
    return (size_t)(hash ^ hash >> 32);
}

/* Returns the slot of the link from a context to the context with one more token before it, or the
 * free slot for it. */
static inline spec_context_link *link_of(const spec_kneser_ney *law, uint32_t parent,
                                         uint32_t token)
{
    const size_t mask = law->n_links - 1;
    for (size_t i = hash_of(parent, token) & mask;; i = (i + 1) & mask) {
        spec_context_link *link = law->link + i;
        if (link->context == 0 || (link->parent == parent && link->token == token)) return link;
    }
}

/* Links each context of m tokens to the context without its oldest token. The links of a batch are
 * processed step by step together, so that their table slots are fetched from memory at the same
 * time. */
static void link_contexts(spec_kneser_ney *law, const spec_ngram_keys *keys, int m, size_t first,
                          int words, int bits)
{
    for (size_t begin = 0; begin < keys->n; begin += BATCH) {
        const size_t n = keys->n - begin < BATCH ? keys->n - begin : BATCH;
        spec_ngram_key key[BATCH];
        uint32_t parent[BATCH] = {0};
        for (size_t i = 0; i < n; i++)
            key[i] = key_at(keys->word + (begin + i) * (size_t)words, words);
        for (int step = 1; step <= m; step++) {
            for (size_t i = 0; i < n; i++) {
                __builtin_prefetch(
                    law->link + (hash_of(parent[i], key_token(key[i], bits)) & (law->n_links - 1)),
                    1);
            }
            for (size_t i = 0; i < n; i++) {
                const uint32_t token = key_token(key[i], bits);
                spec_context_link *link = link_of(law, parent[i], token);
                if (step == m)
                    *link = (spec_context_link){parent[i], token, (uint32_t)(first + begin + i)};
                parent[i] = link->context;
                assert(parent[i] != 0); /* a (k+1)-gram's last k tokens are a k-gram */
                key[i] = key_context(key[i], bits);
            }
        }
    }
}

int spec_kneser_ney_init(spec_kneser_ney *law, spec_ngram_counts *counts, int vocab,
                         spec_error *error)
{
    int status = GSL_SUCCESS;
    const int order = counts->order;
    kgrams grams = {.words = counts->words, .bits = counts->bits};
    spec_ngram_keys keys[SPEC_NGRAM_ORDER_MAX] = {{0}}; /* [m]: the contexts of m tokens */
    size_t first[SPEC_NGRAM_ORDER_MAX] = {0};
    *law = (spec_kneser_ney){.order = order, .vocab = vocab, .n_contexts = 1};
    law->context = calloc(1, sizeof *law->context);
    if (law->context == NULL) SPEC_TRY(spec_ngram_counts_no_memory(error));

    SPEC_TRY(spec_ngram_counts_sort(&grams.record, &grams.n, counts, error));
    for (int k = order; k >= 1; k--) {
        if (k < order) SPEC_TRY(derive_lower(&grams, k, &counts->opening[k], error));
        law->discount[k] = discount_of(&grams);
        if (k == 1) break;
        first[k - 1] = law->n_contexts;
        SPEC_TRY(append_contexts(law, &keys[k - 1], &grams, error));
    }
    SPEC_TRY(build_unigram(law, &grams, error));

    for (law->n_links = 16; law->n_links < 2 * law->n_contexts;) law->n_links *= 2;
    law->link = calloc(law->n_links, sizeof *law->link);
    if (law->link == NULL) SPEC_TRY(spec_ngram_counts_no_memory(error));
    for (int m = 1; m < order; m++)
        link_contexts(law, &keys[m], m, first[m], grams.words, grams.bits);
done:
    free(grams.record);
    for (int m = 0; m < SPEC_NGRAM_ORDER_MAX; m++) free(keys[m].word);
    if (status != GSL_SUCCESS) spec_kneser_ney_free(law);
    return status;
}

void spec_kneser_ney_free(spec_kneser_ney *law)
{
    free(law->unigram);
    free(law->context);
    free(law->successor);
    free(law->link);
    *law = (spec_kneser_ney){0};
}

const double *spec_kneser_ney_row(const spec_kneser_ney *law, const int *context, size_t n,
                                  double *scratch)
{
    const spec_ngram_context
        *found[SPEC_NGRAM_ORDER_MAX]; /* [m]: the last m tokens of the context */
    int depth = 0;
    uint32_t at = 0;
    while (depth < law->order - 1 && (size_t)depth < n) {
        const int token = context[n - 1 - (size_t)depth];
        assert(token >= 0 && token < law->vocab);
        at = link_of(law, at, (uint32_t)token)->context;
        if (at == 0) break;
        found[++depth] = law->context + at;
    }
    if (depth == 0) return law->unigram;

    /* This is the recursion, unrolled. First the unigram row is scaled by the back-off mass of
     * every order. Then each order adds its part, scaled by the back-off mass of the higher orders.
     * mass[m] becomes the weight of one count of order m + 1. */
    double mass[SPEC_NGRAM_ORDER_MAX];
    mass[depth] = 1.0;
    for (int m = depth; m >= 1; m--) {
        mass[m] /= (double)found[m]->total;
        mass[m - 1] = mass[m] * (law->discount[m + 1] * (double)found[m]->n);
    }
    const double base = mass[0];
    for (int w = 0; w < law->vocab; w++) scratch[w] = base * law->unigram[w];
    for (int m = 1; m <= depth; m++) {
        const double scale = mass[m], discount = law->discount[m + 1];
        const spec_successor *successor = law->successor + found[m]->first;
        for (uint32_t i = 0; i < found[m]->n; i++) {
            scratch[successor[i].token] += scale * ((double)successor[i].count - discount);
        }
    }
    return scratch;
}
