/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/names.h"
#include "tests/support/support.h"

#include <string.h>

static const char *const animals[] = {"heron", "otter", "oter", NULL};

static const char *animal(int i)
{
    return animals[i];
}

/* Too many names for one line. */
static const char *numbered(int i)
{
    static char name[16];
    snprintf(name, sizeof name, "animal-%d", i);
    return i < 100 ? name : NULL;
}

TEST(a_line_is_found_by_its_whole_name)
{
    spec_error error = {"untouched"};
    for (int i = 0; i < 3; i++)
        assert_int_equal(spec_names_find(animal, animals[i], "animal", &error), i);
    assert_string_equal(error.text, "untouched");
}

TEST(what_is_not_there_is_said_with_the_nearest_name)
{
    spec_error error = {""};
    assert_int_equal(spec_names_find(animal, "heorn", "animal", &error), -1);
    assert_string_equal(error.text, "no animal is named 'heorn'; did you mean 'heron'?");
    assert_int_equal(spec_names_find(animal, "ottre", "animal", &error), -1);
    assert_string_equal(error.text,
                        "no animal is named 'ottre'; did you mean 'otter'?"); /* the nearest */
    assert_int_equal(spec_names_find(animal, "", "animal", &error), -1);
    assert_string_equal(error.text, "no animal is named ''; they are heron, otter and oter");
    assert_int_equal(spec_names_find(numbered, "", "animal", &error), -1);
    assert_string_equal(error.text, "no animal is named ''; 'speclab list' shows them all");
    assert_int_equal(spec_names_find(numbered, "", "known mistake", &error), -1);
    assert_string_equal(error.text,
                        "no known mistake is named ''; 'speclab validate --list' shows them all");
    assert_int_equal(spec_names_find(animal, "heron\n", "animal", &error), -1);
    assert_null(strchr(error.text, '\n'));
    assert_int_equal(spec_names_find(animal, "elephant", "animal", NULL), -1);
}

TEST(the_nearest_name_is_a_slip_away)
{
    const char *const names[] = {"zipf", "uniform", "dirichlet", "markov", "V", NULL};
    assert_string_equal(spec_names_nearest("zifp", names), "zipf"); /* a transposition */
    assert_string_equal(spec_names_nearest("ziipf", names), "zipf");        /* an insertion */
    assert_string_equal(spec_names_nearest("ipf", names), "zipf");          /* a deletion */
    assert_string_equal(spec_names_nearest("Uniform", names), "uniform"); /* case is ignored */
    assert_string_equal(spec_names_nearest("dirchlit", names),
                        "dirichlet"); /* two slips in nine letters */
    assert_string_equal(spec_names_nearest("v", names), "V");
    assert_string_equal(spec_names_nearest("diri", names), "dirichlet"); /* its beginning */
    assert_null(spec_names_nearest("dir", names)); /* fewer than four letters of it */
    assert_string_equal(spec_names_nearest("alfa", (const char *const[]){"c", "alpha", NULL}),
                        "alpha");                     /* two slips in five letters */
    assert_null(spec_names_nearest("zapp", names));   /* two slips in four letters */
    assert_null(spec_names_nearest("x", names));      /* the whole name differs */
    assert_null(spec_names_nearest("", names));
    assert_null(spec_names_nearest("banana", names));
    char lengthy[100];
    memset(lengthy, 'z', 99);
    lengthy[99] = '\0';
    assert_null(spec_names_nearest(lengthy, names));
}

TEST(a_line_ends_in_the_nearest_name_or_otherwise)
{
    static const char *const names[] = {"token", "match", NULL};
    char near[SPEC_NAMES_MEANT_SIZE], lengthy[SPEC_NAMES_MEANT_SIZE + 10];
    assert_string_equal(spec_names_meant(near, "tokne", names, "; see the list"),
                        "; did you mean 'token'?");
    assert_string_equal(spec_names_meant(near, "banana", names, "; see the list"),
                        "; see the list");
    memset(lengthy, 'z', sizeof lengthy);
    lengthy[sizeof lengthy - 1] = '\0';
    assert_int_equal(strlen(spec_names_meant(near, "banana", names, lengthy)),
                     sizeof near - 1); /* cut at the size */
}

TEST(of_asked_names_the_first_unknown_one_is_said)
{
    static const char *const names[] = {"token", "match", NULL}, *const none[] = {NULL};
    static const char *const right[] = {"match", "token", "match", NULL};
    static const char *const wrong[] = {"match", "tokne", "banana", NULL};
    assert_works(spec_names_check(NULL, names, "rule", "", &error));
    assert_works(spec_names_check(none, names, "rule", "", &error));
    assert_works(spec_names_check(right, names, "rule", "", &error));
    assert_fails(spec_names_check(wrong, names, "rule", "", &error), GSL_EINVAL,
                 "no rule is named 'tokne'; did you mean 'token'?");
    assert_fails(spec_names_check(wrong + 2, names, "rule", "; see the list", &error), GSL_EINVAL,
                 "no rule is named 'banana'; see the list");
    assert_fails(spec_names_check(right, none, "rule", "; none", &error), GSL_EINVAL,
                 "no rule is named 'match'; none");
}
