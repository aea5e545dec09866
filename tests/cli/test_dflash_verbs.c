/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Block drafts of llama.cpp in the verbs that take a draft. SPECLAB names the program. */
#include "models/model_open.h"
#include "models/transformer/engine/transformer.h"

#include "tests/support/child.h"
#include "tests/support/contexts.h"
#include "tests/support/drawn_dflash.h"

#include <string.h>

#define TARGET "random?dim=16&layers=3&heads=2&ffn=24&vocab=4&context=80&type=f32"

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

static void every_verb_takes_every_kind(void **state)
{
    static const char *const verbs[] = {
        "prove --tokens 2 --K 2 --rule token,block",
        "prove --tokens 1 --K 2 --rule rrsw --drafting tree?widths=2.1&siblings=without",
        "prove --tokens 2 --K 2 --rule naive-tree --drafting dynamic?top=2&nodes=4&depth=2",
        "accept --rule token",
        "rows -n 40 -o p.rows",
        "generate -n 20 --prompt 1 --drafting tree?widths=2.1&siblings=without --rule rrsw",
        "generate -n 20 --prompt 1 --ahead -K 2",
        "generate -n 20 --prompt 1 --policy peak?threshold=0.3",
        "bench --K 1,3 --texts 2 --tokens 20 --turn 8 --context 4 --widths 1,2",
        "plan --nodes 2,4 --methods chain,sequoia --width 3 --positions 60",
    };
    (void)state;
    spec_needs_program();
    for (int kind = SPEC_DFLASH_PLAIN; kind <= SPEC_DFLASH_LATTICE; kind++)
        for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
            char line[512];
            spec_child child;
            snprintf(line, sizeof line, "%s --target " TARGET " --draft dflash:%s.gguf", verbs[i],
                     names[kind]);
            spec_child_run(&child, line);
            if (child.code != 0) fail_msg("%s: exit code %d: %s", line, child.code, child.line);
            spec_child_free(&child);
        }
}

static void a_path_alone_is_the_same_draft(void **state)
{
    static const char line[] = "generate -n 40 --prompt 1 -K 2 --target " TARGET " --draft";
    (void)state;
    spec_needs_program();
    for (int kind = SPEC_DFLASH_PLAIN; kind <= SPEC_DFLASH_LATTICE; kind++) {
        char words[512];
        spec_child child, alone;
        snprintf(words, sizeof words, "%s dflash:%s.gguf", line, names[kind]);
        spec_child_run(&child, words);
        snprintf(words, sizeof words, "%s %s.gguf", line, names[kind]);
        spec_child_run(&alone, words);
        assert_int_equal(child.code, 0);
        assert_int_equal(alone.code, 0);
        assert_string_equal(child.text, alone.text);
        spec_child_free(&child);
        spec_child_free(&alone);
    }
}

static void a_greedy_text_is_the_plain_one(void **state)
{
    (void)state;
    spec_needs_program();
    spec_child plain, child;
    spec_child_run(&plain, "generate --plain --temperature 0 -n 40 --prompt 1 --target " TARGET);
    assert_int_equal(plain.code, 0);
    static const char *const drafts[] = {"plain.gguf", "markov.gguf", "lattice.gguf",
                                         "markov.gguf?confidence=0.5"};
    for (size_t i = 0; i < sizeof drafts / sizeof drafts[0]; i++) {
        char line[512];
        snprintf(line, sizeof line,
                 "generate --temperature 0 -n 40 --prompt 1 --target " TARGET " --draft dflash:%s",
                 drafts[i]);
        spec_child_run(&child, line);
        if (child.code != 0) fail_msg("%s: exit code %d: %s", line, child.code, child.line);
        assert_string_equal(child.text, plain.text);
        spec_child_free(&child);
    }
    spec_child_free(&plain);
}

static void what_does_not_fit_is_refused_in_one_line(void **state)
{
    static const struct {
        const char *rest, *line;
    } cases[] = {
        {"--draft dflash:plain.gguf -K 4",
         "speclab generate: --K: 'dflash:plain.gguf' drafts at most 3 tokens, and K is 4; use K = "
         "3 or less"},
        {"--draft gguf:plain.gguf",
         "speclab generate: --draft: plain.gguf: is a draft head of kind dflash, which is no model "
         "by itself; as a draft, type dflash:plain.gguf"},
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
    (void)state;
    spec_needs_program();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char line[512];
        snprintf(line, sizeof line, "generate -n 5 --target " TARGET " %s", cases[i].rest);
        spec_program_fails(line, 2, cases[i].line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_verb_takes_every_kind),
        cmocka_unit_test(a_path_alone_is_the_same_draft),
        cmocka_unit_test(a_greedy_text_is_the_plain_one),
        cmocka_unit_test(what_does_not_fit_is_refused_in_one_line),
    };
    return cmocka_run_group_tests(tests, set_up, spec_program_tear_down);
}
