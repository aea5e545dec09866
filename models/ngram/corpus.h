/* SPDX-License-Identifier: GPL-3.0-or-later */
/* corpus: reads the training texts of a model in blocks.
 * A path is one file or a glob(3) pattern, whose files are read in sorted order, each as one text.
 * Pipes are read like files. Memory holds one block, which the corpus owns. */
#ifndef SPECLAB_CORPUS_H
#define SPECLAB_CORPUS_H

#include "speclab/status.h"

#include <glob.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    const unsigned char *text; /* NULL after the last text */
    size_t length;             /* may be 0 in a block that ends a text */
    bool ends_text;            /* no bytes of the text follow */
} spec_block;

typedef struct {
    char *path;     /* as given */
    glob_t files;
    bool globbed;   /* `files` must be freed */
    size_t next;    /* the next file to open */
    int descriptor; /* of the open file, or -1 */
    bool bounded;   /* the caller gave no limit, so reading more than SPEC_CORPUS_BYTES_MAX bytes
                       fails */
    uint64_t left;  /* bytes still to read */
    uint64_t total; /* bytes read so far */
    unsigned char *block;
    size_t length;  /* length of the last block returned */
} spec_corpus;

/* The limit in bytes if the caller gives none. */
#define SPEC_CORPUS_BYTES_MAX (UINT64_C(1) << 30)

/* Looks for the files in the current folder and then, if the path is relative, in `opt_share`, the
 * folder of shared texts. At most `limit` bytes will be read (0: all, up to SPEC_CORPUS_BYTES_MAX).
 * If a file with exactly this name exists, the path means that file, even if it contains pattern
 * characters. */
int spec_corpus_init(spec_corpus *corpus, const char *path, const char *opt_share, uint64_t limit,
                     spec_error *error);
void spec_corpus_free(spec_corpus *corpus); /* accepts a zeroed one */

/* Reads the next block. It starts with the last `unread` bytes of the previous block (at most half
 * a block), unless that block ended its text. Returns GSL_EFAILED, naming the file, if it cannot be
 * opened or read, or is a folder or device. Returns GSL_EINVAL if all texts are empty or, without a
 * limit, if there is too much text. */
int spec_corpus_next(spec_block *ret_block, spec_corpus *corpus, size_t unread, spec_error *error);

#endif
