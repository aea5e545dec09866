/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Block drafts of llama.cpp in the verbs that take a draft. SPECLAB names the program. */
#include "models/model_open.h"
#include "models/transformer/engine/transformer.h"

#include "tests/cli/draft_verbs.h"
#include "tests/support/contexts.h"
#include "tests/support/drawn_dflash.h"
#include "tests/support/support.h"

#include <string.h>

static const char *const names[] = {"plain", "markov", "lattice"};

/* A draft of every kind, KIND.gguf, of 3 or 4 tokens. */
static int set_up(void **state)
{
    const int status = spec_program_set_up(state);
    spec_model *target;
    spec_error error;
    if (spec_program[0] == '\0') return status;
    assert_int_equal(spec_model_open(&target, TARGET, NULL, spec_test_context(0), &error),
                     GSL_SUCCESS);
    for (int kind = SPEC_DFLASH_PLAIN; kind <= SPEC_DFLASH_LATTICE; kind++) {
        char path[32];
        const drawn_dflash_config config =
            drawn_dflash((spec_dflash_kind)kind, &spec_transformer_of(target)->checkpoint->shape);
        snprintf(path, sizeof path, "%s.gguf", names[kind]);
        drawn_dflash_write(path, &config);
    }
    spec_model_close(target);
    return status;
}

static const char *spec_of(char *space, size_t size, int kind)
{
    snprintf(space, size, "dflash:%s.gguf", names[kind]);
    return space;
}

TEST(every_verb_takes_every_kind, SLOW)
{
    spec_needs_program();
    char draft[64];
    for (int kind = SPEC_DFLASH_PLAIN; kind <= SPEC_DFLASH_LATTICE; kind++)
        every_verb_takes(spec_of(draft, sizeof draft, kind));
}

TEST(a_path_alone_is_the_same_draft)
{
    spec_needs_program();
    char draft[64];
    for (int kind = SPEC_DFLASH_PLAIN; kind <= SPEC_DFLASH_LATTICE; kind++) {
        spec_of(draft, sizeof draft, kind);
        same_draft(draft, strchr(draft, ':') + 1);
    }
}

TEST(a_greedy_text_is_the_plain_one)
{
    spec_needs_program();
    char draft[64];
    for (int kind = SPEC_DFLASH_PLAIN; kind <= SPEC_DFLASH_LATTICE; kind++)
        greedy_text_is_plain(spec_of(draft, sizeof draft, kind));
    greedy_text_is_plain("dflash:markov.gguf?confidence=0.5");
}

TEST(what_does_not_fit_is_refused_in_one_line)
{
    static const struct {
        const char *rest, *line;
    } cases[] = {
        {"--draft dflash:plain.gguf -K 4",
         "speclab generate: --K: 'dflash:plain.gguf' drafts at most 3 tokens, and K is 4; use K = "
         "3 or less"},
        {"--draft gguf:plain.gguf",
         "speclab generate: --draft: plain.gguf: is a draft head of kind dflash, not a model; use "
         "it as a draft: dflash:plain.gguf"},
        {"--draft eagle3:plain.gguf",
         "speclab generate: --draft: plain.gguf: is of architecture 'dflash', not a draft head"},
        {"--draft dflash:plain.gguf?confidence=0.5",
         "speclab generate: --draft: plain.gguf: has no confidence head"},
        {"--draft dflash:markov.gguf?confidence=0.5 --drafting dynamic --rule naive-tree",
         "speclab generate: draft strategy 'dynamic' does not end drafts by a model's confidence"},
        {"--draft dflash:markov.gguf --rule block-greedy",
         "speclab generate: rule 'block-greedy' needs a draft whose rows do not change between "
         "rounds"},
        {"--draft dflash:no.gguf", "speclab generate: --draft: no.gguf"},
    };
    spec_needs_program();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        refused(cases[i].rest, cases[i].line);
}

SUITE(.setup = set_up, .teardown = spec_program_tear_down);
