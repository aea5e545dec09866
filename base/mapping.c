/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int map(spec_mapping *mapping, int descriptor, const char *path, spec_error *error)
{
    struct stat info;
    if (fstat(descriptor, &info) != 0)
        return spec_fail(error, GSL_EFAILED, "%.300s: %s", path, strerror(errno));
    if (S_ISDIR(info.st_mode))
        return spec_fail(error, GSL_EINVAL, "%.300s: is a folder, not a file", path);
    if (!S_ISREG(info.st_mode))
        return spec_fail(error, GSL_EINVAL, "%.300s: is not a regular file", path);
    if (info.st_size == 0) return spec_fail(error, GSL_EINVAL, "%.300s: the file is empty", path);
    if ((uintmax_t)info.st_size > SIZE_MAX / 2)
        return spec_fail(error, GSL_EINVAL, "%.300s: the file is too large to be mapped", path);
    void *bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (bytes == MAP_FAILED)
        return spec_fail(error, GSL_EFAILED, "%.300s: %s", path, strerror(errno));
    *mapping = (spec_mapping){bytes, (size_t)info.st_size};
    return GSL_SUCCESS;
}

int spec_mapping_init(spec_mapping *mapping, const char *path, spec_error *error)
{
    *mapping = (spec_mapping){0};
    const int descriptor =
        open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK); /* a pipe may have no writer */
    if (descriptor < 0) return spec_fail(error, GSL_EFAILED, "%.300s: %s", path, strerror(errno));
    const int status = map(mapping, descriptor, path, error);
    close(descriptor);
    return status;
}

void spec_mapping_release(const spec_mapping *opt_mapping)
{
    if (opt_mapping != NULL && opt_mapping->bytes != NULL)
        madvise((void *)(uintptr_t)opt_mapping->bytes, opt_mapping->length, MADV_DONTNEED);
}

void spec_mapping_free(spec_mapping *mapping)
{
    if (mapping->bytes != NULL) munmap((void *)(uintptr_t)mapping->bytes, mapping->length);
    *mapping = (spec_mapping){0};
}
