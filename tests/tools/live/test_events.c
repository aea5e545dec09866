/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/live/events.h"

#include "tests/support/support.h"

#include <string.h>

static const char stream[] = "\xef\xbb\xbf"
                             ": welcome\n\ndata: {\"a\": \"\xc3\xa9\"}\r\n\r\nevent: x\rid: 7\r"
                             "data:b\rdata\rdata:  c\r\r\n\ndata: [DONE]\n\nretry: 3\n\ndata:\n\n"
                             "database: no\n\ndata: d\r\ndata: e\r\n\r\n";
static const char *const expected[] = {
    "{\"a\": \"\xc3\xa9\"}", "b\n\n c", "[DONE]", "", "d\ne", NULL};

static int take(void *self, const char *data, size_t n, spec_error *error)
{
    int *seen = self;
    (void)error;
    assert_non_null(expected[*seen]);
    assert_int_equal(strlen(data), n);
    assert_string_equal(data, expected[(*seen)++]);
    return GSL_SUCCESS;
}

static void read_in_pieces(const size_t *cut, int n)
{
    OWNED(spec_events) events = {.line = NULL};
    spec_error error;
    size_t from = 0;
    int seen = 0;
    for (int i = 0; i <= n; i++) {
        const size_t to = i < n ? cut[i] : sizeof stream - 1;
        assert_int_equal(spec_events_add(&events, stream + from, to - from, take, &seen, &error),
                         GSL_SUCCESS);
        from = to;
    }
    assert_null(expected[seen]);
    assert_false(spec_events_unfinished(&events));
}

TEST(a_stream_gives_the_same_events_wherever_it_is_cut)
{
    size_t every[sizeof stream];
    for (size_t i = 0; i < sizeof stream; i++) {
        every[i] = i;
        for (size_t k = i; k < sizeof stream; k++) read_in_pieces((const size_t[]){i, k}, 2);
    }
    read_in_pieces(every, sizeof stream);
}

static int refuse(void *self, const char *data, size_t n, spec_error *error)
{
    (void)data, (void)n;
    ++*(int *)self;
    return spec_fail(error, GSL_EFAILED, "enough");
}

TEST(an_event_that_is_refused_ends_the_reading)
{
    OWNED(spec_events) events = {.line = NULL};
    spec_error error;
    int seen = 0;
    const char *two = "data: 1\n\ndata: 2\n\n";
    assert_int_equal(spec_events_add(&events, two, strlen(two), refuse, &seen, &error),
                     GSL_EFAILED);
    assert_int_equal(seen, 1);
}

TEST(a_stream_that_ends_within_an_event_is_unfinished)
{
    static const char *const texts[] = {"data: 1\n", "data: 1", "x", "data: 1\n\nd"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        OWNED(spec_events) events = {.line = NULL};
        spec_error error;
        int seen = 0;
        spec_events_add(&events, texts[i], strlen(texts[i]), refuse, &seen, &error);
        if (seen == 0) assert_true(spec_events_unfinished(&events));
        spec_events_reset(&events);
        assert_false(spec_events_unfinished(&events));
    }
}

/* One long line, and many short ones of one event. */
TEST(an_endless_event_is_an_error_before_it_takes_the_memory)
{
    char piece[4096];
    spec_error error;
    int seen = 0;
    for (int lines = 0; lines < 2; lines++) {
        OWNED(spec_events) events = {.line = NULL};
        int status = GSL_SUCCESS;
        size_t sent = 0;
        memset(piece, 'x', sizeof piece);
        memcpy(piece, "data:", 5);
        if (lines) piece[sizeof piece - 1] = '\n';
        while (status == GSL_SUCCESS && sent < 2 * (size_t)SPEC_EVENT_BYTES) {
            status = spec_events_add(&events, piece, sizeof piece, refuse, &seen, &error);
            sent += sizeof piece;
        }
        assert_int_equal(status, GSL_EINVAL);
        assert_string_equal(error.text, "an event of the stream is longer than 1 MiB");
        assert_true(sent <= SPEC_EVENT_BYTES + 2 * sizeof piece);
        assert_true(events.line_capacity + events.data_capacity <= 6 * (size_t)SPEC_EVENT_BYTES);
    }
    assert_int_equal(seen, 0);
}
