/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the completions that bash offers, by running the function of cli/completion.bash without a
 * terminal. SPECLAB names the program. */
#include "tests/support/child.h"
#include "tests/support/folder.h"
#include "tests/support/support.h"

#include <string.h>
#include <unistd.h>

/* Splits the command line into words as bash does, also at '=' and ':'; the last word is
 * completed. */
static const struct {
    const char *words, *offers, *not_offered;
} cases[] = {
    {"speclab pre", "predict", "prove"},
    {"speclab ''", "help", NULL},
    {"speclab help swe", "sweep", NULL},
    {"speclab help ''", "validate", "help"},
    {"speclab predict --alp", "--alpha", "--K"},
    {"speclab sweep --", "--standard-error", "--"},
    {"speclab prove --rule gre", "greedy", "token"},
    {"speclab prove --rule token,bl", "token,block", "block"},
    {"speclab prove --rule token,block,tra", "token,block,traversal", NULL},
    {"speclab prove --rule = bl", "block", "token"},
    {"speclab prove --rule = token,bl", "token,block-greedy", NULL},
    {"speclab prove --rule =", "token", NULL},
    {"speclab accept -r match,kse", "match,kseq", NULL},
    {"speclab prove --target zi", "zipf", NULL},
    {"speclab prove --siblings wi", "without", NULL},
    {"speclab prove --family plain,ze", "plain,zeros", NULL},
    {"speclab accept --drafting loo", "lookup", NULL},
    {"speclab accept --drafting iid,wi", "iid,without", NULL},
    {"speclab sweep --drafting chain,tr", "chain,tree", NULL},
    {"speclab sweep --policy con", "confidence", NULL},
    {"speclab sweep --policy fixed,swi", "fixed,switch-off", NULL},
    {"speclab prove --policy tri", "trim", NULL},
    {"speclab sweep --process mar", "markov", NULL},
    {"speclab sweep --format mark", "markdown", NULL},
    {"speclab sweep -f lat", "latex", NULL},
    {"speclab plan --methods seq", "sequoia", NULL},
    {"speclab plan --methods chain,seq", "chain,sequoia", NULL},
    {"speclab generate --device g", "gpu", NULL},
    {"speclab generate --verify dev", "device", NULL},
    {"speclab bench --clock pro", "processor", NULL},
    {"speclab quantize m.bin --type q4", "q4_0", NULL},
    {"speclab validate --only plain-4,two", "plain-4,two-2", "two-2"},
    {"speclab validate --only coin", "coins", NULL},
    {"speclab validate --self-test --only coin-z", "coin-zero", NULL},
    {"speclab validate --scopes V,D", "V,DV", NULL},
    {"speclab validate --holds log", "logprobs", NULL},
    {"speclab validate rule : blo", "block", NULL},
    {"speclab validate ru", "rule:", NULL},
    {"speclab run real_te", "real_text", NULL},
    {"speclab run real_text --set rou", "rounds=", NULL},
    {"speclab run real_text --set ro", "rounds=", "real_rows"},
    {"speclab list pol", "policies", NULL},
    {"speclab plot --fig", "--figure", NULL},
    {"speclab plot columns.csv --y alpha,spe", "alpha,speedup", NULL},
    {"speclab predict --alpha 0", "", "0"},
};

TEST(bash_offers_what_fits)
{
    spec_needs_program();
    char script[PATH_MAX + 32];
    snprintf(script, sizeof script, "%s/cli/completion.bash", spec_folder_before);
    if (access(script, R_OK) != 0 || system("command -v bash >/dev/null 2>&1") != 0) {
        printf("skipped: %s: no bash, or not run from the source tree\n", __func__);
        skip();
    }
    spec_file_write("columns.csv", "# of a result\nalpha,speedup\n");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char command[3 * PATH_MAX], answer[4096] = "", wanted[64];
        const size_t end = strcspn(cases[i].words, "'"); /* '' is an empty word at the end */
        snprintf(
            command, sizeof command,
            "bash -uc 'compopt() { :; }; source \"%s\"; COMP_WORDS=(%.*s%s); COMP_WORDS[0]=\"%s\"; "
            "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _speclab; echo \" ${COMPREPLY[*]-} \"' 2>&1",
            script, (int)end, cases[i].words, cases[i].words[end] != '\0' ? "\"\"" : "",
            spec_program);
        FILE *in = popen(command, "r");
        assert_non_null(in);
        (void)!fgets(answer, sizeof answer, in);
        pclose(in);
        snprintf(wanted, sizeof wanted, " %s ", cases[i].offers);
        if (strstr(answer, wanted) == NULL)
            fail_msg("%s: '%s' lacks %s", cases[i].words, answer, cases[i].offers);
        if (cases[i].not_offered == NULL) continue;
        snprintf(wanted, sizeof wanted, " %s ", cases[i].not_offered);
        if (strstr(answer, wanted) != NULL)
            fail_msg("%s: '%s' has %s", cases[i].words, answer, cases[i].not_offered);
    }
}

/* Names of columns come from foreign files: bash must not run any part of them, neither at TAB nor
 * when the completed word is executed, which must then be the name. */
TEST(names_of_columns_are_never_code)
{
    spec_needs_program();
    char command[4 * PATH_MAX], answer[4096];
    snprintf(command, sizeof command, "%s/cli/completion.bash", spec_folder_before);
    if (access(command, R_OK) != 0 || system("command -v bash >/dev/null 2>&1") != 0) {
        printf("skipped: %s: no bash, or not run from the source tree\n", __func__);
        skip();
    }
    spec_file_write("evil.csv", "# figure: none\n$(touch P),`touch P`,\"a b\",*,\"x|y;touch P\",~,"
                                "\"a,b\",\"q\"\"'q\",-n,!!,${HOME},\x1b[31m,\\,a[$(touch P)]\n1\n");
    static const char names[] =
        "$(touch P)\n`touch P`\na b\n*\nx|y;touch P\n~\na,b\nq\"'q\n-n\n!!\n"
        "${HOME}\n\x1b[31m\n\\\na[$(touch P)]\n";
    spec_file_write("drive.bash", "compopt() { :; }\nsource \"$1\"\n"
                                  "COMP_WORDS=(\"$2\" plot evil.csv --x '')\nCOMP_CWORD=4\n"
                                  "_speclab\neval \"printf '%s\\n' ${COMPREPLY[*]}\"\n");
    snprintf(command, sizeof command, "bash -u drive.bash '%s/cli/completion.bash' '%s' 2>&1",
             spec_folder_before, spec_program);
    FILE *in = popen(command, "r");
    assert_non_null(in);
    answer[fread(answer, 1, sizeof answer - 1, in)] = '\0';
    pclose(in);
    assert_string_equal(answer, names);
    assert_int_equal(access("P", F_OK), -1);
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
