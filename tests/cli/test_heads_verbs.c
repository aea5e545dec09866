/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Draft heads in the verbs that take a draft. SPECLAB names the program. */
#include "models/heads/head_file.h"
#include "models/model_open.h"
#include "models/transformer/engine/transformer.h"

#include "tests/support/child.h"
#include "tests/support/contexts.h"
#include "tests/support/drawn_head.h"

#include <string.h>

#define TARGET "random?dim=16&layers=3&heads=2&ffn=24&vocab=4&context=80&type=f32"

/* A head of every kind, KIND.gguf, of reach 3. */
static int set_up(void **state)
{
    const int status = spec_program_set_up(state);
    spec_model *target;
    spec_error error;
    if (spec_program[0] == '\0') return status;
    assert_int_equal(spec_model_open(&target, TARGET, NULL, spec_test_context(0), &error),
                     GSL_SUCCESS);
    const spec_checkpoint *checkpoint = spec_transformer_of(target)->checkpoint;
    for (int kind = 0; kind < SPEC_HEAD_KINDS; kind++) {
        spec_head head;
        char path[32];
        int kept;
        drawn_head(&head, &(drawn_head_config){(spec_head_kind)kind, 3, 0, false, 1}, checkpoint);
        head.fingerprint = spec_head_file_fingerprint(checkpoint);
        snprintf(path, sizeof path, "%s.gguf", spec_head_kind_names[kind]);
        assert_int_equal(spec_head_file_write(&kept, &head, path, &error), GSL_SUCCESS);
        spec_head_free(&head);
    }
    spec_model_close(target);
    return status;
}

static void every_verb_takes_every_head(void **state)
{
    static const char *const verbs[] = {
        "prove --tokens 2 --K 2 --rule token,block",
        "prove --tokens 1 --K 2 --rule rrsw --drafting tree?widths=2.1&siblings=without",
        "prove --tokens 2 --K 2 --rule naive-tree --drafting dynamic?top=2&nodes=4&depth=2",
        "accept --rule token",
        "rows -n 40 -o p.rows",
        "generate -n 20 --prompt 1 --drafting tree?widths=2.1&siblings=without --rule rrsw",
        "generate -n 20 --prompt 1 --ahead -K 2",
        "generate -n 20 --prompt 1 --policy confidence?threshold=0.4",
        "bench --K 1,3 --texts 2 --tokens 20 --turn 8 --context 4 --widths 1,2",
        "bench --K 1 --texts 2 --tokens 20 --turn 8 --context 4 --widths 1 --ahead",
        "plan --nodes 2,4 --methods chain,sequoia --width 3 --positions 60",
    };
    (void)state;
    spec_needs_program();
    for (int kind = 0; kind < SPEC_HEAD_KINDS; kind++)
        for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
            char line[512];
            spec_child child;
            snprintf(line, sizeof line, "%s --target " TARGET " --draft %s:%s.gguf", verbs[i],
                     spec_head_kind_names[kind], spec_head_kind_names[kind]);
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
    for (int kind = 0; kind < SPEC_HEAD_KINDS; kind++) {
        char words[512];
        spec_child child, alone;
        snprintf(words, sizeof words, "%s %s:%s.gguf", line, spec_head_kind_names[kind],
                 spec_head_kind_names[kind]);
        spec_child_run(&child, words);
        snprintf(words, sizeof words, "%s %s.gguf", line, spec_head_kind_names[kind]);
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
    for (int kind = 0; kind < SPEC_HEAD_KINDS; kind++) {
        char line[512];
        snprintf(line, sizeof line,
                 "generate --temperature 0 -n 40 --prompt 1 --target " TARGET " --draft %s:%s.gguf",
                 spec_head_kind_names[kind], spec_head_kind_names[kind]);
        spec_child_run(&child, line);
        assert_int_equal(child.code, 0);
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
        {"--draft mtp:mtp.gguf -K 4",
         "speclab generate: --K: 'mtp:mtp.gguf' drafts at most 3 tokens, and K is 4; use K = 3 or "
         "less"},
        {"--draft mtp:eagle3.gguf",
         "speclab generate: --draft: eagle3.gguf: is a head of kind eagle3; type "
         "eagle3:eagle3.gguf"},
        {"--draft gguf:eagle3.gguf",
         "speclab generate: --draft: eagle3.gguf: is a draft head of kind eagle3, which is no "
         "model by itself; as a draft, type eagle3:eagle3.gguf"},
        {"--draft gguf:hydra.gguf",
         "speclab generate: --draft: hydra.gguf: is a draft head of kind hydra, which is no model "
         "by itself; as a draft, type hydra:hydra.gguf"},
        {"--draft hydra:hydra.gguf --rule block-greedy",
         "speclab generate: rule 'block-greedy' needs a draft whose rows do not change between "
         "rounds"},
        {"--draft hydra:hydra.gguf?force=2", "speclab generate: --draft: hydra: force=2 is not"},
        {"--draft hydra:no.gguf", "speclab generate: --draft: no.gguf"},
    };
    (void)state;
    spec_needs_program();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char line[512];
        snprintf(line, sizeof line, "generate -n 5 --target " TARGET " %s", cases[i].rest);
        spec_program_fails(line, 2, cases[i].line);
    }
    spec_program_fails("generate -n 5 --target " TARGET "&seed=2 --draft eagle:eagle.gguf", 2,
                       "speclab generate: --draft: eagle.gguf: this eagle head was made for "
                       "another target");
    spec_program_works("generate -n 5 --target " TARGET
                       "&seed=2 --draft eagle:eagle.gguf?force=1 --prompt 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_verb_takes_every_head),
        cmocka_unit_test(a_path_alone_is_the_same_draft),
        cmocka_unit_test(a_greedy_text_is_the_plain_one),
        cmocka_unit_test(what_does_not_fit_is_refused_in_one_line),
    };
    return cmocka_run_group_tests(tests, set_up, spec_program_tear_down);
}
