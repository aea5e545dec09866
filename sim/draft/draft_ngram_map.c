/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ngram-map-k, ngram-map-k4v: llama.cpp's copy of at most m tokens after a key, the text's last n
 * tokens. Each key copies at most as many tokens as were accepted of its last draft, so after 0 it
 * never drafts again. The kind k4v counts up to four different m-grams after a key. It drafts if
 * the most frequent one occurred at least twice as often as the others together.
 *
 * As in llama.cpp, a table of 2^18 entries without chains holds one position per hash. Of positions
 * that enter together it holds the latest; of those that enter separately, the earliest. A key
 * whose entry is taken is found only among new positions. The n + m positions around the end of the
 * prompt are never seen. And k4v copies what followed the position in the table, whichever m-gram
 * won. llama.cpp keeps all this until a text is shorter than the one before; here each text starts
 * afresh. */
#include "sim/draft/drafter.h"

#include "sim/draft/index/ngram_index.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { N_MAX = 64, HITS_MAX = 16380, PLACES = 1 << 18, VALUES = 4 };

typedef struct {
    int at; /* where this m-gram came first, 0: unused */
    int count;
    int accepted; /* tokens accepted of its last draft; initially m */
} ngram_value;

typedef struct {
    int hits;
    int until; /* the last occurrence that is counted, or 0 */
    ngram_value value[VALUES];
} ngram_key;

typedef struct {
    int n, m, min_hits;
    bool counts_values;
    spec_ngram_index text; /* its marks are 1 + the index of a key */
    int *place;            /* (PLACES) position of an n-gram, by its hash; 0: none */
    int entered;           /* the last position that entered the table */
    int n_prompt;          /* tokens before the last one at the first draft; -1: no draft yet */
    ngram_key *key;        /* (capacity) */
    int n_keys, capacity;
    ngram_value *drafted; /* the value that the last draft used, or NULL */
} ngram_map;

static void close(void *state)
{
    ngram_map *s = state;
    spec_ngram_index_free(&s->text);
    free(s->place);
    free(s->key);
    free(s);
}

static int init(spec_drafter *drafter, spec_settings *settings, bool counts_values,
                spec_error *error)
{
    int status = GSL_SUCCESS;
    ngram_map *s = drafter->state = calloc(1, sizeof *s);
    if (s == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    SPEC_TRY(spec_settings_int(&s->n, settings, "n", 12, 1, N_MAX, error));
    SPEC_TRY(spec_settings_int(&s->m, settings, "m", 48, 1, SPEC_K_MAX, error));
    s->counts_values = counts_values;
    if (counts_values)
        SPEC_TRY(spec_settings_int(&s->min_hits, settings, "min_hits", 1, 1, HITS_MAX, error));
    spec_ngram_index_init(&s->text, s->n);
    s->n_prompt = -1;
    s->place = calloc(PLACES, sizeof *s->place);
    if (s->place == NULL) status = spec_fail(error, GSL_ENOMEM, "out of memory");
done:
    return status;
}

static int init_k(spec_drafter *drafter, spec_settings *settings, spec_error *error)
{
    return init(drafter, settings, false, error);
}

static int init_k4v(spec_drafter *drafter, spec_settings *settings, spec_error *error)
{
    return init(drafter, settings, true, error);
}

static int *place_of(const ngram_map *s, int position)
{
    uint32_t hash = 0;
    for (int i = 0; i < s->n; i++)
        hash = hash * UINT32_C(2654435761) + (uint32_t)s->text.token[position + i];
    return &s->place[hash % PLACES];
}

static int reset(spec_drafter *drafter, bool all, spec_error *error)
{
    ngram_map *s = drafter->state;
    (void)all, (void)error;
    for (int i = 1; i <= s->entered; i++) *place_of(s, i) = 0;
    spec_ngram_index_reset(&s->text);
    s->entered = s->n_keys = 0;
    s->n_prompt = -1;
    s->drafted = NULL;
    return GSL_SUCCESS;
}

/* Returns the latest n-gram with this number among the positions first..last that are not in the
 * table yet. */
static int latest(const ngram_map *s, int number, int first, int last)
{
    const int low = first > s->entered ? first : s->entered + 1;
    for (int i = last; i >= low; i--)
        if (s->text.number[i] == number) return i;
    return 0;
}

static void enter(ngram_map *s, int first, int last)
{
    const int low = first > s->entered ? first : s->entered + 1;
    for (int i = last; i >= low; i--) {
        int *place = place_of(s, i);
        if (*place == 0) *place = i;
    }
}

/* Returns an earlier position of the text's last n tokens, or 0; `last` is the last position with m
 * tokens after it. */
static int match(ngram_map *s, int key, int last)
{
    const int in_prompt = s->n_prompt - s->n - s->m - 1, number = s->text.number[key];
    int at = *place_of(s, key);
    if (at >= last || s->text.number[at] != number) at = 0;
    if (at == 0) at = latest(s, number, 1, in_prompt);
    if (at == 0) at = latest(s, number, s->n_prompt + 1, last);
    enter(s, 1, in_prompt);
    enter(s, s->n_prompt + 1, last);
    if (last > s->entered) s->entered = last;
    return at;
}

static ngram_key *key_of(ngram_map *s, int number, spec_error *error)
{
    if (s->text.mark[number] > 0) return &s->key[s->text.mark[number] - 1];
    if (s->n_keys == s->capacity) {
        const int capacity = s->capacity > 0 ? 2 * s->capacity : 16;
        ngram_key *key = realloc(s->key, (size_t)capacity * sizeof *key);
        if (key == NULL) {
            spec_fail(error, GSL_ENOMEM, "out of memory for %d keys", capacity);
            return NULL;
        }
        s->key = key;
        s->capacity = capacity;
    }
    ngram_key *key = &s->key[s->n_keys++];
    *key = (ngram_key){0};
    for (int i = 0; i < VALUES; i++) key->value[i].accepted = s->m;
    s->text.mark[number] = s->n_keys;
    return key;
}

/* Counts the m-grams after the key's occurrences, up to `at`, beginning with the last one that was
 * counted, which counts again. */
static void count_values(const ngram_map *s, ngram_key *key, int at)
{
    const int *token = s->text.token;
    int i = key->until > 0 ? key->until : s->text.first[s->text.number[at]];
    for (; i >= 0 && i <= at; i = s->text.after[i]) {
        int v = 0;
        while (v < VALUES && key->value[v].at > 0 &&
               memcmp(token + i + s->n, token + key->value[v].at, (size_t)s->m * sizeof *token) !=
                   0)
            v++;
        if (v == VALUES) continue;
        if (key->value[v].at == 0) key->value[v] = (ngram_value){.at = i + s->n, .accepted = s->m};
        if (key->value[v].count < HITS_MAX) key->value[v].count++;
    }
    key->until = at;
}

/* Returns the most frequent m-gram, or NULL if the others together are too frequent. */
static ngram_value *common_value(ngram_key *key)
{
    ngram_value *best = &key->value[0];
    int others = 0;
    for (int v = 1; v < VALUES; v++)
        if (key->value[v].count > best->count) best = &key->value[v];
    for (int v = 0; v < VALUES; v++)
        if (&key->value[v] != best) others += key->value[v].count;
    return best->count >= 2 * others ? best : NULL;
}

static int draft(spec_draft *ret_draft, spec_drafter *drafter, const int *context, size_t n,
                 const spec_policy *policy, spec_chance *chance, spec_error *error)
{
    ngram_map *s = drafter->state;
    (void)chance;
    s->drafted = NULL;
    const int status = spec_ngram_index_follow(&s->text, context, n, error);
    const int earlier = (int)n - 1; /* tokens before the last one */
    if (status != GSL_SUCCESS) return status;
    if (s->n_prompt < 0) s->n_prompt = earlier;
    if (earlier < 2 * s->n + s->m) return status;
    const int last = earlier + 1 - s->n, at = match(s, last, earlier - s->n - s->m - 1);
    if (at == 0) return status;
    ngram_key *key = key_of(s, s->text.number[at], error);
    if (key == NULL) return GSL_ENOMEM;
    if (key->hits < HITS_MAX) key->hits++;
    s->drafted = &key->value[0];
    if (s->counts_values) {
        s->drafted = NULL;
        if (key->hits < s->min_hits) return status;
        count_values(s, key, at);
        s->drafted = common_value(key);
        if (s->drafted == NULL) return status;
    }
    for (int i = at + s->n; i < at + s->n + s->drafted->accepted; i++) {
        if (!spec_policy_go_on(policy, ret_draft, NULL)) break;
        spec_draft_append(ret_draft, context[i], ret_draft->n_nodes - 1, NULL, false);
    }
    return status;
}

static void observe(spec_drafter *drafter, const spec_draft *draft, const double *const *target_row,
                    const spec_round *round)
{
    ngram_map *s = drafter->state;
    (void)target_row;
    if (s->drafted != NULL && draft->n_nodes > 0) s->drafted->accepted = round->n_accepted;
}

const spec_drafter_kind spec_draft_ngram_map_k = {
    .name = "ngram-map-k",
    .usage = "ngram-map-k?n=12&m=48",
    .summary = "what followed the last n tokens before, up to m tokens and no more than were "
               "accepted there last time, as in llama.cpp (one-hot, no model)",
    .reference = "",
    .init = init_k,
    .free = close,
    .reset = reset,
    .observe = observe,
    .draft = draft,
};

const spec_drafter_kind spec_draft_ngram_map_k4v = {
    .name = "ngram-map-k4v",
    .usage = "ngram-map-k4v?n=12&m=48&min_hits=1",
    .summary = "ngram-map-k, but drafts only if one of up to four continuations of m tokens is "
               "twice as frequent as the others together, as in llama.cpp (one-hot, no model)",
    .reference = "",
    .init = init_k4v,
    .free = close,
    .reset = reset,
    .observe = observe,
    .draft = draft,
};
