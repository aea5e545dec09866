/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/result_file.h"

#include "base/clock.h"
#include "base/memory_text.h"
#include "sim/chance/rng.h"
#include "speclab/no_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHECK_SIZE = 16 };

void spec_result_file_init(spec_result_file *file, const char *path, FILE *opt_stream)
{
    *file = (spec_result_file){.path = path,
                               .opt_stream = path == NULL ? opt_stream : NULL,
                               .fd = -1,
                               .fresh = true,
                               .what = "points"};
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static const char column[] = "row_check", letters[] = {[SPEC_CHECK_NONE] = 'n',
                                                       [SPEC_CHECK_HOLDS] = 'h',
                                                       [SPEC_CHECK_LEFT_OUT] = 'l',
                                                       [SPEC_CHECK_FAILS] = 'f'};

/* Returns the text of the lines, without the last newline. */
static char *take_lines(spec_memory_text *lines)
{
    size_t n;
    char *text = spec_memory_text_take(lines, &n);
    if (text != NULL) text[n - 1] = '\0';
    return text;
}

static char *head_of(const spec_table *table)
{
    spec_memory_text lines;
    if (!spec_memory_text_open(&lines)) return NULL;
    spec_table_write_head(table, lines.out, NULL);
    return take_lines(&lines);
}

static char *row_of(const spec_table *table, size_t row)
{
    spec_memory_text lines;
    if (!spec_memory_text_open(&lines)) return NULL;
    spec_table_write_row(table, row, lines.out, NULL);
    return take_lines(&lines);
}

/* Hashes a head except for the lines about the program, so that a later version can resume.
 * Replaces newlines by zero bytes. */
static uint64_t hash_head(char *head)
{
    uint64_t check = 0;
    for (char *rest = head, *line; (line = strsep(&rest, "\n")) != NULL;)
        if (strncmp(line, "# speclab ", 10) != 0 && strncmp(line, "# compiler: ", 12) != 0)
            check = spec_rng_named_seed(check, line);
    return check;
}

static bool write_head(FILE *out, uint64_t *ret_check, const spec_table *table)
{
    char *head = head_of(table);
    if (head == NULL) return false;
    fprintf(out, "%s,%s\n", head, column);
    *ret_check = hash_head(head);
    free(head);
    return true;
}

/* Hashes a row into *check, the hash of everything up to the previous row, and prints its check. */
static void hash_row(char ret[CHECK_SIZE], uint64_t *check, const char *row, char letter)
{
    *check = spec_rng_named_seed(spec_rng_named_seed(*check, row), (const char[]){letter, '\0'});
    snprintf(ret, CHECK_SIZE, "%c%08x", letter, (unsigned)(*check >> 32));
}

static bool write_row(FILE *out, uint64_t *check, const spec_table *table, size_t row, char letter)
{
    char *text = row_of(table, row), printed[CHECK_SIZE];
    if (text == NULL) return false;
    hash_row(printed, check, text, letter);
    fprintf(out, "%s,%s\n", text, printed);
    free(text);
    return true;
}

/* Returns the bytes of the rows from `from` on, with the head before them if `head` is set; NULL if
 * memory runs out. */
static char *bytes_of(size_t *ret_size, uint64_t *check, const spec_table *table, size_t from,
                      size_t rows, const spec_check *found, bool head)
{
    spec_memory_text text;
    bool whole = spec_memory_text_open(&text) && (!head || write_head(text.out, check, table));
    for (size_t r = from; whole && r < rows; r++)
        whole = write_row(text.out, check, table, r, letters[found[r - from]]);
    char *bytes = spec_memory_text_take(&text, ret_size);
    if (whole) return bytes;
    free(bytes);
    return NULL;
}

/* ---- what an earlier run left ---------------------------------------------------------------- */

/* Returns the first line in which the file's head differs from this run's; NULL if it is equal or
 * just shorter. */
static const char *head_difference(const char *file, const char *head, int *ret_line)
{
    *ret_line = 1;
    for (;;) {
        size_t n = strcspn(head, "\n");
        if (*head == '\0' || *file == '\0') return NULL;
        size_t m = strcspn(file, "\n");
        bool cut = file[m] == '\0' && m <= n; /* true if a run was killed while it wrote the head */
        if (strncmp(file, head, cut ? m : n + 1) != 0) return file;
        if (cut) return NULL;
        head += n + 1;
        file += n + 1;
        ++*ret_line;
    }
}

int spec_result_file_read(spec_table *ret_old, const spec_result_file *file,
                          const spec_table *table, spec_error *error)
{
    const char *path = file->path, *differs = NULL;
    char *head = NULL, *plain = NULL, *start = NULL;
    size_t n_head = 0, n_start;
    uint64_t check = 0;
    int status = GSL_SUCCESS, line = 0;
    *ret_old = (spec_table){0};
    FILE *in = fopen(path, "rb");
    if (in == NULL && errno == ENOENT) return GSL_SUCCESS;
    if (in == NULL) return spec_fail(error, GSL_EFAILED, "%.200s: %s", path, strerror(errno));
    head = bytes_of(&n_head, &check, table, 0, 0, NULL, true);
    start = calloc(n_head + 1, 1);
    if (head == NULL || start == NULL) SPEC_TRY(spec_no_memory(error));
    n_start = fread(start, 1, n_head, in);
    plain = head_of(table);
    if (plain == NULL) SPEC_TRY(spec_no_memory(error));
    if (strncmp(start, plain, strlen(plain)) == 0 && start[strlen(plain)] == '\n')
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "%.200s: cannot resume: it has no column %s; only -o writes one", path,
                           column));
    if ((differs = head_difference(start, head, &line)) != NULL)
        status = spec_fail(
            error, GSL_EINVAL,
            "%.100s:%d: cannot resume: another experiment, seed, version or setting wrote '%.*s'",
            path, line, (int)strcspn(differs, "\n"), differs);
    else if (n_start == n_head)
        status = spec_table_read_csv(ret_old, path, NULL, error);
done:
    fclose(in);
    free(head);
    free(plain);
    free(start);
    return status;
}

bool spec_result_file_check(spec_check *ret_check, const spec_table *old, size_t row)
{
    const spec_cell *cell = spec_table_cell(old, row, old->n_columns - 1);
    const char *letter =
        cell->kind == SPEC_CELL_TEXT ? memchr(letters, cell->text[0], sizeof letters) : NULL;
    *ret_check = letter != NULL ? (spec_check)(letter - letters) : SPEC_CHECK_NONE;
    return letter != NULL;
}

/* Checks that the row, as read, ends with the right check. *check is the hash of everything up to
 * the previous row. */
static int verify_row(spec_check *ret_check, uint64_t *check, const char *path,
                      const spec_table *whole, size_t row, spec_error *error)
{
    char expected[CHECK_SIZE];
    if (!spec_result_file_check(ret_check, whole, row))
        return spec_fail(error, GSL_EINVAL, "%.200s: row %zu was edited", path, row + 1);
    char *text = row_of(whole, row), *comma = text != NULL ? strrchr(text, ',') : NULL;
    if (text == NULL) return spec_no_memory(error);
    if (comma != NULL) *comma = '\0';
    hash_row(expected, check, text, letters[*ret_check]);
    free(text);
    if (strcmp(spec_table_cell(whole, row, whole->n_columns - 1)->text, expected) == 0)
        return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL, "%.200s: row %zu, or a line above it, was edited", path,
                     row + 1);
}

int spec_result_file_verify(spec_check *ret_check, size_t *opt_row, const char *path,
                            const spec_table *whole, spec_error *error)
{
    if (whole->n_columns < 2 || strcmp(whole->column[whole->n_columns - 1], column) != 0)
        return spec_fail(error, GSL_EINVAL, "%.200s: it has no column %s; only -o writes one", path,
                         column);
    char *head = head_of(whole);
    if (head == NULL) return spec_no_memory(error);
    *strrchr(head, ',') = '\0';
    uint64_t check = hash_head(head);
    free(head);
    int status = GSL_SUCCESS;
    for (size_t row = 0; row < whole->n_rows && status == GSL_SUCCESS; row++) {
        status = verify_row(&ret_check[row], &check, path, whole, row, error);
        if (opt_row != NULL) *opt_row = row;
    }
    return status;
}

/* Returns whether the stream continues with these bytes. */
static bool goes_on_with(FILE *in, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (getc(in) != (unsigned char)bytes[i]) return false;
    return true;
}

int spec_result_file_keep(spec_result_file *file, const spec_table *table, const spec_check *check,
                          spec_error *error)
{
    int status = GSL_SUCCESS;
    char *bytes = NULL;
    FILE *in = fopen(file->path, "rb");
    if (in == NULL)
        return spec_fail(error, GSL_EFAILED, "%.200s: cannot resume: %s", file->path,
                         strerror(errno));
    for (size_t row = 0; row < table->n_rows || row == 0; row++) {
        size_t n = 0;
        free(bytes);
        bytes = bytes_of(&n, &file->check, table, row, row + (row < table->n_rows), &check[row],
                         row == 0);
        if (bytes == NULL) SPEC_TRY(spec_no_memory(error));
        if (!goes_on_with(in, bytes, n))
            SPEC_TRY(spec_fail(error, GSL_EINVAL, "%.200s: cannot resume: row %zu was edited",
                               file->path, row + 1));
        file->good += (off_t)n;
    }
    file->fresh = false;
done:
    fclose(in);
    free(bytes);
    return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Opens a kept file to append to it. */
static int open_kept(spec_result_file *file, spec_error *error)
{
    file->fd = open(file->path, O_WRONLY | O_CLOEXEC);
    if (file->fd < 0)
        return spec_fail(error, GSL_EFAILED, "%.200s: %s", file->path, strerror(errno));
    if (flock(file->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return spec_fail(error, GSL_EFAILED, "%.200s: cannot resume: another run is writing to it",
                         file->path);
    if (ftruncate(file->fd, file->good) == 0 && lseek(file->fd, 0, SEEK_END) == file->good)
        return GSL_SUCCESS;
    return spec_fail(error, GSL_EFAILED, "%.200s: cannot resume: %s", file->path, strerror(errno));
}

int spec_result_file_open(spec_result_file *file, spec_error *error)
{
    struct stat info;
    file->synced = (time_t)spec_clock_monotonic();
    if (file->path == NULL) return GSL_SUCCESS;
    if (!file->fresh) return open_kept(file, error);
    if (stat(file->path, &info) == 0 && !S_ISREG(info.st_mode)) { /* a device, a pipe */
        file->fd = open(file->path, O_WRONLY | O_CLOEXEC);
        return file->fd >= 0
                   ? GSL_SUCCESS
                   : spec_fail(error, GSL_EFAILED, "%.200s: %s", file->path, strerror(errno));
    }
    spec_new_file probe;
    const int status = spec_new_file_open(&probe, file->path, error);
    spec_new_file_free(&probe);
    return status;
}

/* Checks that the path still names the open file. */
static int check_name(const spec_result_file *file, spec_error *error)
{
    struct stat here, there;
    if (file->fd < 0 || fstat(file->fd, &here) != 0 || !S_ISREG(here.st_mode)) return GSL_SUCCESS;
    if (stat(file->path, &there) == 0 && here.st_dev == there.st_dev && here.st_ino == there.st_ino)
        return GSL_SUCCESS;
    return spec_fail(error, GSL_EFAILED,
                     "%.200s: another program removed or replaced it during the run", file->path);
}

static int write_failed(spec_result_file *file, spec_error *error)
{
    int why = errno == 0 ? EIO : errno;
    if (file->fd >= 0 && ftruncate(file->fd, file->good) != 0)
        errno = why; /* leave no partial row if possible */
    return spec_fail(error, GSL_EFAILED, "%.200s: %s after %llu of %llu %s",
                     file->path != NULL ? file->path : "standard output", strerror(why),
                     (unsigned long long)file->done, (unsigned long long)file->total, file->what);
}

/* Writes the bytes of whole rows, and syncs them to the disk about once a second. */
static int emit(spec_result_file *file, const char *bytes, size_t n, spec_error *error)
{
    for (size_t at = 0; at < n;) {
        ssize_t wrote = write(file->fd, bytes + at, n - at);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) return write_failed(file, error);
        at += (size_t)wrote;
    }
    file->good += (off_t)n;
    const time_t now = (time_t)spec_clock_monotonic();
    if (now == file->synced && file->done + 1 < file->total) return GSL_SUCCESS;
    file->synced = now;
    if (fsync(file->fd) == 0 || errno == EINVAL || errno == EROFS)
        return GSL_SUCCESS; /* EINVAL: a pipe, a device */
    return write_failed(file, error);
}

/* Writes rows to a stream; these have no row_check column. */
static int write_stream(spec_result_file *file, const spec_table *table, size_t from,
                        spec_error *error)
{
    if (file->opt_stream == NULL) return GSL_SUCCESS;
    errno = 0;
    if (file->fresh) spec_table_write_head(table, file->opt_stream, NULL);
    file->fresh = false;
    for (size_t r = from; r < table->n_rows; r++)
        spec_table_write_row(table, r, file->opt_stream, NULL);
    return fflush(file->opt_stream) == 0 && !ferror(file->opt_stream) ? GSL_SUCCESS
                                                                      : write_failed(file, error);
}

int spec_result_file_write(spec_result_file *file, const spec_table *table, size_t from,
                           const spec_check *check, spec_error *error)
{
    size_t n = 0;
    int status = GSL_SUCCESS;
    if (file->path == NULL) return write_stream(file, table, from, error);
    char *bytes = bytes_of(&n, &file->check, table, from, table->n_rows, check, file->fresh);
    if (bytes == NULL) return spec_no_memory(error);
    const bool makes = file->fd < 0;
    if (makes) {
        SPEC_TRY(spec_new_file_open(&file->file, file->path, error));
        file->fd = fileno(file->file.out);
    } else {
        SPEC_TRY(check_name(file, error));
    }
    SPEC_TRY(emit(file, bytes, n, error));
    if (makes) SPEC_TRY(spec_new_file_publish(&file->file, error));
    file->fresh = false;
done:
    free(bytes);
    return status;
}

void spec_result_file_mark(spec_result_file *file, const char *words)
{
    if (file->fresh) return;
    if (file->path == NULL && file->opt_stream != NULL)
        fprintf(file->opt_stream, "# %s\n", words);
    else if (file->fd >= 0)
        dprintf(file->fd, "# %s\n", words);
}

int spec_result_file_close(spec_result_file *file, int *ret_kept, spec_error *error)
{
    int status = file->fresh ? GSL_SUCCESS : check_name(file, error);
    if (file->file.out != NULL && !file->fresh) {
        spec_new_file_settle(&file->file);
        if (spec_new_file_close(&file->file, error) != GSL_SUCCESS) status = GSL_EFAILED;
    } else if (file->file.out == NULL && file->fd >= 0 && close(file->fd) != 0) {
        status = spec_fail(error, GSL_EFAILED, "%.200s: %s", file->path, strerror(errno));
    }
    *ret_kept = file->file.kept;
    spec_new_file_free(&file->file);
    file->fd = -1;
    return status;
}
