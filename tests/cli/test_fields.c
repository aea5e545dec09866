/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks that the command in the head of a result gives the same result again. SPECLAB names the
 * program. */
#include "tests/support/child.h"
#include "tests/support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads a whole file. The caller frees it. */
static char *whole(const char *path)
{
    char *text = calloc(1, 1 << 20);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    return text;
}

/* Runs a command as a user would, in a shell. */
static void give(const char *command, const char *file)
{
    char line[8192];
    snprintf(line, sizeof line, "'%s' %s --force -o %s 2>said", spec_program, command, file);
    const int code = system(line);
    if (code != 0) print_error("%s\n", line);
    assert_int_equal(code, 0);
}

TEST(the_command_of_a_result_gives_it_again)
{
    spec_needs_program();
    static const char *const of[] = {
        "predict --alpha 0.5,0.8 --K 1:3 --one-pass",
        "predict --alpha 0.8 --K 3 --distribution",
        "predict --guess 0.5 --handed 0:1:0.5",
        "sweep --alpha 0.8 --K 2 --c-token 0.01 --one-pass --rounds 1000",
        "sweep --target 'zipf?V=20&s=1.5' --alpha 0.7 --K 3 --ahead --rounds 1000",
        "prove --rule token,block --ahead --tokens 3",
        "prove --rule rrs --tree 2.1 --siblings iid --tokens 2",
        "prove --rule block --cases 5 --V 2,3 --family 'zeros'",
        "accept --target 'zipf?V=20' --draft 'zipf?V=20&s=2' --rule token,kseq --n 2",
        "plan --accept 0.7,0.12 --nodes 2:6:2 --c 0.1",
        "serve --rate 1 --batch 8 --draft-cost round=1ms --requests 30 --K 0,2",
    };
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        give(of[i], "first.csv");
        char *first = whole("first.csv"), *line = strstr(first, "\n# | speclab ");
        assert_non_null(line);
        line += strlen("\n# | speclab ");
        char command[1024];
        snprintf(command, sizeof command, "%.*s", (int)strcspn(line, "\n"), line);
        give(command, "second.csv");
        char *second = whole("second.csv");
        assert_string_equal(first, second);
        free(first);
        free(second);
    }
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
