/* SPDX-License-Identifier: MIT */
/* A process that takes 200 MB of memory in the way that its first argument names, and then waits;
 * or that tries to see the processes of the system, or to leave memory behind. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 200 << 20, DEEP = 40, FORKS = 4 };

static void forever(void)
{
    for (;;) pause();
}

static char *take(int flags, int fd, size_t bytes)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (memory == MAP_FAILED) exit(5);
    memset(memory, 1, bytes);
    return memory;
}

static int memory_file(size_t bytes)
{
    const int fd = memfd_create("greedy", 0);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0) exit(5);
    return fd;
}

/* No process maps the file. */
static void fill_file(void)
{
    static char zeros[1 << 20];
    const int fd = memfd_create("greedy", 0);
    for (int i = 0; i < BYTES >> 20; i++)
        if (write(fd, zeros, sizeof zeros) != sizeof zeros) exit(5);
}

static void *take_in_child(void *unused)
{
    if (fork() == 0) {
        take(MAP_PRIVATE | MAP_ANONYMOUS, -1, BYTES);
        forever();
    }
    forever();
    return unused;
}

static void take_in_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, take_in_child, NULL) != 0) exit(5);
}

/* Takes a part in each of many generations of processes. */
static void take_deep(void)
{
    for (int i = 0; i < DEEP; i++) {
        if (fork() != 0) forever();
        take(MAP_PRIVATE | MAP_ANONYMOUS, -1, BYTES / DEEP);
    }
}

/* Takes half of the memory, and shares it among several processes. */
static void share(void)
{
    take(MAP_PRIVATE | MAP_ANONYMOUS, -1, BYTES / 2);
    for (int i = 0; i < FORKS; i++)
        if (fork() == 0) forever();
    const int fd = memory_file(BYTES / 16);
    take(MAP_SHARED, fd, BYTES / 16); /* open and mapped */
    usleep(300000);
    puts("still here");
    fflush(stdout);
}

/* Returns how many processes /proc shows. */
static int count_processes(void)
{
    int n = 0;
    DIR *folder = opendir("/proc");
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        n += entry->d_name[0] >= '1' && entry->d_name[0] <= '9';
    if (folder != NULL) closedir(folder);
    return n;
}

/* Exit code 7 if the only processes are this one, its shell and the namespace's first. */
static void look_around(void)
{
    if (umount2("/proc", MNT_DETACH) == 0 || count_processes() > 3) exit(8);
    if (open("/proc/1/root", O_PATH) >= 0 || open("/proc/1/mem", O_RDONLY) >= 0) exit(9);
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
        (umount2("/proc", MNT_DETACH) == 0 || count_processes() > 3))
        exit(10);
    exit(7);
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    if (strcmp(way, "look") == 0) look_around();
    if (strcmp(way, "leave") == 0) /* a segment of System V, whose key is the second argument */
        exit(shmget((key_t)atoi(argv[2]), 4096, IPC_CREAT | IPC_EXCL | 0600) < 0 ? 8 : 7);
    if (strcmp(way, "private") == 0) take(MAP_PRIVATE | MAP_ANONYMOUS, -1, BYTES);
    if (strcmp(way, "shared") == 0) take(MAP_SHARED | MAP_ANONYMOUS, -1, BYTES);
    if (strcmp(way, "mapped") == 0) {
        const int fd = memory_file(BYTES);
        take(MAP_SHARED, fd, BYTES);
        close(fd);
    }
    if (strcmp(way, "file") == 0) fill_file();
    if (strcmp(way, "thread") == 0) take_in_thread();
    if (strcmp(way, "deep") == 0) take_deep();
    if (strcmp(way, "share") == 0) share();
    forever();
}
