/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/token_partners.h"

#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *text;
    size_t length;
    int token;
} entry;

/* The texts of a vocabulary, in one block; `entry` is sorted by text, then by token. */
typedef struct {
    int n;
    char *bytes;
    size_t *at; /* (n+1) offset of each token's text in the block */
    entry *entry;
} texts;

static void free_texts(texts *t)
{
    free(t->bytes);
    free(t->at);
    free(t->entry);
}

static int compare_texts(const entry *a, const entry *b)
{
    const size_t n = a->length < b->length ? a->length : b->length;
    const int order = memcmp(a->text, b->text, n);
    return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

static int compare(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    const int order = compare_texts(x, y);
    return order != 0 ? order : (x->token > y->token) - (x->token < y->token);
}

static int read_texts(texts *t, const spec_model *model, spec_error *error)
{
    size_t size = 1 << 16, used = 0;
    *t = (texts){.n = model->vocab};
    t->bytes = malloc(size);
    t->at = malloc(((size_t)t->n + 1) * sizeof *t->at);
    t->entry = malloc((size_t)t->n * sizeof *t->entry);
    if (t->bytes == NULL || t->at == NULL || t->entry == NULL) return spec_no_memory(error);
    for (int i = 0; i < t->n; i++) {
        size_t length;
        while ((length = model->kind->token_text(model, i, t->bytes + used, size - used)) >=
               size - used) {
            size = 2 * (used + length + 1);
            char *larger = realloc(t->bytes, size);
            if (larger == NULL) return spec_no_memory(error);
            t->bytes = larger;
        }
        t->at[i] = used;
        used += length;
    }
    t->at[t->n] = used;
    for (int i = 0; i < t->n; i++)
        t->entry[i] = (entry){t->bytes + t->at[i], t->at[i + 1] - t->at[i], i};
    qsort(t->entry, (size_t)t->n, sizeof *t->entry, compare);
    return GSL_SUCCESS;
}

/* Returns the lowest token of a text, or -1. */
static int find(const texts *t, const char *text, size_t length)
{
    const entry wanted = {text, length, 0};
    int low = 0, high = t->n;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (compare_texts(&t->entry[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    const bool is_there = length > 0 && low < t->n && compare_texts(&t->entry[low], &wanted) == 0;
    return is_there ? t->entry[low].token : -1;
}

static bool spells(const texts *t, const int *token, size_t n, const char *text, size_t length)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t from = t->at[token[i]], size = t->at[token[i] + 1] - from;
        if (size > length - at || memcmp(t->bytes + from, text + at, size) != 0) return false;
        at += size;
    }
    return at == length;
}

/* Writes the draft's tokens for a text, at most one per byte. Skips bytes without a token. */
static size_t spell(int *ret, const texts *ours, const spec_model *draft, const char *text,
                    size_t length)
{
    size_t n = draft->kind->tokenize(draft, text, length, ret, length);
    if (n <= length && spells(ours, ret, n, text, length)) return n;
    n = 0;
    for (size_t at = 0; at < length;) {
        int token = -1;
        size_t size = length - at;
        while (size > 0 && (token = find(ours, text + at, size)) < 0) size--;
        if (token >= 0) ret[n++] = token;
        at += size > 0 ? size : 1;
    }
    return n;
}

void spec_token_partners_free(spec_token_partners *partners)
{
    free(partners->of_target);
    free(partners->of_draft);
    free(partners->start);
    free(partners->piece);
    *partners = (spec_token_partners){0};
}

static void pair(spec_token_partners *p, int target, int draft)
{
    p->of_target[target] = draft;
    p->of_draft[draft] = target;
}

/* Returns the first token that ends a text and has no partner yet, or -1. */
static int lone_end(const spec_text_ends *ends, const int *partner)
{
    for (int i = 0; i < ends->n; i++)
        if (partner[ends->token[i]] < 0) return ends->token[i];
    return -1;
}

/* Pairs tokens with the same text, end tokens only with end tokens; then pairs the first end tokens
 * left over on each side, whatever their texts are. */
static void pair_all(spec_token_partners *p, const texts *theirs, const texts *ours,
                     const spec_model *target, const spec_model *draft)
{
    for (int i = 0; i < theirs->n; i++) p->of_target[i] = -1;
    for (int i = 0; i < ours->n; i++) p->of_draft[i] = -1;
    for (int i = 0; i < theirs->n; i++) {
        const entry *token = &theirs->entry[i];
        if (i > 0 && compare_texts(token, token - 1) == 0) continue;
        const int partner = find(ours, token->text, token->length);
        if (partner >= 0 &&
            spec_model_ends_text(target, token->token) == spec_model_ends_text(draft, partner))
            pair(p, token->token, partner);
    }
    const int their_end = lone_end(&target->ends, p->of_target),
              our_end = lone_end(&draft->ends, p->of_draft);
    if (their_end >= 0 && our_end >= 0) pair(p, their_end, our_end);
    p->n = 0;
    for (int i = 0; i < theirs->n; i++) p->n += p->of_target[i] >= 0;
}

int spec_token_partners_init(spec_token_partners *partners, const spec_model *target,
                             const spec_model *draft, spec_error *error)
{
    texts theirs = {0}, ours = {0};
    size_t n = 0;
    int status = GSL_SUCCESS;
    const size_t V = (size_t)target->vocab;
    *partners = (spec_token_partners){0};
    SPEC_TRY(read_texts(&theirs, target, error));
    SPEC_TRY(read_texts(&ours, draft, error));
    partners->of_target = malloc(V * sizeof(int));
    partners->of_draft = malloc((size_t)draft->vocab * sizeof(int));
    partners->start = malloc((V + 1) * sizeof *partners->start);
    partners->piece = malloc((theirs.at[V] + V) * sizeof(int));
    if (partners->of_target == NULL || partners->of_draft == NULL || partners->start == NULL ||
        partners->piece == NULL)
        SPEC_TRY(spec_no_memory(error));
    pair_all(partners, &theirs, &ours, target, draft);
    for (size_t i = 0; i < V; i++) {
        partners->start[i] = n;
        if (partners->of_target[i] >= 0)
            partners->piece[n++] = partners->of_target[i];
        else
            n += spell(partners->piece + n, &ours, draft, theirs.bytes + theirs.at[i],
                       theirs.at[i + 1] - theirs.at[i]);
    }
    partners->start[V] = n;
done:
    free_texts(&theirs);
    free_texts(&ours);
    if (status != GSL_SUCCESS) spec_token_partners_free(partners);
    return status;
}
