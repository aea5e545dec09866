/* corpus: the texts that a model learns from, read in blocks.
 * A path is one file or a pattern of glob(3), whose files are read in sorted order as one text each; pipes are read
 * like files. Nothing but one block is held. The corpus owns the block. */
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
    bool ends_text;            /* the text has no more bytes after these */
} spec_block;

typedef struct {
    char *path;     /* as given */
    glob_t files;
    bool globbed;   /* `files` is to be freed */
    size_t next;    /* the next file to open */
    int descriptor; /* of the open file, or -1 */
    uint64_t left;  /* bytes still to be read */
    uint64_t total; /* bytes read */
    unsigned char *block;
    size_t length;  /* of the last block handed out */
} spec_corpus;

/* Find the files, in the current folder or else, where the path is relative, in the folder that the environment
 * variable SPECLAB_SHARE names; at most `limit` bytes will be read (0: all). A path that names an existing file is that
 * file, whatever characters it has. */
int spec_corpus_init(spec_corpus *corpus, const char *path, uint64_t limit, spec_error *error);
void spec_corpus_free(spec_corpus *corpus); /* a zeroed one is fine */

/* The next block. The last `unread` bytes of the block before, if its text did not end there, stand at its front again
 * (at most half a block). GSL_EFAILED, naming the file, for what cannot be opened or read and for folders; GSL_EINVAL
 * where no text has a byte. */
int spec_corpus_next(spec_block *ret_block, spec_corpus *corpus, size_t unread, spec_error *error);

#endif
