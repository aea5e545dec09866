/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/engine/sequence.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int spec_sequence_init(spec_sequence *sequence, int capacity, spec_error *error)
{
    *sequence = (spec_sequence){.capacity = capacity, .slots = capacity + SPEC_NODES_MAX};
    sequence->token = malloc((size_t)capacity * sizeof *sequence->token);
    sequence->node = malloc(2 * SPEC_NODES_MAX * sizeof *sequence->node);
    if (sequence->token == NULL || sequence->node == NULL) {
        spec_sequence_free(sequence);
        return spec_fail(error, GSL_ENOMEM, "out of memory for a text of %d tokens", capacity);
    }
    sequence->parent = sequence->node + SPEC_NODES_MAX;
    return GSL_SUCCESS;
}

void spec_sequence_free(spec_sequence *sequence)
{
    free(sequence->token);
    free(sequence->node); /* `parent` is in the same block */
    *sequence = (spec_sequence){0};
}

static int common_prefix(const spec_sequence *sequence, const int *text, size_t n)
{
    int common = 0;
    while (common < sequence->length && (size_t)common < n &&
           sequence->token[common] == text[common])
        common++;
    return common;
}

static int child_with(const spec_sequence *sequence, int parent, int token)
{
    for (int i = parent + 1; i < sequence->n_nodes; i++)
        if (sequence->parent[i] == parent && sequence->node[i] == token) return i;
    return -1;
}

int spec_sequence_settle(int *ret_from, int *ret_to, spec_sequence *sequence, const int *text,
                         size_t n)
{
    assert(n >= 1);
    const int common = common_prefix(sequence, text, n), most = (int)n - 1;
    int kept = 0;
    *ret_to = sequence->length;
    if (common < sequence->length || common > most) {
        sequence->length = common < most ? common : most;
    } else {
        int node = -1;
        while (sequence->length < most &&
               (node = child_with(sequence, node, text[sequence->length])) >= 0) {
            ret_from[kept++] = *ret_to + node;
            sequence->token[sequence->length++] = sequence->node[node];
        }
    }
    sequence->n_nodes = 0;
    sequence->changes++;
    return kept;
}

void spec_sequence_append(spec_sequence *sequence, const int *token, int n)
{
    assert(sequence->length + n <= sequence->capacity);
    memcpy(sequence->token + sequence->length, token, (size_t)n * sizeof *token);
    sequence->length += n;
    sequence->n_nodes = 0;
    sequence->changes++;
}

void spec_sequence_grow(spec_sequence *sequence, const int *token, const int *opt_parent, int from,
                        int n_nodes)
{
    assert(from <= sequence->n_nodes && n_nodes <= SPEC_NODES_MAX);
    for (int i = from; i < n_nodes; i++) {
        sequence->node[i] = token[i];
        sequence->parent[i] = opt_parent != NULL ? opt_parent[i] : i - 1;
    }
    sequence->n_nodes = n_nodes;
    sequence->changes++;
}

void spec_sequence_forget(spec_sequence *sequence)
{
    sequence->length = sequence->n_nodes = 0;
    sequence->changes++;
}

void spec_sequence_follow(spec_sequence *sequence, const spec_sequence *other)
{
    assert(other->length <= sequence->capacity);
    memcpy(sequence->token, other->token, (size_t)other->length * sizeof *sequence->token);
    sequence->length = other->length;
    sequence->n_nodes = 0;
    sequence->changes++;
}

int spec_sequence_matches(const spec_sequence *sequence, const int *text, size_t n,
                          const int *token, const int *opt_parent, int n_nodes)
{
    if ((size_t)sequence->length != n || (size_t)common_prefix(sequence, text, n) != n) return -1;
    int same = 0;
    while (same < n_nodes && same < sequence->n_nodes && sequence->node[same] == token[same] &&
           sequence->parent[same] == (opt_parent != NULL ? opt_parent[same] : same - 1))
        same++;
    return same;
}
