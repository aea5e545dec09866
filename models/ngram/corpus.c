/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/ngram/corpus.h"

#include "base/input_file.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 1 << 18 };

/* Finds the file with that name, or the files that match that pattern. Returns 0 or glob's error,
 * and leaves in errno why it is not a file. */
static int find(spec_corpus *corpus, const char *path)
{
    struct stat info;
    if (corpus->globbed) globfree(&corpus->files);
    corpus->globbed = false;
    if (stat(path, &info) == 0) return 0;
    const int reason = errno;
    const int found = glob(path, 0, NULL, &corpus->files);
    corpus->globbed = true;
    errno = reason;
    return found;
}

static size_t n_files(const spec_corpus *corpus)
{
    return corpus->globbed ? corpus->files.gl_pathc : 1;
}

static const char *file_path(const spec_corpus *corpus, size_t i)
{
    return corpus->globbed ? corpus->files.gl_pathv[i] : corpus->path;
}

static int too_much(const spec_corpus *corpus, spec_error *error)
{
    return spec_fail(error, GSL_EINVAL,
                     "%.300s: more than %d GiB of text: limit=BYTES, or -n N of rows, reads less",
                     corpus->path, (int)(SPEC_CORPUS_BYTES_MAX >> 30));
}

/* Checks the sizes before any byte is read; the size of a pipe is known only while reading. */
static int check_sizes(const spec_corpus *corpus, spec_error *error)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < n_files(corpus) && corpus->bounded; i++) {
        struct stat info;
        if (stat(file_path(corpus, i), &info) == 0 && S_ISREG(info.st_mode))
            bytes += (uint64_t)info.st_size;
        if (bytes > SPEC_CORPUS_BYTES_MAX) return too_much(corpus, error);
    }
    return GSL_SUCCESS;
}

int spec_corpus_init(spec_corpus *corpus, const char *path, const char *opt_share, uint64_t limit,
                     spec_error *error)
{
    int status = GSL_SUCCESS;
    *corpus = (spec_corpus){.descriptor = -1,
                            .bounded = limit == 0,
                            .left = limit == 0 ? SPEC_CORPUS_BYTES_MAX + 1 : limit};
    corpus->path = strdup(path);
    corpus->block = malloc(BLOCK);
    if (corpus->path == NULL || corpus->block == NULL) {
        SPEC_TRY(spec_fail(error, GSL_ENOMEM, "%.300s: out of memory", path));
    }
    int found = find(corpus, path);
    const int reason = errno;
    if (found != 0 && opt_share != NULL && path[0] != '/') {
        char *below = NULL;
        if (asprintf(&below, "%s/%s", opt_share, path) < 0)
            SPEC_TRY(spec_fail(error, GSL_ENOMEM, "%.300s: out of memory", path));
        if ((found = find(corpus, below)) == 0) {
            free(corpus->path);
            corpus->path = below;
        } else {
            free(below);
        }
    }
    if (found == GLOB_NOSPACE)
        SPEC_TRY(spec_fail(error, GSL_ENOMEM, "%.300s: out of memory", path));
    if (found != 0) {
        const char *what = strpbrk(path, "*?[") != NULL ? "no file matches" : strerror(reason);
        SPEC_TRY(spec_fail(error, GSL_EFAILED, "%.300s: %s", path, what));
    }
    SPEC_TRY(check_sizes(corpus, error));
done:
    if (status != GSL_SUCCESS) spec_corpus_free(corpus);
    return status;
}

void spec_corpus_free(spec_corpus *corpus)
{
    if (corpus->block != NULL && corpus->descriptor >= 0) close(corpus->descriptor);
    if (corpus->globbed) globfree(&corpus->files);
    free(corpus->path);
    free(corpus->block);
    *corpus = (spec_corpus){.descriptor = -1};
}

static int open_next(spec_corpus *corpus, spec_error *error)
{
    const char *path = file_path(corpus, corpus->next);
    struct stat info;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return spec_fail(error, GSL_EFAILED,
                         "%.300s: is a folder; name its files, as in %.100s/*.txt", path, path);
    const int status = spec_input_file_open(&corpus->descriptor, path, error);
    if (status != GSL_SUCCESS) return status;
    corpus->next++;
    return GSL_SUCCESS;
}

/* Fills the block after its first `length` bytes; sets *ret_ended at the end of file or limit. */
static int fill(spec_corpus *corpus, size_t length, bool *ret_ended, spec_error *error)
{
    *ret_ended = false;
    corpus->length = length;
    while (corpus->length < BLOCK && !*ret_ended) {
        size_t room = BLOCK - corpus->length;
        if (room > corpus->left) room = (size_t)corpus->left;
        const ssize_t got =
            room == 0 ? 0 : read(corpus->descriptor, corpus->block + corpus->length, room);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            return spec_fail(error, GSL_EFAILED, "%.300s: %s", file_path(corpus, corpus->next - 1),
                             strerror(errno));
        }
        *ret_ended = got == 0;
        corpus->length += (size_t)got;
        corpus->left -= (uint64_t)got;
        corpus->total += (uint64_t)got;
        if (corpus->bounded && corpus->total > SPEC_CORPUS_BYTES_MAX)
            return too_much(corpus, error);
    }
    return GSL_SUCCESS;
}

int spec_corpus_next(spec_block *ret_block, spec_corpus *corpus, size_t unread, spec_error *error)
{
    int status = GSL_SUCCESS;
    *ret_block = (spec_block){0};
    if (corpus->descriptor < 0) {
        assert(unread == 0);
        if (corpus->next == n_files(corpus) || corpus->left == 0) {
            return corpus->total > 0
                       ? GSL_SUCCESS
                       : spec_fail(error, GSL_EINVAL, "%.300s: the text is empty", corpus->path);
        }
        SPEC_TRY(open_next(corpus, error));
    } else {
        assert(unread <= BLOCK / 2 && unread <= corpus->length);
        memmove(corpus->block, corpus->block + corpus->length - unread, unread);
    }
    bool ended;
    SPEC_TRY(fill(corpus, unread, &ended, error));
    if (ended) {
        close(corpus->descriptor);
        corpus->descriptor = -1;
    }
    *ret_block = (spec_block){.text = corpus->block, .length = corpus->length, .ends_text = ended};
done:
    return status;
}
