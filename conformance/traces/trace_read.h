/* SPDX-License-Identifier: GPL-3.0-or-later */
/* trace_read: reads a trace, JSON lines of the tokens that an engine emitted.
 * The file is hostile: lines, rows and requests are limited before memory is allocated for them,
 * and errors name file and line. A record's rows belong to the reader, until the next record.
 * docs/conformance.md#traces specifies the format. */
#ifndef SPECLAB_TRACE_READ_H
#define SPECLAB_TRACE_READ_H

#include "conformance/fixtures/filter_order.h"

#include <stdint.h>

enum { SPEC_TRACE_VOCAB_MAX = 1 << 20, SPEC_TRACE_REQUESTS_MAX = 1 << 22 };

/* The first line of the file. */
typedef struct {
    char name[64];            /* "engine"; "" if absent */
    int vocab;
    bool logprobs; /* "rows":"logprobs": whole rows hold log-probabilities; null is probability 0 */
    bool sampled;  /* positions may be missing, for reasons independent of the tokens */
    bool lossy;               /* deliberately differs from the target's law */
    double precision;         /* rounding error of log-probabilities; 1e-6 */
    /* sampling parameters, to apply to whole rows, which are logged raw */
    spec_transform transform;
    spec_filter_order filters; /* the order of these parameters */
    bool orders;              /* the file declares that order */
} spec_trace_head;

/* The past of a text. The reader finds it, the evidence updates it. */
typedef struct {
    uint64_t key;      /* hash of the request */
    int64_t position;  /* of the last token */
    float pit, before; /* PITs of the last two tokens; negative: unknown */
    int place;         /* position of the last token in its round; negative: unknown */
    int accepted;      /* whether the last token was accepted: 1, 0; -1: unknown */
    bool drafted;      /* the last place had a draft token */
} spec_trace_text;

/* One emitted token. Its row is a law over cells: all tokens of the vocabulary, or the most
 * probable ones and, as the last cell, all others together. */
typedef struct {
    spec_trace_text *text;
    int32_t token;
    double target_log, draft_log; /* NaN: not given; -inf: probability 0 */
    int n_cells, cell;            /* n_cells 0: no row. cell: that of the token */
    bool whole; /* cell i is token i; otherwise it is id[i], and the last cell is the rest, id -1 */
    const int32_t *id;
    const double *target;         /* (n_cells) sums to 1 */
    const double *draft;          /* (n_cells) or NULL */
    int32_t drafted;              /* draft token of this place; -1: none, or not given */
    int accepted;                 /* 1, 0; -1: not given */
    double coin;                  /* NaN: not given */
} spec_trace_record;

typedef struct spec_trace_reader spec_trace_reader;

/* Reads the first line from `file`, which stays the caller's; `name` is for messages. GSL_EINVAL
 * for an invalid one. */
int spec_trace_read_open(spec_trace_reader **ret, FILE *file, const char *name, spec_error *error);
void spec_trace_read_close(spec_trace_reader *reader);

const spec_trace_head *spec_trace_read_head(const spec_trace_reader *reader);

/* Reads the next record; *ret_end at the end of the file. GSL_EINVAL, with file and line, for an
 * invalid or contradictory record; GSL_EFAILED if the file cannot be read; GSL_ENOMEM. */
int spec_trace_read_next(spec_trace_reader *reader, spec_trace_record *ret, bool *ret_end,
                         spec_error *error);

/* Line of the last record; texts so far. */
uint64_t spec_trace_read_line(const spec_trace_reader *reader);
uint64_t spec_trace_read_texts(const spec_trace_reader *reader);

#endif
