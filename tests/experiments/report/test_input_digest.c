/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/report/input_digest.h"
#include "tests/support/child.h"
#include "tests/support/folder.h"
#include "tests/support/support.h"

#include <string.h>

/* Returns the digest of an experiment with overrides. */
static const char *digest_of(char digest[SPEC_INPUT_DIGEST_SIZE], const char *text,
                             const char *const *opt_set)
{
    OWNED(spec_experiment) e;
    assert_works(spec_experiment_parse(&e, "own.cfg", text, strlen(text), opt_set, &error));
    assert_works(spec_input_digest(digest, &e, NULL, &error));
    return digest;
}

static const char grid_text[] =
    "title = \"A\"; measure = \"acceptance\"; rounds = 1000; labels = [\"task\"];\n"
    "points = ( { alpha = 0.5; K = 2; task = \"x\"; }, { alpha = 0.8; K = 4; task = \"y\"; } );";

TEST(every_change_of_the_inputs_changes_it)
{
    static const char *const sets[] = {"K=3",   "alpha=0.5", "rounds=1001",        "seed=43",
                                       "c=0.2", "task=x",    "standard_error=0.1", "process=iid"};
    char was[SPEC_INPUT_DIGEST_SIZE], is[SPEC_INPUT_DIGEST_SIZE];
    digest_of(was, grid_text, NULL);
    assert_int_equal(strlen(was), 16); /* no file */
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        assert_string_not_equal(digest_of(is, grid_text, (const char *const[]){sets[i], NULL}),
                                was);
    assert_string_equal(
        digest_of(is, grid_text,
                  (const char *const[]){"title=B", "finding=C", "rounds=1000", NULL}),
        was);
}

TEST(the_bytes_of_the_texts_are_part_of_it, .setup = spec_folder_enter,
     .teardown = spec_folder_leave)
{
    static const char text[] =
        "measure = \"overlap\"; defaults = { TEXT = \"own.txt\"; };\n"
        "grid = { target = \"ngram:${TEXT}?order=3\"; draft = \"ngram:${TEXT}?order=2\"; };";
    char was[SPEC_INPUT_DIGEST_SIZE], is[SPEC_INPUT_DIGEST_SIZE];
    spec_file_write("own.txt", "the cat sat on the mat");
    spec_file_write("same.txt", "the cat sat on the mat");
    digest_of(was, text, NULL);
    assert_int_equal(strlen(was), 33);
    assert_string_equal(digest_of(is, text, NULL), was);
    assert_string_not_equal(digest_of(is, text, (const char *const[]){"TEXT=same.txt", NULL}),
                            was); /* also of the name */
    spec_file_write("own.txt", "the cat sat on the hat");
    assert_int_equal(strncmp(digest_of(is, text, NULL), was, 17),
                     0); /* only the part about files differs */
    assert_string_not_equal(is, was);
    spec_file_write("own.txt", "the cat sat on the mat");
    assert_string_equal(digest_of(is, text, NULL), was);
}

/* The file that a strategy reads is hashed. A folder or file with the name of a kind is not an
 * input. */
TEST(files_are_found_behind_strategies_alone, .setup = spec_folder_enter,
     .teardown = spec_folder_leave)
{
    static const char text[] =
        "measure = \"prove\"; grid = { rule = \"token\"; target = \"uniform?V=3\"; draft = "
        "[\"chain:uniform?V=3\", \"greedy:probs:own.txt\"]; K = 1; };";
    char was[SPEC_INPUT_DIGEST_SIZE], is[SPEC_INPUT_DIGEST_SIZE];
    spec_file_write("own.txt", "0.5,0.3,0.2");
    digest_of(was, text, NULL);
    assert_int_equal(strlen(was), 33);
    spec_file_write("uniform", "no model");
    assert_string_equal(digest_of(is, text, NULL), was);
    spec_file_write("own.txt", "0.5,0.2,0.3");
    assert_string_not_equal(digest_of(is, text, NULL), was);
}

TEST(a_finding_agrees_with_its_inputs_alone)
{
    char digest[SPEC_INPUT_DIGEST_SIZE], text[1024];
    spec_experiment e;
    digest_of(digest, grid_text, NULL);
    for (int i = 0; i < 5; i++) {
        const char *const wrong_digest[] = {"finding_for=0123456789abcdef", NULL},
                          *const changed[] = {"K=3", NULL}, *const none[] = {"finding_for=", NULL},
                          *const silent[] = {"finding=", NULL};
        const char *const *const sets[] = {NULL, wrong_digest, changed, none, silent};
        snprintf(text, sizeof text, "%s finding = \"So.\"; finding_for = \"%s\";", grid_text,
                 digest);
        assert_works(spec_experiment_parse(&e, "own.cfg", text, strlen(text), sets[i], &error));
        assert_int_equal(spec_input_digest_agrees(&e, NULL), i == 0);
        spec_experiment_free(&e);
    }
}
