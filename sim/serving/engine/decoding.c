/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/engine/decoding.h"

#include "sim/serving/engine/common_rounds.h"

#include <gsl/gsl_errno.h>
#include <stdlib.h>
#include <string.h>

/* Grows an array of n elements, with zeros in the new part, because vector loops read past the end
 * and ignore what they find. Returns NULL if there is no memory; the old array then stays valid. */
static void *grown(void *array, size_t size, int n, int capacity)
{
    const size_t old = (size_t)n * size, bytes = ((size_t)capacity + SPEC_COMMON_ROUNDS_PAD) * size;
    char *result = realloc(array, bytes);
    if (result != NULL) memset(result + old, 0, bytes - old);
    return result;
}

static int resize(spec_decoding *d, int capacity)
{
#define GROW(array)                                                                                \
    do {                                                                                           \
        void *result = grown(array, sizeof *(array), d->n, capacity);                              \
        if (result == NULL) return GSL_ENOMEM;                                                     \
        (array) = result;                                                                          \
    } while (0)
    GROW(d->left);
    GROW(d->base);
    GROW(d->member);
    GROW(d->alpha);
    GROW(d->out);
    if (d->last != NULL) GROW(d->last);
    if (d->held != NULL) GROW(d->held);
    if (d->past != NULL) GROW(d->past);
#undef GROW
    d->capacity = capacity;
    return GSL_SUCCESS;
}

int spec_decoding_init(spec_decoding *d, bool has_last, bool has_held, bool has_past)
{
    enum { FIRST = 64 };
    *d = (spec_decoding){0};
    if (has_last && (d->last = malloc(1)) == NULL) return GSL_ENOMEM;
    if (has_held && (d->held = malloc(1)) == NULL) return GSL_ENOMEM;
    if (has_past && (d->past = malloc(1)) == NULL) return GSL_ENOMEM;
    return resize(d, FIRST);
}

void spec_decoding_free(spec_decoding *d)
{
    free(d->left);
    free(d->base);
    free(d->member);
    free(d->alpha);
    free(d->last);
    free(d->held);
    free(d->past);
    free(d->out);
    *d = (spec_decoding){0};
}

static void move(spec_decoding *d, int to, int from, int n)
{
#define MOVE(array) memmove((array) + to, (array) + from, (size_t)n * sizeof *(array))
    MOVE(d->left);
    MOVE(d->base);
    MOVE(d->member);
    MOVE(d->alpha);
    if (d->last != NULL) MOVE(d->last);
    if (d->held != NULL) MOVE(d->held);
    if (d->past != NULL) MOVE(d->past);
#undef MOVE
}

/* Returns the contexts of request i, summed over the plain steps 1 .. p, as if the request had
 * taken part in all of them. */
static int64_t plain_contexts(const spec_decoding *d, int i, int64_t p)
{
    return p * (d->base[i] - d->left[i]) + p * (p - 1) / 2;
}

int spec_decoding_insert(spec_decoding *d, spec_member *members, int32_t member)
{
    spec_member *m = &members[member];
    if (d->n == d->capacity && resize(d, 2 * d->capacity) != GSL_SUCCESS) return GSL_ENOMEM;
    int i = d->n;
    while (i > 0 && members[d->member[i - 1]].entry > m->entry) i--;
    move(d, i + 1, i, d->n - i);
    d->n++;
    d->left[i] = m->left + d->plain;
    d->base[i] = m->cached + m->left;
    d->member[i] = member;
    d->alpha[i] = m->request.alpha;
    if (d->last != NULL) d->last[i] = m->last;
    if (d->held != NULL) d->held[i] = m->held;
    if (d->past != NULL) d->past[i] = 0;
    d->context += m->cached;
    d->unstarted += m->first < 0.0;
    if (d->left[i] < d->soonest) d->soonest = d->left[i];
    m->tokens -= d->tokens;
    m->drafted -= d->drafted;
    m->rounds = -d->rounds;
    m->kv -= plain_contexts(d, i, d->plain);
    return GSL_SUCCESS;
}

spec_member spec_decoding_settled(const spec_decoding *d, const spec_member *members, int i)
{
    spec_member m = members[d->member[i]];
    m.left = d->left[i] - d->plain;
    m.cached = d->base[i] - m.left;
    if (d->last != NULL) m.last = d->last[i];
    if (d->held != NULL) m.held = d->held[i];
    m.tokens += d->tokens;
    m.drafted += d->drafted;
    m.rounds += d->rounds;
    m.kv += plain_contexts(d, i, d->plain);
    if (d->past != NULL) m.kv += m.rounds * d->base[i] - (int64_t)d->past[i];
    return m;
}

static void settle(spec_decoding *d, spec_member *members, int i)
{
    spec_member *m = &members[d->member[i]];
    *m = spec_decoding_settled(d, members, i);
    d->context -= m->cached;
    d->unstarted -= m->first < 0.0;
}

int32_t spec_decoding_take_youngest(spec_decoding *d, spec_member *members)
{
    settle(d, members, d->n - 1);
    return d->member[--d->n];
}

/* Returns the first i >= `from` with left[i] == value, or n. */
static int find(const int32_t *left, int from, int n, int32_t value)
{
    enum { BLOCK = 16 };
    for (; n - from >= BLOCK; from += BLOCK) {
        int any = 0;
        for (int l = 0; l < BLOCK; l++) any |= left[from + l] == value;
        if (any) break;
    }
    while (from < n && left[from] != value) from++;
    return from;
}

int spec_decoding_take_completed(spec_decoding *d, spec_member *members)
{
    int n_out = 0, i = find(d->left, 0, d->n, d->plain), to = i;
    while (i < d->n) {
        settle(d, members, i);
        d->out[n_out++] = d->member[i];
        const int next = find(d->left, i + 1, d->n, d->plain);
        move(d, to, i + 1, next - i - 1);
        to += next - i - 1;
        i = next;
    }
    d->n = to;
    d->soonest = 0;
    return n_out;
}

bool spec_decoding_advance(spec_decoding *d, spec_member *members)
{
    enum { MOST = 1 << 29 };
    if (d->plain == MOST) spec_decoding_flatten(d, members);
    if (d->soonest == 0) {
        int32_t least = INT32_MAX;
        for (int i = 0; i < d->n; i++) least = d->left[i] < least ? d->left[i] : least;
        d->soonest = least;
    }
    d->plain++;
    d->tokens++;
    d->context += d->n;
    return d->plain == d->soonest;
}

void spec_decoding_flatten(spec_decoding *d, spec_member *members)
{
    if (d->plain == 0) return;
    for (int i = 0; i < d->n; i++) {
        members[d->member[i]].kv += plain_contexts(d, i, d->plain);
        d->left[i] -= d->plain;
    }
    d->plain = 0;
    d->soonest = 0;
}
