/* SPDX-License-Identifier: GPL-3.0-or-later */
/* draft_verbs: a draft's file in the verbs that take a draft. SPECLAB names the program. */
#ifndef SPECLAB_DRAFT_VERBS_H
#define SPECLAB_DRAFT_VERBS_H

#include "tests/support/child.h"

#define TARGET "random?dim=16&layers=3&heads=2&ffn=24&vocab=4&context=80&type=f32"

static inline void run_well(spec_child *child, const char *format, const char *draft)
{
    char line[512];
    snprintf(line, sizeof line, format, draft);
    spec_child_run(child, line);
    if (child->code != 0) fail_msg("%s: exit code %d: %s", line, child->code, child->line);
}

/* Every verb runs with the draft, such as "eagle3:eagle3.gguf". */
static inline void every_verb_takes(const char *draft)
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
        "generate -n 20 --prompt 1 --policy peak?threshold=0.3",
        "bench --K 1,3 --texts 2 --tokens 20 --turn 8 --context 4 --widths 1,2",
        "bench --K 1 --texts 2 --tokens 20 --turn 8 --context 4 --widths 1 --ahead",
        "plan --nodes 2,4 --methods chain,sequoia --width 3 --positions 60",
    };
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        char format[256];
        spec_child child;
        snprintf(format, sizeof format, "%s --target " TARGET " --draft %%s", verbs[i]);
        run_well(&child, format, draft);
        spec_child_free(&child);
    }
}

/* Two names of one draft give the same text. */
static inline void same_draft(const char *a, const char *b)
{
    static const char format[] = "generate -n 40 --prompt 1 -K 2 --target " TARGET " --draft %s";
    spec_child one, other;
    run_well(&one, format, a);
    run_well(&other, format, b);
    assert_string_equal(one.text, other.text);
    spec_child_free(&one);
    spec_child_free(&other);
}

/* At temperature 0 the text is that of plain decoding. */
static inline void greedy_text_is_plain(const char *draft)
{
    static const char plain_format[] =
        "generate --temperature 0 -n 40 --prompt 1 --target " TARGET " %s",
                      format[] = "generate --temperature 0 -n 40 --prompt 1 --target " TARGET
                                 " --draft %s";
    spec_child plain, child;
    run_well(&plain, plain_format, "--plain");
    run_well(&child, format, draft);
    assert_string_equal(child.text, plain.text);
    spec_child_free(&plain);
    spec_child_free(&child);
}

/* `generate` with these words ends with exit code 2 and such a line. */
static inline void refused(const char *words, const char *line)
{
    char whole[512];
    snprintf(whole, sizeof whole, "generate -n 5 --target " TARGET " %s", words);
    spec_program_fails(whole, 2, line);
}

#endif
