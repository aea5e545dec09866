/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Draft heads in the verbs that take a draft. SPECLAB names the program. */
#include "models/heads/head_file.h"
#include "models/model_open.h"
#include "models/transformer/engine/transformer.h"

#include "tests/cli/draft_verbs.h"
#include "tests/support/contexts.h"
#include "tests/support/drawn_head.h"
#include "tests/support/support.h"

#include <string.h>

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

static const char *spec_of(char *space, size_t size, int kind)
{
    const char *name = spec_head_kind_names[kind];
    snprintf(space, size, "%s:%s.gguf", name, name);
    return space;
}

TEST(every_verb_takes_every_head, SLOW)
{
    spec_needs_program();
    char draft[64];
    for (int kind = 0; kind < SPEC_HEAD_KINDS; kind++)
        every_verb_takes(spec_of(draft, sizeof draft, kind));
}

TEST(a_path_alone_is_the_same_draft)
{
    spec_needs_program();
    char draft[64];
    for (int kind = 0; kind < SPEC_HEAD_KINDS; kind++) {
        spec_of(draft, sizeof draft, kind);
        same_draft(draft, strchr(draft, ':') + 1);
    }
}

TEST(a_greedy_text_is_the_plain_one)
{
    spec_needs_program();
    char draft[64];
    for (int kind = 0; kind < SPEC_HEAD_KINDS; kind++)
        greedy_text_is_plain(spec_of(draft, sizeof draft, kind));
}

TEST(what_does_not_fit_is_refused_in_one_line)
{
    static const struct {
        const char *rest, *line;
    } cases[] = {
        {"--draft mtp:mtp.gguf -K 4",
         "speclab generate: --K: 'mtp:mtp.gguf' drafts at most 3 tokens, and K is 4; use K = 3 or "
         "less"},
        {"--draft mtp:eagle3.gguf",
         "speclab generate: --draft: eagle3.gguf: is a head of kind eagle3; use "
         "eagle3:eagle3.gguf"},
        {"--draft gguf:eagle3.gguf",
         "speclab generate: --draft: eagle3.gguf: is a draft head of kind eagle3, not a model; use "
         "it as a draft: eagle3:eagle3.gguf"},
        {"--draft gguf:hydra.gguf",
         "speclab generate: --draft: hydra.gguf: is a draft head of kind hydra, not a model; use "
         "it as a draft: hydra:hydra.gguf"},
        {"--draft hydra:hydra.gguf --rule block-greedy",
         "speclab generate: rule 'block-greedy' needs a draft whose rows do not change between "
         "rounds"},
        {"--draft hydra:hydra.gguf?force=2", "speclab generate: --draft: hydra: force=2 is not"},
        {"--draft hydra:no.gguf", "speclab generate: --draft: no.gguf"},
    };
    spec_needs_program();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        refused(cases[i].rest, cases[i].line);
    spec_program_fails("generate -n 5 --target " TARGET "&seed=2 --draft eagle:eagle.gguf", 2,
                       "speclab generate: --draft: eagle.gguf: this eagle head was made for "
                       "another target");
    spec_program_works("generate -n 5 --target " TARGET
                       "&seed=2 --draft eagle:eagle.gguf?force=1 --prompt 1");
}

SUITE(.setup = set_up, .teardown = spec_program_tear_down);
