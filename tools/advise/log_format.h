/* SPDX-License-Identifier: GPL-3.0-or-later */
/* log_format: the table of the logs, metrics and responses of engines that `advise` reads.
 * A record is a line of text, or one JSON value that may span lines. Readers do no input
 * themselves. */
#ifndef SPECLAB_LOG_FORMAT_H
#define SPECLAB_LOG_FORMAT_H

#include "tools/advise/observation.h"

#include <stdbool.h>
#include <stddef.h>

/* One record, and where its observations go. */
typedef struct {
    const char *bytes; /* (n), and a zero byte */
    size_t n;
    const char *file;
    uint64_t line; /* line of its first byte */
    int K;         /* the user's draft length, 1 or more; -1: not given */
    double time;   /* from the nearest line "# time SECONDS" above; 0: none; NaN: malformed */
    const spec_observer *observer;
} spec_log_record;

/* What a source does not report, so that advise can say what to switch on. */
typedef enum {
    SPEC_LOG_NO_ROUNDS = 1,    /* the number of rounds is only known from K */
    SPEC_LOG_NO_DEPTHS = 2,    /* nothing by depth */
    SPEC_LOG_NO_TIMES = 4,     /* no seconds */
    SPEC_LOG_ROUNDED = 8,      /* only rounded means, no counts */
    SPEC_LOG_OLD_MEANING = 16, /* a generation whose numbers have a different meaning: see the
                                * format */
    SPEC_LOG_TREE = 32,        /* drafted tokens are nodes of trees */
} spec_log_gap;

/* What a reader learns about its file while it reads. */
typedef struct {
    int generation; /* the newest one seen, as an index into the format's generations; or -1 */
    unsigned gaps;  /* bits of spec_log_gap, for the newest observation */
    char note[160]; /* a remark for the user, such as names of unknown counters */
} spec_log_learned;

typedef struct {
    const char *name;    /* "vllm-log" */
    const char *engine;  /* "vllm": the key of the settings (engine_settings.h) */
    const char *summary; /* the output that it reads */
    /* Versions of the output, oldest first, such as "0.4 to 0.8 (V0)"; NULL-terminated. */
    const char *const *generations;
    /* Returns whether the record may have this format. It must be cheap, and strict enough to
     * reject every record of another format. */
    bool (*concerns)(const char *bytes, size_t n);
    /* Texts of at least 3 bytes, NULL-terminated. Every record of the format contains one of them,
     * so `concerns` is not called for records without them. NULL: it is called for all records. */
    const char *const *needles;
    size_t state_size; /* zeroed at the beginning of a file */
    /* Reads a record that `concerns` accepts; calls observer->take any number of times. Returns
     * GSL_EINVAL with spec_log_bad if the record has the right words but the wrong form; later
     * records are still read. Returns GSL_EUNSUP with one line if the source cannot answer. */
    int (*read)(void *state, spec_log_learned *learned, const spec_log_record *record,
                spec_error *error);
    /* Called at the end of the file: hands over what still waits for a companion line. NULL:
     * nothing waits. */
    int (*end)(void *state, spec_log_learned *learned, const spec_log_record *last,
               spec_error *error);
} spec_log_format;

/* A list of texts that ends with NULL, for the members above. */
#define SPEC_TEXTS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* The table, in this order, and NULL. READER(name) is spec_reader_<name>, in the file of its
 * engine. No record has two formats. */
extern const spec_log_format *const spec_log_formats[];
#define SPEC_READERS(READER)                                                                       \
    READER(vllm_log)                                                                               \
    READER(vllm_bench_table)                                                                       \
    READER(sglang_log)                                                                             \
    READER(llamacpp_log)                                                                           \
    READER(mlx_vlm_log)                                                                            \
    READER(ollama_log)                                                                             \
    READER(prometheus_vllm)                                                                        \
    READER(prometheus_sglang)                                                                      \
    READER(prometheus_llama)                                                                       \
    READER(prometheus_tgi)                                                                         \
    READER(vllm_response)                                                                          \
    READER(vllm_bench)                                                                             \
    READER(aiperf)                                                                                 \
    READER(aiperf_summary)                                                                         \
    READER(speed_bench_report)                                                                     \
    READER(sglang_response)                                                                        \
    READER(sglang_server_info)                                                                     \
    READER(tensorrt_iterations)                                                                    \
    READER(tensorrt_response)                                                                      \
    READER(llamacpp_response)                                                                      \
    READER(mlx_vlm_response)                                                                       \
    READER(lmstudio_response)                                                                      \
    READER(mlc_metrics)                                                                            \
    READER(accepted_lengths)                                                                       \
    READER(specdec_bench)                                                                          \
    READER(specdec_bench_response)                                                                 \
    READER(openai_usage)
#define DECLARE(name) extern const spec_log_format spec_reader_##name;
SPEC_READERS(DECLARE)
#undef DECLARE

enum { SPEC_LOG_FORMATS = 64 }; /* formats of a table, at most */

/* Returns GSL_EINVAL if no engine or format of the table has this name. */
int spec_log_format_check(const char *name, const spec_log_format *const *table, spec_error *error);

/* Fails with "file:line: ..."; returns GSL_EINVAL. */
__attribute__((format(printf, 3, 4))) int spec_log_bad(const spec_log_record *record,
                                                       spec_error *error, const char *format, ...);

/* Hands an observation of the record to its observer. */
int spec_log_hand_over(const spec_log_record *record, const spec_observation *observation,
                       spec_error *error);

/* Returns the first occurrence of these bytes in the record, or NULL. */
const char *spec_log_find(const char *bytes, size_t n, const char *needle);

/* Returns the hash of a text for `label`; never 0. */
uint64_t spec_log_label(const char *bytes, size_t n);

/* Returns whether this is a line "# time SECONDS", which says when the scrape below it was taken:
 * { echo "# time $(date +%s)"; curl -s HOST/metrics; } writes one. After "# time " comes one word
 * that begins with a digit or a sign. *ret_seconds, since 1970, is then above 0 and below 10^11, or
 * NaN if the word is something else, such as 12:30 or 1,5. */
bool spec_log_time_comment(double *ret_seconds, const char *bytes, size_t n);

#endif
