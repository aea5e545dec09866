/* SPDX-License-Identifier: GPL-3.0-or-later */
/* greedy_text: at temperature 0, a decoder's text is that of plain decoding. */
#ifndef SPECLAB_GREEDY_TEXT_H
#define SPECLAB_GREEDY_TEXT_H

#include "sim/chance/rng.h"
#include "sim/decode.h"

#include "tests/support/support.h"

/* With the rule greedy, chains of 3 and a dynamic tree. */
static inline void assert_greedy_text_is_plain(const spec_model *target, const spec_model *draft,
                                               const int *prompt, size_t n_prompt)
{
    static const char *const drafting[] = {"chain", "greedy", "dynamic?top=3&nodes=9&depth=3"};
    enum { TOKENS = 60 };
    OWNED_RNG *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    spec_rng_stream(rng, 42, 0);
    spec_chance chance = spec_chance_sampled(rng);
    for (size_t i = 0; i < sizeof drafting / sizeof drafting[0]; i++) {
        spec_decoder_config config = SPEC_DECODER_DEFAULT;
        OWNED(spec_decoder) decoder;
        int plain[TOKENS], text[TOKENS];
        size_t n;
        double time;
        config.target = target;
        config.opt_draft = draft;
        config.drafting = drafting[i];
        config.rule = "greedy";
        config.K = 3;
        assert_works(spec_decoder_init(&decoder, &config, &error));
        assert_works(spec_decoder_reset(&decoder, prompt, n_prompt, &error));
        assert_works(spec_decode_plain(&decoder, TOKENS, plain, &n, &chance, &time, &error));
        assert_works(spec_decoder_reset(&decoder, prompt, n_prompt, &error));
        assert_works(spec_decode(&decoder, TOKENS, text, &n, &chance, NULL, &error));
        assert_int_equal(n, TOKENS);
        assert_memory_equal(plain, text, sizeof text);
    }
}

#endif
