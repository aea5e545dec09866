/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/validate/samplers/process_memory.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/types.h>
#include <sys/vfs.h>

#include <linux/magic.h>

/* More processes than this count as using too much memory. */
enum { PROCESSES_MOST = 1 << 15, PATH_SIZE = 64, LINE_SIZE = 512 };

typedef struct {
    dev_t device;
    ino_t inode;
} file_name;

typedef struct {
    pid_t *pid;
    file_name *file; /* open files in memory */
    size_t n, n_files;
    uint64_t file_bytes;
} tree;

/* ---- /proc ----------------------------------------------------------------------------------- */

static FILE *open_of(pid_t pid, const char *name)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return fopen(path, "re");
}

/* Sums the lines "NAME:  123 kB" with one of these names, in bytes. Returns false if the file
 * cannot be read, or has none of them. */
static bool sum_lines(uint64_t *ret, pid_t pid, const char *file, const char *const *names)
{
    char line[LINE_SIZE];
    bool found = false;
    FILE *in = open_of(pid, file);
    *ret = 0;
    while (in != NULL && fgets(line, sizeof line, in) != NULL)
        for (const char *const *name = names; *name != NULL; name++) {
            const size_t n = strlen(*name);
            if (strncmp(line, *name, n) != 0 || line[n] != ':') continue;
            *ret += 1024 * strtoull(line + n + 1, NULL, 10);
            found = true;
        }
    if (in != NULL) fclose(in);
    return found;
}

/* ---- processes ------------------------------------------------------------------------------- */

/* Doubles an array when it is full. */
static bool has_room(void **array, size_t n, size_t size)
{
    if (n != 0 && (n < 64 || (n & (n - 1)) != 0)) return true;
    void *more = realloc(*array, (n == 0 ? 64 : 2 * n) * size);
    if (more != NULL) *array = more;
    return more != NULL;
}

/* Adds the children of all threads of a process, given its name in /proc. */
static bool add_children(tree *t, const char *process)
{
    char path[PATH_SIZE];
    bool room = true;
    snprintf(path, sizeof path, "/proc/%s/task", process);
    DIR *threads = opendir(path);
    for (struct dirent *entry; threads != NULL && room && (entry = readdir(threads)) != NULL;) {
        int child;
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "/proc/%s/task/%.20s/children", process, entry->d_name);
        FILE *in = fopen(path, "re");
        while (in != NULL && room && fscanf(in, "%d", &child) == 1) {
            room = t->n < PROCESSES_MOST && has_room((void **)&t->pid, t->n, sizeof *t->pid);
            if (room) t->pid[t->n++] = child;
        }
        if (in != NULL) fclose(in);
    }
    if (threads != NULL) closedir(threads);
    return room;
}

static bool find_processes(tree *t)
{
    bool room = add_children(t, "self");
    for (size_t i = 0; room && i < t->n; i++) {
        char process[16];
        snprintf(process, sizeof process, "%d", (int)t->pid[i]);
        room = add_children(t, process);
    }
    return room;
}

/* ---- files in memory ------------------------------------------------------------------------- */

static bool has_file(const tree *t, file_name name)
{
    for (size_t i = 0; i < t->n_files; i++)
        if (t->file[i].device == name.device && t->file[i].inode == name.inode) return true;
    return false;
}

static bool is_in_memory(const char *path)
{
    struct statfs system;
    return statfs(path, &system) == 0 &&
           (system.f_type == TMPFS_MAGIC || system.f_type == HUGETLBFS_MAGIC);
}

/* Adds the files in memory that the process has open. */
static bool add_files(tree *t, pid_t pid)
{
    char path[PATH_SIZE];
    bool room = true;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *descriptors = opendir(path);
    for (struct dirent *entry;
         descriptors != NULL && room && (entry = readdir(descriptors)) != NULL;) {
        struct stat info;
        snprintf(path, sizeof path, "/proc/%d/fd/%.20s", (int)pid, entry->d_name);
        if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) || info.st_blocks == 0 ||
            !is_in_memory(path))
            continue;
        const file_name name = {info.st_dev, info.st_ino};
        if (has_file(t, name)) continue;
        room = has_room((void **)&t->file, t->n_files, sizeof *t->file);
        if (!room) continue;
        t->file[t->n_files++] = name;
        t->file_bytes += 512 * (uint64_t)info.st_blocks;
    }
    if (descriptors != NULL) closedir(descriptors);
    return room;
}

/* Returns the bytes of shared mappings of the tree's open files, which would otherwise count
 * twice. */
static uint64_t mapped_files(const tree *t, pid_t pid)
{
    char line[LINE_SIZE], mode[5];
    unsigned major, minor;
    unsigned long inode;
    uint64_t sum = 0;
    bool counts = false;
    FILE *in = t->n_files > 0 ? open_of(pid, "smaps") : NULL;
    while (in != NULL && fgets(line, sizeof line, in) != NULL) {
        if (sscanf(line, "%*x-%*x %4s %*x %x:%x %lu", mode, &major, &minor, &inode) == 4)
            counts = mode[3] == 's' && has_file(t, (file_name){makedev(major, minor), inode});
        else if (counts && strncmp(line, "Pss:", 4) == 0)
            sum += 1024 * strtoull(line + 4, NULL, 10);
    }
    if (in != NULL) fclose(in);
    return sum;
}

/* ---- the sum --------------------------------------------------------------------------------- */

/* Counts pages that several processes share in each of them: quick, and never too little. */
static uint64_t most_of(pid_t pid)
{
    static const char *const names[] = {"RssAnon", "RssShmem", "VmSwap", "HugetlbPages", NULL};
    uint64_t sum;
    (void)sum_lines(&sum, pid, "status", names);
    return sum;
}

/* Divides such pages evenly among their processes. The kernel walks all pages for this. */
static uint64_t exactly_of(const tree *t, pid_t pid)
{
    static const char *const names[] = {"Pss_Anon",        "Pss_Shmem",      "SwapPss",
                                        "Private_Hugetlb", "Shared_Hugetlb", NULL};
    uint64_t sum;
    if (!sum_lines(&sum, pid, "smaps_rollup", names)) return most_of(pid);
    const uint64_t twice = mapped_files(t, pid);
    return sum > twice ? sum - twice : 0;
}

bool spec_process_memory_exceeds(uint64_t most)
{
    tree t = {.n = 0};
    bool whole = find_processes(&t);
    for (size_t i = 0; whole && i < t.n; i++) whole = add_files(&t, t.pid[i]);
    uint64_t sum = t.file_bytes;
    for (size_t i = 0; whole && i < t.n; i++) sum += most_of(t.pid[i]);
    if (whole && sum > most) {
        sum = t.file_bytes;
        for (size_t i = 0; i < t.n; i++) sum += exactly_of(&t, t.pid[i]);
    }
    free(t.pid);
    free(t.file);
    return !whole || sum > most;
}
