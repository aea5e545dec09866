/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/rows/rows_file.h"
#include "speclab/speclab.h"
#include "tests/support/child.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static speclab *lab;

static int set_up(void **state)
{
    const int code = spec_program_set_up(state);
    return code != 0 ? code : speclab_open(&lab, NULL, NULL, 0);
}

static int tear_down(void **state)
{
    speclab_close(lab);
    return spec_program_tear_down(state);
}

enum { V = 3 };
static const char *const names[] = {"mine", "its draft"};
static const double target[][V] = {{0.27, 0.2, 0.53}, {0.1, 0.9, 0.0}, {1.0, 0.0, 0.0}};
static const double draft[][V] = {{0.5, 0.25, 0.25}, {0.61, 0.39, 0.0}, {0.0, 0.0, 1.0}};

static speclab_rows_options two_sides(void)
{
    return (speclab_rows_options){
        .size = sizeof(speclab_rows_options), .vocab = V, .sides = 2, .name = names};
}

static speclab_rows *open_rows(const char *path)
{
    char error[512];
    const speclab_rows_options options = two_sides();
    speclab_rows *rows;
    if (speclab_rows_open(&rows, lab, path, &options, error, sizeof error) != SPECLAB_OK)
        fail_msg("%s", error);
    return rows;
}

static void add(speclab_rows *rows, int64_t position, int place)
{
    const double *const row[] = {target[place], draft[place]};
    assert_int_equal(speclab_rows_place(rows, position, row, NULL, 0), SPECLAB_OK);
}

TEST(rows_are_read_as_they_were_written)
{
    speclab_rows *rows = open_rows("two.rows");
    const int32_t first[] = {2, 1}, second[] = {0, 2, 1};
    assert_int_equal(speclab_rows_text(rows, first, 2, NULL, 0), SPECLAB_OK);
    add(rows, 0, 0);
    assert_int_equal(speclab_rows_text(rows, second, 3, NULL, 0), SPECLAB_OK);
    add(rows, 0, 1);
    add(rows, 2, 2);
    assert_int_equal(speclab_rows_finish(rows, NULL, 0), SPECLAB_OK);
    speclab_rows_close(rows);

    CLOSED(spec_rows_file) file;
    double row[V];
    assert_works(spec_rows_file_open(&file, "two.rows", &error));
    assert_int_equal(file.texts, 2);
    assert_int_equal(file.tokens, 5);
    assert_int_equal(file.places, 3);
    assert_int_equal(spec_rows_file_text(&file, 1), 2);
    assert_int_equal(spec_rows_file_position(&file, 2), 4);
    assert_int_equal(spec_rows_file_token(&file, 4), 1);
    assert_memory_equal(file.side[1].spec, "its draft", file.side[1].spec_length);
    for (uint64_t place = 0; place < 3; place++)
        for (int side = 0; side < 2; side++) {
            assert_works(spec_rows_file_row(row, &file, place, side, &error));
            assert_memory_equal(row, side == 0 ? target[place] : draft[place], sizeof row);
        }
}

TEST(the_file_is_a_model_of_every_function)
{
    speclab_rows *rows = open_rows("model.rows");
    const int32_t token[] = {2};
    assert_int_equal(speclab_rows_text(rows, token, 1, NULL, 0), SPECLAB_OK);
    add(rows, 0, 0);
    assert_int_equal(speclab_rows_finish(rows, NULL, 0), SPECLAB_OK);
    speclab_rows_close(rows);
    const speclab_pair pair = {.size = sizeof pair,
                               .K = 1,
                               .target = "rows:model.rows",
                               .draft = "rows:model.rows?side=draft"};
    speclab_round *round;
    assert_int_equal(speclab_round_run(&round, lab, &pair, NULL, NULL, 0), SPECLAB_OK);
    assert_memory_equal(speclab_round_target_row(round, -1), target[0], sizeof target[0]);
    assert_memory_equal(speclab_round_draft_row(round, 0), draft[0], sizeof draft[0]);
    speclab_round_free(round);
}

TEST(a_file_that_is_not_finished_is_removed)
{
    speclab_rows *rows = open_rows("none.rows");
    const int32_t token[] = {2};
    char error[512];
    assert_int_equal(speclab_rows_finish(rows, error, sizeof error), SPECLAB_INPUT);
    assert_string_equal(error, "a file of rows must have at least one position");
    assert_int_equal(speclab_rows_text(rows, token, 1, NULL, 0), SPECLAB_OK);
    add(rows, 0, 0);
    speclab_rows_close(rows);
    speclab_rows_close(NULL);
    assert_int_not_equal(access("none.rows", F_OK), 0);
}

static void refused(speclab_rows_options options, const char *line)
{
    char error[512];
    speclab_rows *rows;
    assert_int_equal(speclab_rows_open(&rows, lab, "bad.rows", &options, error, sizeof error),
                     SPECLAB_INPUT);
    assert_null(rows);
    assert_non_null(strstr(error, line));
}

TEST(wrong_options_are_named)
{
    const char *const none[] = {"mine", NULL};
    speclab_rows_options options = two_sides();
    options.vocab = 0;
    refused(options, "vocab must be 1 to 1048576, got 0");
    options.vocab = V;
    options.sides = 9;
    refused(options, "sides must be 1 to 8, the target first, got 9");
    options.sides = 2;
    options.cutoff = NAN;
    refused(options, "cutoff must be 0 to 0.01, got nan");
    options.cutoff = 0.0;
    options.name = none;
    refused(options, "a name is NULL");
    options.size = 3;
    refused(options, "the size of speclab_rows_options is 3");
}

static void place_refused(speclab_rows *rows, int64_t position, const double *row, const char *line)
{
    char error[512];
    const double *const both[] = {target[0], row};
    assert_int_equal(speclab_rows_place(rows, position, both, error, sizeof error), SPECLAB_INPUT);
    assert_non_null(strstr(error, line));
}

TEST(wrong_rows_places_and_tokens_are_named)
{
    char error[512];
    speclab_rows *rows = open_rows("wrong.rows");
    const int32_t token[] = {0, 3}, good[] = {0, 1};
    const double negative[V] = {-0.5, 1.0, 0.5}, light[V] = {0.5, 0.25, 0.2499999999},
                 none[V] = {NAN, 0.5, 0.5};
    place_refused(rows, 0, draft[0], "there is no text, or it has no position left");
    assert_int_equal(speclab_rows_text(rows, token, 2, error, sizeof error), SPECLAB_INPUT);
    assert_string_equal(error, "token 1 must be 0 to 2, got 3");
    assert_int_equal(speclab_rows_text(rows, good, 0, error, sizeof error), SPECLAB_INPUT);
    assert_int_equal(speclab_rows_text(rows, good, 2, NULL, 0), SPECLAB_OK);
    place_refused(rows, 0, negative, "side 1: token 0 has probability -0.5");
    place_refused(rows, 0, none, "side 1: token 0 has probability nan");
    place_refused(rows, 0, light, "side 1: the row sums to 0.9999999999, not to 1");
    place_refused(rows, 0, NULL, "a row is NULL");
    place_refused(rows, 2, draft[0], "position must be 0 to 1, before a token of the text, got 2");
    add(rows, 1, 0);
    place_refused(rows, 1, draft[0], "there is no text, or it has no position left");
    assert_int_equal(speclab_rows_finish(rows, NULL, 0), SPECLAB_OK);
    assert_int_equal(speclab_rows_finish(rows, error, sizeof error), SPECLAB_INPUT);
    assert_string_equal(error, "the file is finished; open another one");
    speclab_rows_close(rows);
    assert_int_equal(speclab_rows_text(NULL, good, 2, NULL, 0), SPECLAB_INPUT);
}

SUITE(.setup = set_up, .teardown = tear_down);
