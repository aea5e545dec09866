/* trace_read: reads what an engine did, token by token, from JSON lines. The file is hostile: lines, rows and requests
 * are limited before anything is allocated for them, and what is wrong is said with file and line. A record's rows are
 * the reader's, until the next. docs/conformance.md#traces tells the format. */
#ifndef SPECLAB_TRACE_READ_H
#define SPECLAB_TRACE_READ_H

#include "models/transform.h"

#include <stdint.h>

enum { SPEC_TRACE_VOCAB_MAX = 1 << 20, SPEC_TRACE_REQUESTS_MAX = 1 << 22 };

/* The first line. */
typedef struct {
    char name[64];            /* "engine"; "" where it is not said */
    int vocab;
    bool logprobs;            /* "rows":"logprobs": whole rows hold log-probabilities, null being one of 0 */
    bool sampled;             /* positions may be missing, and not because of what the tokens were */
    bool lossy;               /* not the target's law, on purpose */
    double precision;         /* of log-probabilities; 1e-6 */
    spec_transform transform; /* to be applied to whole rows, which are logged raw */
} spec_trace_head;

/* What went before in the same text. The evidence keeps it, the reader only finds it. */
typedef struct {
    uint64_t key;      /* of the request */
    int64_t position;  /* of its last token */
    float pit, before; /* places of its last two tokens in their laws; negative: not known */
    int place;         /* in its round, of its last token; negative: not known */
    int accepted;      /* of its last token: 1, 0; -1: not known */
    bool drafted;      /* there was a draft token at its last place */
} spec_trace_text;

/* One emitted token. Its row is a law over cells: all tokens of the vocabulary, or the most probable and, as the last
 * cell, all others together. */
typedef struct {
    spec_trace_text *text;
    int32_t token;
    double target_log, draft_log; /* NaN: not given; -inf: probability 0 */
    int n_cells, cell;            /* 0: no row; the token's cell */
    bool whole;                   /* cell i is token i; otherwise id[i], and the last is the rest, id -1 */
    const int32_t *id;
    const double *target;         /* (n_cells) sums to 1 */
    const double *draft;          /* (n_cells) or NULL */
    int32_t drafted;              /* the draft token at this place; -1: none, or not given */
    int accepted;                 /* 1, 0; -1: not given */
    double coin;                  /* NaN: not given */
} spec_trace_record;

typedef struct spec_trace_reader spec_trace_reader;

/* Read the head from `file`, which stays the caller's; `name` is for messages. GSL_EINVAL for what is no trace. */
int spec_trace_read_open(spec_trace_reader **ret, FILE *file, const char *name, spec_error *error);
void spec_trace_read_close(spec_trace_reader *reader);

const spec_trace_head *spec_trace_read_head(const spec_trace_reader *reader);

/* The next record; *ret_end at the end of the file. GSL_EINVAL, with file and line, for what is malformed or
 * contradicts itself; GSL_EFAILED where the file could not be read; GSL_ENOMEM. */
int spec_trace_read_next(spec_trace_reader *reader, spec_trace_record *ret, bool *ret_end, spec_error *error);

/* Of the record that was read last; how many texts there were so far. */
uint64_t spec_trace_read_line(const spec_trace_reader *reader);
uint64_t spec_trace_read_texts(const spec_trace_reader *reader);

#endif
