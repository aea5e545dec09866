/* SPDX-License-Identifier: GPL-3.0-or-later */
/* drive_blocks: what a measurement of a server consists of: blocks of requests.
 * A block is one pass over the prompts with one draft length and one concurrency. Blocks are
 * written to a file as lines of JSON; a later run reads them and continues. Owns its arrays. */
#ifndef SPECLAB_DRIVE_BLOCKS_H
#define SPECLAB_DRIVE_BLOCKS_H

#include "tools/live/scrape.h"

#include <stdint.h>
#include <stdio.h>

enum {
    SPEC_DRIVE_K = 32,
    SPEC_DRIVE_LEVELS = 16,
    SPEC_DRIVE_PASSES = 100,
    SPEC_DRIVE_REQUESTS = 100000
};

/* A text. Times are in seconds; NaN: not known. */
typedef struct {
    int prompt;                       /* its number in the file */
    int tokens;                       /* of the text */
    int first;                        /* of these, in the first event */
    double ttft;                      /* from sending the request to the first event with a token */
    double decode;                    /* from there to the last event with a token */
    double latency;                   /* from sending the request to the last event with a token */
    double rounds, drafted, accepted; /* as the response counts them */
} spec_drive_request;

typedef struct {
    int K, concurrency;
    int pass;       /* from 0; passes with odd numbers visit the draft lengths backwards */
    double seconds; /* from the first request until a lane ran out of work ... */
    double tokens;  /* ... and the tokens received in this time */
    int refused;    /* requests that were refused or lost, and then repeated */
    bool counted;   /* whether `counts` is known, from /metrics */
    spec_live_counts counts;
    spec_drive_request *request; /* (n) */
    int n;
} spec_drive_block;

typedef struct {
    spec_drive_block *block; /* (n) in order of time */
    int n, capacity;
} spec_drive_blocks;

/* Adds a block and takes over its memory. Returns GSL_ENOMEM. */
int spec_drive_blocks_add(spec_drive_blocks *blocks, spec_drive_block *block, spec_error *error);
void spec_drive_block_free(spec_drive_block *block);
void spec_drive_blocks_free(spec_drive_blocks *blocks);

/* Returns the block, or NULL if there is none. If the last block repeats it, returns the first
 * one. */
const spec_drive_block *spec_drive_blocks_find(const spec_drive_blocks *blocks, int K,
                                               int concurrency, int pass);

/* Returns sums over the requests of a block: the seconds of decoding and the tokens received in
 * them; drafted, accepted and rounds from /metrics if known, else from the responses, NaN if
 * neither has them. With `opt_prompts` (a flag for each prompt) only some prompts count, and
 * /metrics is not used. */
typedef struct {
    double seconds, tokens, rounds, drafted, accepted;
} spec_drive_sums;
spec_drive_sums spec_drive_block_sums(const spec_drive_block *block, const bool *opt_prompts);

/* ---- The file -------------------------------------------------------------------------------- */

/* Writes the first line, which names the settings by a hash. Returns GSL_EFAILED. */
int spec_drive_file_begin(FILE *file, uint64_t settings, spec_error *error);

/* Writes a block with the dialect and model of its server, and flushes the file. Returns
 * GSL_EFAILED; GSL_ENOMEM. */
int spec_drive_file_add(FILE *file, const spec_drive_block *block, const spec_live_server *server,
                        spec_error *error);

/* Reads a file to its end, so that more blocks can be appended; an unfinished last line is removed.
 * Fills in dialect and model of the server, if the file has a block. Returns
 * GSL_EINVAL "name:line: ..." if it is not such a file, or was written with other settings. */
int spec_drive_file_read(spec_drive_blocks *ret, spec_live_server *ret_server, FILE *file,
                         const char *name, uint64_t settings, spec_error *error);

#endif
