/* SPDX-License-Identifier: GPL-3.0-or-later */
/* faulty_server: starts tests/live/faulty_server.py, right or with one mistake, and ends it. */
#ifndef SPECLAB_TESTS_FAULTY_SERVER_H
#define SPECLAB_TESTS_FAULTY_SERVER_H

#include "tests/support/folder.h"
#include "tests/support/support.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
    pid_t pid;
    int input; /* the server ends with it */
    char url[64];
} server;

static inline void server_free(server *s)
{
    if (s->pid <= 0) return;
    close(s->input);
    waitpid(s->pid, NULL, 0);
}

static inline server start_with_key(const char *fault, const char *owner, const char *key)
{
    int in[2], out[2], port = 0;
    server s = {.pid = -1};
    assert_int_equal(pipe(in) + pipe(out), 0);
    if ((s.pid = fork()) == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        for (int fd = 3; fd < 64; fd++) close(fd);
        char path[4200];
        snprintf(path, sizeof path, "%s/tests/live/faulty_server.py", spec_folder_before);
        execlp("python3", "python3", "-I", "-S", path, fault, owner, key, NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    FILE *said = fdopen(out[0], "r");
    if (fscanf(said, "%d", &port) != 1) {
        printf("skipped: there is no python3 for tests/live/faulty_server.py\n");
        skip();
    }
    fclose(said);
    s.input = in[1];
    snprintf(s.url, sizeof s.url, "http://127.0.0.1:%d", port);
    return s;
}

static inline server start(const char *fault, const char *owner)
{
    return start_with_key(fault, owner, "");
}

#endif
