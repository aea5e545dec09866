/* SPDX-License-Identifier: GPL-3.0-or-later */
/* card_group: one GPU, real or simulated, and one stream of it for a group of tests.
 * Include it in one file of a program; main calls spec_simulated_card first. */
#ifndef SPECLAB_TESTS_CARD_GROUP_H
#define SPECLAB_TESTS_CARD_GROUP_H

#include "models/gpu/card.h"
#include "tests/support/contexts.h"
#include "tests/support/simulated_card.h"
#include "tests/support/support.h"

static spec_card *card;
static spec_stream *stream;

/* Set-up of the group. */
static inline int open_card(void **state)
{
    (void)state;
    spec_error error = {""};
    if (spec_card_open(&card, spec_test_context(0)->cards, 0, &error) == GSL_SUCCESS &&
        spec_stream_init(&stream, card, &error) == GSL_SUCCESS)
        return 0;
    print_error("%s\n", error.text);
    return -1;
}

/* Tear-down of the group. */
static inline int close_card(void **state)
{
    (void)state;
    spec_stream_free(stream);
    spec_card_close(card);
    return 0;
}

/* Zeroed GPU memory, which the test frees; fails the test without memory. */
static inline void *allocated(size_t bytes)
{
    void *memory;
    assert_works(spec_card_alloc(card, &memory, bytes, &error));
    return memory;
}

#endif
