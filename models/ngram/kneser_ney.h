/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kneser_ney: the interpolated Kneser-Ney law of the next token, from n-gram counts.
 * [KneserNey95; ChenGoodman99]. It uses one absolute discount per order, continuation counts below
 * the highest order, and the uniform law at the lowest level, so every token has positive
 * probability after every context. Immutable once built; owns its arrays. */
#ifndef SPECLAB_KNESER_NEY_H
#define SPECLAB_KNESER_NEY_H

#include "models/ngram/ngram_counts.h"

/* One token seen after a context. */
typedef struct {
    uint32_t token, count;
} spec_successor;

/* A context that occurs in the text before some token. */
typedef struct {
    uint64_t first; /* its successors, ascending by token, are successor[first] to
                       successor[first + n - 1] */
    uint32_t n;
    uint32_t total; /* the sum of their counts */
} spec_ngram_context;

/* A link from a shorter context to a longer one: `token` precedes context `parent`. */
typedef struct {
    uint32_t parent, token;
    uint32_t context; /* 0: a free slot */
} spec_context_link;

typedef struct {
    int order, vocab;
    double discount[SPEC_NGRAM_ORDER_MAX + 1]; /* [k] for the k-grams, 1 <= k <= order */
    double *unigram;                           /* (vocab) the row after the empty context */
    spec_ngram_context *context; /* (n_contexts); 0 is the empty context, whose successors are not
                              stored */
    size_t n_contexts;
    spec_successor *successor;                 /* (n_successors) */
    size_t n_successors;
    spec_context_link *link;                   /* (n_links) hash table, a power of two */
    size_t n_links;
} spec_kneser_ney;

/* Builds the law from `counts`, which it consumes.
 *
 *     P_k(w | h) = (max(c_k(h w) - D_k, 0) + D_k N_k(h) P_(k-1)(w | h')) / c_k(h)
 *     [ChenGoodman99]
 *     P_0(w)     = 1 / vocab
 *     D_k        = n_1 / (n_1 + 2 n_2) [ChenGoodman99]
 *
 * h: the last k-1 tokens; h': h without the oldest; c_k(h): the sum over w of c_k(h w); N_k(h): the
 * number of different w seen after h; n_r: the number of k-grams with c_k = r. D_k = 1/2 if n_1 or
 * n_2 is 0. A context never seen has P_k = P_(k-1).
 *
 * c_order is the count of the n-gram. For k < order, c_k is the number of different tokens seen
 * before the k-gram [KneserNey95]. The beginning of a text is one more such token, the same for all
 * texts, so first tokens count too. After fewer than order - 1 tokens we use the law of the lower
 * order, with its continuation counts: there is no token for the beginning of a text, so rows
 * cannot be conditioned on it.
 *
 * tests/models/ngram/test_kneser_ney.c compares it with the definition, computed from the text
 * position by position. */
int spec_kneser_ney_init(spec_kneser_ney *law, spec_ngram_counts *counts, int vocab,
                         spec_error *error);
void spec_kneser_ney_free(spec_kneser_ney *law);

/* Returns the row after the last order - 1 of n tokens (oldest first): the filled `scratch`
 * (vocab), or the law's own row if no suffix of the context was seen. The row is a pure function of
 * those tokens, bit for bit, and sums to 1 within 1e-12. This costs one pass over vocab, and one
 * step per token seen after each suffix of the context. */
const double *spec_kneser_ney_row(const spec_kneser_ney *law, const int *context, size_t n,
                                  double *scratch);

#endif
