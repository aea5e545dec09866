#include "experiments/result_file.h"
#include "speclab/no_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void spec_result_file_init(spec_result_file *file, const char *path, FILE *opt_stream)
{
    *file = (spec_result_file){.path = path, .opt_stream = path == NULL ? opt_stream : NULL, .fd = -1, .fresh = true};
}

/* The rows of a table from `from` on, and its head where asked for, as bytes. */
static char *bytes_of(const spec_table *table, size_t from, size_t rows, bool head, size_t *ret_size)
{
    char *bytes = NULL;
    FILE *out = open_memstream(&bytes, ret_size);
    if (out == NULL) return NULL;
    if (head) spec_table_write_head(table, out, NULL);
    for (size_t r = from; r < rows; r++) spec_table_write_row(table, r, out, NULL);
    if (fclose(out) == 0) return bytes;
    free(bytes);
    return NULL;
}

/* ---- what an earlier run left ------------------------------------------------------------------------------------ */

/* The first line in which the file's beginning differs from what this run would write; NULL where it does not, or is
 * only shorter. */
static const char *head_difference(const char *file, const char *head, int *ret_line)
{
    *ret_line = 1;
    for (;;) {
        size_t n = strcspn(head, "\n");
        if (*head == '\0' || *file == '\0') return NULL;
        size_t m = strcspn(file, "\n");
        bool cut = file[m] == '\0' && m <= n; /* killed while the head was written */
        if (strncmp(file, head, cut ? m : n + 1) != 0) return file;
        if (cut) return NULL;
        head += n + 1;
        file += n + 1;
        ++*ret_line;
    }
}

int spec_result_file_read(spec_table *ret_old, const spec_result_file *file, const spec_table *table,
                          spec_error *error)
{
    const char *path = file->path, *differs = NULL;
    char *head = NULL, *start = NULL;
    size_t n_head = 0, n_start;
    int status = GSL_SUCCESS, line = 0;
    *ret_old = (spec_table){0};
    FILE *in = fopen(path, "rb");
    if (in == NULL && errno == ENOENT) return GSL_SUCCESS;
    if (in == NULL) return spec_fail(error, GSL_EFAILED, "%.200s: %s", path, strerror(errno));
    head = bytes_of(table, 0, 0, true, &n_head);
    start = calloc(n_head + 1, 1);
    if (head == NULL || start == NULL) SPEC_TRY(spec_no_memory(error));
    n_start = fread(start, 1, n_head, in);
    if ((differs = head_difference(start, head, &line)) != NULL)
        status = spec_fail(error, GSL_EINVAL,
                           "%.100s:%d: cannot resume: another experiment, seed, version or setting wrote '%.*s'", path,
                           line, (int)strcspn(differs, "\n"), differs);
    else if (n_start == n_head)
        status = spec_table_read_csv(ret_old, path, NULL, error);
done:
    fclose(in);
    free(head);
    free(start);
    return status;
}

static bool begins_with(FILE *in, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (getc(in) != (unsigned char)bytes[i]) return false;
    return true;
}

int spec_result_file_keep(spec_result_file *file, const spec_table *table, spec_error *error)
{
    size_t n = 0;
    int status = GSL_SUCCESS;
    char *kept = bytes_of(table, 0, table->n_rows, true, &n);
    FILE *in = fopen(file->path, "rb");
    if (kept == NULL) SPEC_TRY(spec_no_memory(error));
    if (in == NULL || !begins_with(in, kept, n))
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "%.200s: cannot resume: its rows were edited", file->path));
    file->good = (off_t)n;
    file->fresh = false;
done:
    if (in != NULL) fclose(in);
    free(kept);
    return status;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static time_t seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

int spec_result_file_open(spec_result_file *file, spec_error *error)
{
    file->synced = seconds_now();
    if (file->path == NULL) return GSL_SUCCESS;
    file->fd = open(file->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    file->made = file->fd >= 0;
    if (!file->made) file->fd = open(file->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file->fd < 0) return spec_fail(error, GSL_EFAILED, "%.200s: %s", file->path, strerror(errno));
    if (!file->fresh && (ftruncate(file->fd, file->good) != 0 || lseek(file->fd, 0, SEEK_END) != file->good))
        return spec_fail(error, GSL_EFAILED, "%.200s: cannot resume: %s", file->path, strerror(errno));
    return GSL_SUCCESS;
}

static int write_failed(spec_result_file *file, spec_error *error)
{
    int why = errno == 0 ? EIO : errno;
    if (file->fd >= 0 && ftruncate(file->fd, file->good) != 0)
        errno = why; /* leave no part of a row, where that is possible */
    return spec_fail(error, GSL_EFAILED, "%.200s: %s after %llu of %llu points",
                     file->path != NULL ? file->path : "standard output", strerror(why),
                     (unsigned long long)file->done, (unsigned long long)file->total);
}

/* Write the bytes of whole rows, then see to it that they reach the disk about once a second. */
static int emit(spec_result_file *file, const char *bytes, size_t n, spec_error *error)
{
    if (file->fd < 0) {
        if (file->opt_stream == NULL) return GSL_SUCCESS;
        errno = 0;
        if (fwrite(bytes, 1, n, file->opt_stream) == n && fflush(file->opt_stream) == 0) return GSL_SUCCESS;
        return write_failed(file, error);
    }
    for (size_t at = 0; at < n;) {
        ssize_t wrote = write(file->fd, bytes + at, n - at);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) return write_failed(file, error);
        at += (size_t)wrote;
    }
    file->good += (off_t)n;
    const time_t now = seconds_now();
    if (now == file->synced && file->done + 1 < file->total) return GSL_SUCCESS;
    file->synced = now;
    if (fsync(file->fd) == 0 || errno == EINVAL || errno == EROFS) return GSL_SUCCESS; /* EINVAL: a pipe, a device */
    return write_failed(file, error);
}

int spec_result_file_write(spec_result_file *file, const spec_table *table, size_t from, spec_error *error)
{
    size_t n = 0;
    int status = GSL_SUCCESS;
    char *bytes = bytes_of(table, from, table->n_rows, file->fresh, &n);
    if (bytes == NULL) return spec_no_memory(error);
    const bool over = file->fresh && file->fd >= 0 && !file->made;
    if (over && ftruncate(file->fd, 0) != 0 && errno != EINVAL) /* EINVAL: a device */
        SPEC_TRY(write_failed(file, error));
    SPEC_TRY(emit(file, bytes, n, error));
    file->fresh = false;
done:
    free(bytes);
    return status;
}

int spec_result_file_close(spec_result_file *file)
{
    const int closed = file->fd >= 0 ? close(file->fd) : 0;
    if (file->made && file->good == 0) unlink(file->path);
    file->fd = -1;
    return closed;
}
