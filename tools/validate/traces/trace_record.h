/* SPDX-License-Identifier: GPL-3.0-or-later */
/* trace_record: the head of a trace and its records, as trace_read fills them in.
 * docs/conformance.md#traces specifies the format of the file. */
#ifndef SPECLAB_TRACE_RECORD_H
#define SPECLAB_TRACE_RECORD_H

#include "tools/validate/fixtures/filter_order.h"

#include <stdint.h>

enum { SPEC_TRACE_VOCAB_MAX = 1 << 20, SPEC_TRACE_REQUESTS_MAX = 1 << 22 };

/* The first line of the file. */
typedef struct {
    char name[64];            /* "engine"; "" if missing */
    int vocab;
    bool logprobs; /* "rows":"logprobs": whole rows hold log-probabilities; null is probability 0 */
    bool sampled;  /* positions may be missing, for reasons independent of the tokens */
    bool lossy;               /* deliberately differs from the target's law */
    double precision;         /* rounding error of log-probabilities; 1e-6 */
    /* sampling parameters to apply to whole rows, which are logged raw */
    spec_transform transform;
    spec_filter_order filters; /* the order of these parameters */
    bool orders;              /* the file declares that order */
} spec_trace_head;

/* The past of a text. The reader finds it, and the evidence updates it. */
typedef struct {
    uint64_t key;      /* hash of the request */
    int64_t position;  /* position of the last token */
    float pit, before; /* PITs of the last two tokens; negative: unknown */
    int place;         /* position of the last token in its round; negative: unknown */
    int accepted;      /* whether the last token was accepted: 1, 0; -1: unknown */
    bool drafted;      /* the last position had a draft token */
    bool ended;        /* a response gave its reason for finishing */
} spec_trace_text;

/* One emitted token. Its row is a law over cells. Either every token of the vocabulary is a cell,
 * or only the most probable tokens are, and the last cell stands for all others. */
typedef struct {
    spec_trace_text *text;
    int32_t token;
    double target_log, draft_log; /* NaN: not given; -inf: probability 0 */
    int n_cells, cell;            /* n_cells 0: no row. cell: the token's cell */
    bool whole; /* cell i is token i; otherwise it is id[i], and the last cell is the rest, id -1 */
    const int32_t *id;
    const double *target;         /* (n_cells) sums to 1 */
    const double *draft;          /* (n_cells) or NULL */
    int32_t drafted;              /* draft token at this position; -1: none, or not given */
    int accepted;                 /* 1, 0; -1: not given */
    double coin;                  /* NaN: not given */
} spec_trace_record;

#endif
