/* SPDX-License-Identifier: GPL-3.0-or-later */
/* card_case: a GPU, its memory and a stream for a test, and launches that mark their blocks.
 * Include it in one file of a program. */
#ifndef SPECLAB_TESTS_CARD_CASE_H
#define SPECLAB_TESTS_CARD_CASE_H

#include "models/gpu/card.h"
#include "tests/support/contexts.h"
#include "tests/support/simulated_card.h"
#include "tests/support/support.h"

#include <string.h>

enum { BLOCKS = 6 };

static inline spec_card *open_card(void)
{
    spec_card *card;
    assert_works(spec_card_open(&card, spec_test_context(0)->cards, 0, &error));
    return card;
}

static inline void *memory_of(spec_card *card, size_t bytes)
{
    void *memory;
    assert_works(spec_card_alloc(card, &memory, bytes, &error));
    return memory;
}

static inline spec_stream *stream_of(spec_card *card)
{
    spec_stream *stream;
    assert_int_equal(spec_stream_init(&stream, card, NULL), GSL_SUCCESS);
    assert_ptr_equal(spec_stream_card(stream), card);
    return stream;
}

/* Counts the marked blocks and clears the marks. */
static inline int count_seen(spec_card *card, uint32_t *seen)
{
    static const uint32_t none[BLOCKS];
    uint32_t here[BLOCKS];
    int n = 0;
    spec_card_get(card, here, seen, sizeof here);
    for (int i = 0; i < BLOCKS; i++) n += here[i] != 0;
    spec_card_put(card, seen, none, sizeof none);
    return n;
}

typedef struct {
    spec_card *card;
    bool good;
    spec_stream *stream;
    uint32_t *seen;
} neighbour;

/* Calls that another thread makes at the same time. */
static inline void *work_beside(void *self)
{
    neighbour *n = self;
    const spec_stream *none = NULL;
    spec_stream *stream = NULL;
    void *memory = NULL;
    uint32_t here[BLOCKS] = {0};
    n->good = spec_stream_init(&stream, n->card, NULL) == GSL_SUCCESS && stream != none &&
              spec_card_alloc(n->card, &memory, sizeof here, NULL) == GSL_SUCCESS;
    if (!n->good) return NULL;
    SPEC_RUN(stream, roofline_nothing, BLOCKS, 1, 1, .opt_seen = memory);
    spec_card_get(n->card, here, memory, sizeof here);
    for (int i = 0; i < BLOCKS; i++) n->good = n->good && here[i] != 0;
    spec_card_put(n->card, memory, here, sizeof here);
    n->good = n->good && spec_stream_wait(stream, NULL) == GSL_SUCCESS;
    spec_stream_free(stream);
    spec_card_free(n->card, memory);
    return NULL;
}

#endif
