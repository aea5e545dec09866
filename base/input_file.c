/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/input_file.h"

#include "speclab/no_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_CAPACITY = 1 << 14 };

static bool is_null(const struct stat *info)
{
    struct stat null;
    return stat("/dev/null", &null) == 0 && null.st_rdev == info->st_rdev;
}

int spec_input_file_open(int *ret_fd, const char *path, spec_error *error)
{
    struct stat info;
    *ret_fd = -1;
    if (stat(path, &info) != 0) {
        const int why = errno;
        if (why == ENOENT && strstr(path, "://") != NULL)
            return spec_fail(error, GSL_EFAILED,
                             "%.300s: is a URL; download it first: curl -s URL "
                             "> FILE",
                             path);
        return spec_fail(error, GSL_EFAILED, "%.300s: %s", path, strerror(why));
    }
    if (S_ISDIR(info.st_mode))
        return spec_fail(error, GSL_EFAILED, "%.300s: %s", path, strerror(EISDIR));
    const bool device = S_ISBLK(info.st_mode) || (S_ISCHR(info.st_mode) && !is_null(&info));
    const int fd = S_ISBLK(info.st_mode) ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (device && (fd < 0 || !isatty(fd))) {
        if (fd >= 0) close(fd);
        return spec_fail(error, GSL_EINVAL, "%.300s: is a device, not a file", path);
    }
    if (fd < 0) return spec_fail(error, GSL_EFAILED, "%.300s: %s", path, strerror(errno));
    *ret_fd = fd;
    return GSL_SUCCESS;
}

int spec_input_file_stream(FILE **ret_file, const char *path, spec_error *error)
{
    int fd;
    *ret_file = NULL;
    const int status = spec_input_file_open(&fd, path, error);
    if (status != GSL_SUCCESS) return status;
    *ret_file = fdopen(fd, "r");
    if (*ret_file != NULL) return GSL_SUCCESS;
    close(fd);
    return spec_no_memory_for(error, path);
}

static int too_large(const char *name, const spec_input_limit *limit, spec_error *error)
{
    static const char *const unit[] = {"bytes", "KiB", "MiB", "GiB"};
    size_t size = limit->bytes;
    int u = 0;
    for (; u < 3 && size % 1024 == 0; u++) size /= 1024;
    return spec_fail(error, GSL_EINVAL, "%.300s: larger than %zu %s: too large for %s", name, size,
                     unit[u], limit->what);
}

static int read_all(char **ret_bytes, size_t *ret_n, int fd, const char *name,
                    const spec_input_limit *limit, bool text, spec_error *error)
{
    int status = GSL_SUCCESS;
    struct stat info;
    size_t n = 0, capacity = FIRST_CAPACITY;
    char *bytes = NULL;
    *ret_bytes = NULL;
    *ret_n = 0;
    if (fstat(fd, &info) != 0)
        return spec_fail(error, GSL_EFAILED, "%.300s: %s", name, strerror(errno));
    if (S_ISREG(info.st_mode) && (unsigned long long)info.st_size > limit->bytes)
        return too_large(name, limit, error);
    if (S_ISREG(info.st_mode))
        capacity = (size_t)info.st_size + 2; /* room to see the end of the file without growing */
    if ((bytes = malloc(capacity)) == NULL) SPEC_TRY(spec_no_memory_for(error, name));
    for (ssize_t got; (got = read(fd, bytes + n, capacity - n - 1)) != 0;) {
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) SPEC_TRY(spec_fail(error, GSL_EFAILED, "%.300s: %s", name, strerror(errno)));
        if (text && memchr(bytes + n, '\0', (size_t)got) != NULL)
            SPEC_TRY(spec_fail(error, GSL_EINVAL,
                               "%.300s: contains a zero byte: a binary file, not %s", name,
                               limit->what));
        n += (size_t)got;
        if (n > limit->bytes) SPEC_TRY(too_large(name, limit, error));
        if (n + 1 < capacity) continue;
        capacity *= 2;
        char *more = realloc(bytes, capacity);
        if (more == NULL) SPEC_TRY(spec_no_memory_for(error, name));
        bytes = more;
    }
    bytes[n] = '\0';
    *ret_bytes = bytes;
    *ret_n = n;
    bytes = NULL;
done:
    free(bytes);
    return status;
}

static int read_path(char **ret_bytes, size_t *ret_n, const char *path,
                     const spec_input_limit *limit, bool text, spec_error *error)
{
    int fd;
    *ret_bytes = NULL;
    *ret_n = 0;
    int status = spec_input_file_open(&fd, path, error);
    if (status != GSL_SUCCESS) return status;
    status = read_all(ret_bytes, ret_n, fd, path, limit, text, error);
    close(fd);
    return status;
}

int spec_input_file_read(char **ret_bytes, size_t *ret_n, const char *path,
                         const spec_input_limit *limit, spec_error *error)
{
    return read_path(ret_bytes, ret_n, path, limit, false, error);
}

int spec_input_file_read_text(char **ret_text, size_t *ret_n, const char *path,
                              const spec_input_limit *limit, spec_error *error)
{
    return read_path(ret_text, ret_n, path, limit, true, error);
}

int spec_input_file_read_fd(char **ret_bytes, size_t *ret_n, int fd, const char *name,
                            const spec_input_limit *limit, spec_error *error)
{
    return read_all(ret_bytes, ret_n, fd, name, limit, false, error);
}
