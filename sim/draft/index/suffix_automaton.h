/* SPDX-License-Identifier: GPL-3.0-or-later */
/* suffix_automaton: every string that occurs in some texts, with its number of occurrences.
 * It grows token by token, in amortised constant time and about 120 bytes per token [Blumer85]. A
 * state stands for all strings that end at the same positions of the texts; state 0 is the empty
 * string. The automaton owns its arrays, which grow only in _reserve. */
#ifndef SPECLAB_SUFFIX_AUTOMATON_H
#define SPECLAB_SUFFIX_AUTOMATON_H

#include "speclab/status.h"

#include <stddef.h>

/* Maximum tokens of all texts together. */
enum { SPEC_SUFFIX_AUTOMATON_MAX = 1 << 27 };

typedef struct {
    int length; /* length of its longest string */
    int link;   /* the state of the longest suffix that belongs to another state; -1 for state 0 */
    int count;  /* number of positions where its strings end, exact for strings of at most `reach`
                 * tokens */
    int edge;   /* its first edge, or -1 */
} spec_suffix_state;

typedef struct {
    int from, token, to;
    int next; /* the next edge of `from`, or -1 */
} spec_suffix_edge;

typedef struct {
    int reach;
    int n_tokens, capacity; /* tokens of all texts */
    int n_states, n_edges;
    spec_suffix_state *state; /* (2 capacity + 1) */
    spec_suffix_edge *edge;   /* (3 capacity + 1) */
    int *slot;                /* (n_slots) hash table of edges, -1: free */
    size_t n_slots;           /* a power of 2 */
    int last;                 /* state of the whole current text */
    int near, near_length;    /* state of its last min(n, reach) tokens, and how many these are */
} spec_suffix_automaton;

/* Makes an empty automaton, without memory; counts are exact for strings of at most `reach` >= 1
 * tokens. */
void spec_suffix_automaton_init(spec_suffix_automaton *automaton, int reach);
void spec_suffix_automaton_free(spec_suffix_automaton *automaton); /* accepts a zeroed one */

/* Forgets all texts but keeps the memory. */
void spec_suffix_automaton_reset(spec_suffix_automaton *automaton);

/* Reserves memory for `more` >= 0 tokens; memory that grows at least doubles. Returns GSL_ENOMEM
 * also beyond SPEC_SUFFIX_AUTOMATON_MAX. */
int spec_suffix_automaton_reserve(spec_suffix_automaton *automaton, int more, spec_error *error);

/* Begins another text: no string spans two texts. */
void spec_suffix_automaton_begin(spec_suffix_automaton *automaton);

/* Appends the next token of the text; memory must be reserved. Amortised O(1), plus O(reach) for
 * counts. */
void spec_suffix_automaton_append(spec_suffix_automaton *automaton, int token);

/* Returns the state of the strings of `state`, each followed by this token; -1 if they do not
 * occur. */
int spec_suffix_automaton_next(const spec_suffix_automaton *automaton, int state, int token);

/* Extends the longest match of a text by its next token: *state then stands for its last *length <=
 * most tokens. */
void spec_suffix_automaton_follow(const spec_suffix_automaton *automaton, int *state, int *length,
                                  int token, int most);

#endif
