/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz what `drive` reads: streams of events in each dialect, /metrics, and files of --capture. The
 * first byte chooses. Any bytes give numbers within their ranges, or one line. */
#include "tools/live/drive_blocks.h"
#include "tools/live/events.h"
#include "tools/live/streams.h"

#include "base/json_memory.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { DIALECTS = 3, METRICS = 3, CAPTURE = 4, KINDS = 5 };

static void check_count(double n)
{
    assert(isnan(n) || (n >= 0.0 && n <= INT32_MAX && n == floor(n)));
}

static int read_event(void *self, const char *data, size_t n, spec_error *error)
{
    const spec_live_stream *stream = self;
    spec_live_event event;
    json_error_t why;
    json_t *value = spec_json_load_within(1 << 24, data, n, JSON_REJECT_DUPLICATES, &why);
    if (value == NULL) return GSL_SUCCESS;
    if (stream->read(&event, value, error) == GSL_SUCCESS) {
        assert(event.tokens >= 0);
        check_count(event.rounds);
        check_count(event.drafted);
        check_count(event.accepted);
    }
    json_decref(value);
    return GSL_SUCCESS;
}

/* Events read as a whole and byte by byte must be the same. */
static void read_stream(int dialect, const char *bytes, size_t n)
{
    spec_live_server server = {.dialect = &spec_dialects[dialect]};
    spec_live_stream stream = *spec_live_stream_of(&server);
    spec_events whole = {.line = NULL}, pieces = {.line = NULL};
    spec_error error = {.text = ""};
    const int status = spec_events_add(&whole, bytes, n, read_event, &stream, &error);
    for (size_t i = 0; i < n && status == GSL_SUCCESS; i++)
        assert(spec_events_add(&pieces, bytes + i, 1, read_event, &stream, &error) == GSL_SUCCESS);
    if (status == GSL_SUCCESS)
        assert(spec_events_unfinished(&whole) == spec_events_unfinished(&pieces));
    assert(strchr(error.text, '\n') == NULL);
    spec_events_free(&whole);
    spec_events_free(&pieces);
}

static void read_metrics(const char *bytes, size_t n)
{
    static const char *const engines[] = {"vllm", "sglang", "llamacpp"};
    char *text = strndup(bytes, n);
    spec_live_counts counts;
    spec_error error = {.text = ""};
    for (int i = 0; i < 3; i++)
        if (spec_live_counts_read(&counts, text, engines[i], &error) == GSL_SUCCESS)
            assert(counts.rounds >= 0.0 && counts.drafted >= 0.0 && counts.accepted >= 0.0 &&
                   counts.depths <= SPEC_OBSERVED_DEPTHS);
    assert(strchr(error.text, '\n') == NULL);
    free(text);
}

static void read_capture(const char *bytes, size_t n)
{
    FILE *file = tmpfile();
    spec_live_server server;
    spec_drive_blocks blocks;
    spec_error error = {.text = ""};
    fwrite(bytes, 1, n, file);
    if (spec_drive_file_read(&blocks, &server, file, "x", 77, &error) == GSL_SUCCESS) {
        for (int i = 0; i < blocks.n; i++) {
            const spec_drive_sums sums = spec_drive_block_sums(&blocks.block[i], NULL);
            assert(!(sums.tokens < 0.0) && blocks.block[i].concurrency >= 1);
        }
        spec_drive_blocks_free(&blocks);
    }
    assert(strchr(error.text, '\n') == NULL);
    fclose(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) return 0;
    const int kind = *data % KINDS;
    const char *bytes = (const char *)data + 1;
    if (kind < DIALECTS) read_stream(kind, bytes, size - 1);
    if (kind == METRICS) read_metrics(bytes, size - 1);
    if (kind == CAPTURE) read_capture(bytes, size - 1);
    return 0;
}
