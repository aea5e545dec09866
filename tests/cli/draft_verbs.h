/* SPDX-License-Identifier: GPL-3.0-or-later */
/* draft_verbs: runs every verb that takes a draft with a draft's file.
 * SPECLAB names the program. */
#ifndef SPECLAB_DRAFT_VERBS_H
#define SPECLAB_DRAFT_VERBS_H

#include "tests/support/child.h"

#define TARGET "random?dim=16&layers=3&heads=2&ffn=24&vocab=4&context=80&type=f32"

/* Runs every verb with the draft, such as "eagle3:eagle3.gguf". */
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
        char line[512];
        snprintf(line, sizeof line, "%s --target " TARGET " --draft %s", verbs[i], draft);
        spec_program_works(line);
    }
}

/* Checks that two names of one draft give the same text. */
static inline void same_draft(const char *a, const char *b)
{
    static const char format[] = "generate -n 40 --prompt 1 -K 2 --target " TARGET " --draft %s";
    char one[512], other[512];
    snprintf(one, sizeof one, format, a);
    snprintf(other, sizeof other, format, b);
    spec_programs_agree(one, other);
}

#define GREEDY "generate --temperature 0 -n 40 --prompt 1 --target " TARGET

/* Checks that at temperature 0 the text is that of plain decoding. */
static inline void greedy_text_is_plain(const char *draft)
{
    char line[512];
    snprintf(line, sizeof line, GREEDY " --draft %s", draft);
    spec_programs_agree(line, GREEDY " --plain");
}

/* Checks that `generate` with these words ends with exit code 2 and such an error line. */
static inline void refused(const char *words, const char *line)
{
    char whole[512];
    snprintf(whole, sizeof whole, "generate -n 5 --target " TARGET " %s", words);
    spec_program_fails(whole, 2, line);
}

#endif
