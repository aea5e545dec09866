/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/new_file.h"

#include "speclab/no_memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LINKS_MAX = 40, TRIES = 100, FORMER_MAX = 9999, LETTERS = 6, DESCRIPTORS = 1024 };

static const char ending[] = ".partial";

/* ---- names ----------------------------------------------------------------------------------- */

/* Returns the path with its last component's symbolic links followed, even if no file exists. */
static char *follow(const char *path)
{
    char *at = strdup(path), to[PATH_MAX];
    for (int i = 0; at != NULL && i < LINKS_MAX; i++) {
        const ssize_t n = readlink(at, to, sizeof to - 1);
        if (n < 0) return at;
        to[n] = '\0';
        const char *slash = strrchr(at, '/');
        const int folder = to[0] == '/' || slash == NULL ? 0 : (int)(slash - at) + 1;
        char *next = NULL;
        if (asprintf(&next, "%.*s%s", folder, at, to) < 0) next = NULL;
        free(at);
        at = next;
    }
    return at;
}

static char *numbered(const char *target, int number)
{
    char digits[16] = "", *name = NULL;
    if (number > 1) snprintf(digits, sizeof digits, "%d", number);
    return asprintf(&name, "%s.bak%s", target, digits) < 0 ? NULL : name;
}

char *spec_new_file_former(const char *path, int number)
{
    char *target = follow(path), *name = target != NULL ? numbered(target, number) : NULL;
    free(target);
    return name;
}

/* Returns whether an entry of a folder is called NAME.XXXXXX.partial. */
static bool is_partial_of(const char *entry, const char *name)
{
    const size_t n = strlen(name);
    return strncmp(entry, name, n) == 0 && entry[n] == '.' &&
           strlen(entry + n) == 1 + LETTERS + sizeof ending - 1 &&
           strcmp(entry + n + 1 + LETTERS, ending) == 0;
}

/* Returns whether a partial file exists that no running program has locked. */
static bool is_unlocked(int folder, const char *entry)
{
    const int fd = openat(folder, entry, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    struct stat info;
    const bool unlocked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0 && fstat(fd, &info) == 0 &&
                          info.st_nlink > 0;
    if (fd >= 0) close(fd);
    return unlocked;
}

/* Checks twice, because a running program locks its file a moment after it creates it. */
static bool is_abandoned(int folder, const char *entry)
{
    static const struct timespec moment = {.tv_nsec = 50000000};
    if (!is_unlocked(folder, entry)) return false;
    nanosleep(&moment, NULL);
    return is_unlocked(folder, entry);
}

char *spec_new_file_left_over(const char *path)
{
    char *target = follow(path), *found = NULL;
    if (target == NULL) return NULL;
    char *slash = strrchr(target, '/');
    const char *name = slash != NULL ? slash + 1 : target;
    const int length = (int)(name - target);
    char *folder = length > 0 ? strndup(target, (size_t)length) : strdup(".");
    DIR *open_folder = folder != NULL ? opendir(folder) : NULL;
    for (struct dirent *entry;
         open_folder != NULL && found == NULL && (entry = readdir(open_folder)) != NULL;) {
        if (!is_partial_of(entry->d_name, name) || !is_abandoned(dirfd(open_folder), entry->d_name))
            continue;
        if (asprintf(&found, "%.*s%s", length, target, entry->d_name) < 0) found = NULL;
    }
    if (open_folder != NULL) closedir(open_folder);
    free(folder);
    free(target);
    return found;
}

/* A signal handler knows of no spec_new_file, so the names come from the descriptors. */
void spec_new_file_abandon_all(void)
{
    static const char folder[] = "/proc/self/fd/";
    const int n = sizeof ending - 1;
    for (int fd = 0; fd < DESCRIPTORS; fd++) {
        char link[sizeof folder + 8] = "", name[PATH_MAX];
        const int flags = fcntl(fd, F_GETFL);
        int digits = 1;
        for (int rest = fd; rest >= 10; rest /= 10) digits++;
        memcpy(link, folder, sizeof folder - 1);
        for (int rest = fd, i = digits; i-- > 0; rest /= 10)
            link[(int)sizeof folder - 1 + i] = (char)('0' + rest % 10);
        if (flags < 0 || (flags & O_ACCMODE) != O_RDWR) continue;
        const ssize_t length = readlink(link, name, sizeof name - 1);
        if (length <= n || memcmp(name + length - n, ending, (size_t)n) != 0) continue;
        name[length] = '\0';
        unlink(name);
    }
}

/* ---- opening --------------------------------------------------------------------------------- */

static int fail(const spec_new_file *file, spec_error *error)
{
    return spec_fail(error, GSL_EFAILED, "%.300s: %s", file->path, strerror(errno));
}

/* Creates, opens and locks a new file next to the target; returns -1 and sets errno on failure. */
static int make_partial(spec_new_file *file, mode_t mode)
{
    static const char letter[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    char *letters = file->partial + strlen(file->target) + 1;
    for (int i = 0; i < TRIES; i++) {
        unsigned char random[LETTERS];
        if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) return -1;
        for (int c = 0; c < LETTERS; c++) letters[c] = letter[random[c] % (sizeof letter - 1)];
        const int fd = open(file->partial, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd >= 0) (void)flock(fd, LOCK_EX); /* another program may look at it for a moment */
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

/* Gives the new file the mode and owner of the older file. */
static int take_mode(spec_new_file *file, const struct stat *former)
{
    const int fd = fileno(file->out);
    if (fchown(fd, former->st_uid, former->st_gid) != 0 && errno != EPERM) return -1;
    return fchmod(fd, former->st_mode & 07777);
}

int spec_new_file_open(spec_new_file *file, const char *path, spec_error *error)
{
    int status = GSL_SUCCESS, fd = -1;
    struct stat former;
    *file = (spec_new_file){0};
    if (strcmp(path, "-") == 0)
        return spec_fail(
            error, GSL_EINVAL,
            "-: this file cannot be written to standard output; for a file named '-' write ./-");
    const bool is_there = stat(path, &former) == 0;
    if (!is_there && errno != ENOENT)
        return spec_fail(error, GSL_EFAILED, "%.300s: %s", path, strerror(errno));
    if (is_there && !S_ISREG(former.st_mode))
        return spec_fail(error, GSL_EINVAL, "%.300s: exists, and is not a regular file", path);
    if (is_there && access(path, W_OK) != 0)
        return spec_fail(error, GSL_EFAILED, "%.300s: %s", path, strerror(errno));
    file->path = strdup(path);
    file->target = follow(path);
    if (file->target == NULL || asprintf(&file->partial, "%s.XXXXXX%s", file->target, ending) < 0)
        file->partial = NULL;
    if (file->path == NULL || file->partial == NULL) SPEC_TRY(spec_no_memory(error));
    if ((fd = make_partial(file, is_there ? former.st_mode & 0777 : 0666)) < 0)
        SPEC_TRY(fail(file, error));
    if ((file->out = fdopen(fd, "wb")) == NULL) {
        unlink(file->partial);
        SPEC_TRY(fail(file, error));
    }
    fd = -1;
    if (is_there && take_mode(file, &former) != 0) SPEC_TRY(fail(file, error));
    if (is_there) {
        file->device = former.st_dev;
        file->inode = former.st_ino;
    }
done:
    if (fd >= 0) close(fd);
    if (status != GSL_SUCCESS) spec_new_file_free(file);
    return status;
}

/* ---- its name -------------------------------------------------------------------------------- */

/* Returns whether a file begins with all bytes of an older one, which may then be replaced. */
static bool holds_all(const char *path, const char *former_path)
{
    char a[4096], b[sizeof a];
    FILE *former = fopen(former_path, "rb"), *file = fopen(path, "rb");
    bool holds = former != NULL && file != NULL;
    for (size_t n = sizeof a; holds && n == sizeof a;) {
        n = fread(a, 1, sizeof a, former);
        holds = fread(b, 1, n, file) == n && memcmp(a, b, n) == 0;
    }
    holds = holds && !ferror(former);
    if (former != NULL) fclose(former);
    if (file != NULL) fclose(file);
    return holds;
}

/* Links the older file to an unused former name, unless its bytes are already kept. On file systems
 * without hard links, renames it instead. */
static int keep_former(spec_new_file *file, spec_error *error)
{
    for (int number = 1; number <= FORMER_MAX; number++) {
        struct stat info;
        char *name = numbered(file->target, number);
        if (name == NULL) return spec_no_memory(error);
        int code = link(file->target, name);
        if (code != 0 && errno != EEXIST && lstat(name, &info) != 0)
            code = rename(file->target, name);
        const int why = errno;
        const bool kept_before = code != 0 && why == EEXIST && holds_all(name, file->target);
        free(name);
        if (code == 0) file->kept = number;
        if (code == 0 || kept_before || why == ENOENT)
            return GSL_SUCCESS; /* ENOENT: another program removed it */
        if (why == EEXIST) continue;
        return spec_fail(error, GSL_EFAILED, "%.300s: the older file cannot be kept: %s",
                         file->path, strerror(why));
    }
    return spec_fail(error, GSL_EFAILED, "%.300s: %d older files are kept already; remove some",
                     file->path, FORMER_MAX);
}

/* Returns whether another program has created a file there since _open. */
static bool is_taken(const spec_new_file *file)
{
    struct stat info;
    return stat(file->target, &info) == 0 && S_ISREG(info.st_mode) &&
           (info.st_dev != file->device || info.st_ino != file->inode);
}

/* Forgets the partial file, published or not, so that _free does not remove it. */
static void leave_partial(spec_new_file *file)
{
    free(file->partial);
    file->partial = NULL;
}

int spec_new_file_publish(spec_new_file *file, spec_error *error)
{
    struct stat info;
    int status = GSL_SUCCESS;
    if (fflush(file->out) != 0 || fsync(fileno(file->out)) != 0) return fail(file, error);
    if (lstat(file->partial, &info) != 0)
        return spec_fail(error, GSL_EFAILED, "%.300s: %s: %s", file->path, file->partial,
                         strerror(errno));
    if (is_taken(file)) {
        spec_fail(error, GSL_EFAILED,
                  "%.150s: another program wrote it in the meantime; the new file is left as "
                  "%.150s",
                  file->path, file->partial);
        leave_partial(file);
        return GSL_EFAILED;
    }
    if (file->inode != 0 && !holds_all(file->partial, file->target))
        SPEC_TRY(keep_former(file, error));
    if (rename(file->partial, file->target) != 0) SPEC_TRY(fail(file, error));
    leave_partial(file);
done:
    return status;
}

void spec_new_file_settle(spec_new_file *file)
{
    char *former = file->kept > 0 ? numbered(file->target, file->kept) : NULL;
    if (former != NULL && holds_all(file->target, former) && unlink(former) == 0) file->kept = 0;
    free(former);
}

int spec_new_file_retire(spec_new_file *file, spec_error *error)
{
    int status = GSL_SUCCESS;
    if (file->inode == 0 || is_taken(file)) return status;
    SPEC_TRY(keep_former(file, error));
    if (unlink(file->target) != 0 && errno != ENOENT) SPEC_TRY(fail(file, error));
done:
    return status;
}

int spec_new_file_close(spec_new_file *file, spec_error *error)
{
    int status = GSL_SUCCESS;
    if (file->partial != NULL) SPEC_TRY(spec_new_file_publish(file, error));
    FILE *out = file->out;
    file->out = NULL;
    if (fclose(out) != 0) SPEC_TRY(fail(file, error));
done:
    return status;
}

void spec_new_file_free(spec_new_file *file)
{
    if (file->out != NULL && file->partial != NULL) unlink(file->partial); /* while still locked */
    if (file->out != NULL) fclose(file->out);
    free(file->path);
    free(file->target);
    free(file->partial);
    *file = (spec_new_file){0};
}
