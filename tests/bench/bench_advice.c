/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/bench/bench.h"
#include "tools/advise/counter_differences.h"
#include "tools/advise/log_file.h"
#include "tools/advise/observed_sums.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BYTES = 8 << 20 };

typedef struct {
    int fd;
    char path[64];
    uint64_t size;
} log_state;

static const char access_line[] =
    "(APIServer pid=1) INFO 05-01 14:24:50 [loggers.py:123] 127.0.0.1:52344 - \"POST "
    "/v1/completions HTTP/1.1\" 200 OK request cmpl-6b1f0e2a finished in 1.2 s\n";
static const char metrics_line[] =
    "(APIServer pid=1) INFO 05-01 14:24:50 [metrics.py:101] SpecDecoding metrics: Mean acceptance "
    "length: 5.44, Accepted throughput: 26.20 tokens/s, Drafted throughput: 29.50 tokens/s, "
    "Accepted: 262 tokens, Drafted: 295 tokens, Per-position acceptance rate: 0.983, 0.949, 0.915, "
    "0.881, 0.712, Avg Draft acceptance rate: 88.8%\n";

static void close_log(void *state)
{
    log_state *s = state;
    close(s->fd);
    free(s);
}

/* One of every *setup lines of the log has metrics. */
static const char *open_log(void **ret_state, const void *setup)
{
    const int every = *(const int *)setup;
    log_state *s = calloc(1, sizeof *s);
    char *text = malloc(BYTES);
    if (s == NULL || text == NULL) abort();
    for (int i = 0;; i++) {
        const char *line = i % every == 0 ? metrics_line : access_line;
        const size_t n = strlen(line);
        if (s->size + n > BYTES) break;
        memcpy(text + s->size, line, n);
        s->size += n;
    }
    s->fd = memfd_create("log", 0);
    *ret_state = s;
    if (s->fd < 0 || write(s->fd, text, s->size) != (ssize_t)s->size) abort();
    snprintf(s->path, sizeof s->path, "/proc/self/fd/%d", s->fd);
    free(text);
    return NULL;
}

static uint64_t read_log(void *state, uint64_t n)
{
    const log_state *s = state;
    const spec_log_options options = {.K = -1};
    uint64_t done = 0;
    while (done < n) {
        spec_observed_sums sums = {0};
        spec_counter_differences differences = {.to = spec_observed_sums_observer(&sums)};
        const spec_observer observer = spec_counter_differences_observer(&differences);
        spec_log_summary summary;
        if (spec_log_file_read(&summary, s->path, &options, &observer, NULL) != GSL_SUCCESS ||
            spec_counter_differences_end(&differences, NULL) != GSL_SUCCESS)
            abort();
        done += summary.bytes;
        spec_counter_differences_free(&differences);
        spec_observed_sums_free(&sums);
    }
    return done;
}

/* The goal is 1e9 bytes in 10 s. */
#define ROW(name, every)                                                                           \
    .work = name, .unit = "B", .init = open_log, .run = read_log, .free = close_log,               \
    .setup = &(const int){every}, .asked = 1e8

const spec_bench_row spec_bench_advice[] = {
    {ROW("one line in 20 of a format", 20)},
    {ROW("every line of a format", 1)},
    {.work = NULL},
};
