/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts what a token costs besides the time of kernels, on the simulated GPU: bytes over the bus,
 * launches, and waits of the host. */
#include "models/chain.h"
#include "tests/support/model_of.h"
#include "tests/support/simulated_card.h"
#include "tests/support/support.h"

#include <string.h>

enum { LAYERS = 2, VOCAB = 1000, TEXT = 5, K = 3 };
#define SPEC "random?dim=32&layers=2&heads=4&kv_heads=2&ffn=64&vocab=1000&context=64&device=gpu"

static const int text[TEXT + 2 * K] = {3, 14, 15, 92, 65, 35, 89, 79, 32, 38, 46};

static simulated_traffic since(simulated_traffic before)
{
    const simulated_traffic now = spec_simulated_traffic();
    return (simulated_traffic){.launches = now.launches - before.launches,
                               .replays = now.replays - before.replays,
                               .waits = now.waits - before.waits,
                               .copies = now.copies - before.copies,
                               .bytes_up = now.bytes_up - before.bytes_up,
                               .bytes_down = now.bytes_down - before.bytes_down};
}

static void show(const char *what, simulated_traffic t)
{
    print_message("%s: %ld kernels, %ld replays, %ld waits, %ld copies, %zu bytes up, %zu down\n",
                  what, t.launches, t.replays, t.waits, t.copies, t.bytes_up, t.bytes_down);
}

/* Returns the traffic of the last of several tokens, when the passes are already recorded. */
static simulated_traffic row_of(const char *opt_temperature)
{
    char spec[200];
    snprintf(spec, sizeof spec, SPEC "%s", opt_temperature);
    OWNED_MODEL *model = model_of(spec, NULL);
    OWNED(spec_session) session;
    double *row = malloc(VOCAB * sizeof *row);
    simulated_traffic before = {0};
    assert_works(spec_session_init(&session, model, &error));
    for (size_t n = 1; n <= TEXT; n++) {
        before = spec_simulated_traffic();
        assert_non_null(spec_session_row(&session, text, n, row, NULL));
    }
    free(row);
    return since(before);
}

TEST(a_row_crosses_the_bus_as_floats_after_one_wait)
{
    if (spec_card_is_real()) skip();
    const simulated_traffic row = row_of("");
    show("a row", row);
    assert_int_equal(row.launches, 9 * LAYERS + 5);
    assert_int_equal(row.waits, 1);
    assert_int_equal(row.copies, 1);
    assert_int_equal(row.bytes_down, VOCAB * sizeof(float));
    const simulated_traffic greedy = row_of("&temperature=0");
    show("a greedy row", greedy);
    /* A layer: norm, product, place, attend, combine, product, norm, product with gate, product. */
    assert_int_equal(greedy.launches, 9 * LAYERS + 5 + 2);
    assert_int_equal(greedy.waits, 1);
    assert_int_equal(greedy.copies, 0); /* the kernel writes to the host's memory */
}

TEST(a_draft_takes_one_wait)
{
    if (spec_card_is_real()) skip();
    OWNED_MODEL *target = model_of(SPEC, NULL);
    OWNED_MODEL *draft = model_of("layers?exit=1", target);
    OWNED(spec_session) of_target, of_draft;
    OWNED(spec_chain) chain;
    assert_works(spec_session_init(&of_target, target, &error));
    assert_works(spec_session_init(&of_draft, draft, &error));
    assert_works(spec_chain_init(&chain, &of_target, &of_draft, K, &error));
    double chance[K], uniform[K + 2] = {0.1, 0.2, 0.3, 0.4, 0.5};
    for (int turn = 0; turn < 2; turn++) {
        int token[K];
        spec_chain_outcome outcome = {.chance = chance};
        int n;
        simulated_traffic before = spec_simulated_traffic();
        assert_works(
            spec_chain_draw(&chain, token, &n, text, (size_t)(TEXT + turn), K, uniform, &error));
        assert_int_equal(n, K);
        const simulated_traffic drawn = since(before);
        before = spec_simulated_traffic();
        assert_works(spec_chain_score_begin(&chain, text, (size_t)(TEXT + turn), token, K, &error));
        assert_works(spec_chain_score_end(&chain, &error));
        assert_works(spec_chain_verify(&chain, &outcome, token, K, uniform, &error));
        const simulated_traffic verified = since(before);
        if (turn == 0) continue;
        show("a draft", drawn);
        show("a verified chain", verified);
        assert_int_equal(drawn.waits, 1);
        assert_int_equal(drawn.copies + verified.copies, 0);
        /* Drafted tokens that the text contains now are kept, which takes two kernels: their slots
         * are uploaded, and moved. */
        int longer[TEXT + 1 + K] = {0};
        memcpy(longer, text, (TEXT + 1) * sizeof *text);
        memcpy(longer + TEXT + 1, token, (K - 1) * sizeof *token);
        before = spec_simulated_traffic();
        assert_works(spec_chain_draw(&chain, token, &n, longer, TEXT + 1 + K, K, uniform, &error));
        assert_int_equal(since(before).launches, drawn.launches + 2);
        /* The host waits for the pass, where the clock of its phase is read, and for the rule. */
        assert_int_equal(verified.waits, 2);
    }
}

SUITE(SIMULATOR);
