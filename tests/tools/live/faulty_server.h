/* SPDX-License-Identifier: GPL-3.0-or-later */
/* faulty_server: starts a server of tests/tools/live, right or with one mistake, and ends it. */
#ifndef SPECLAB_TESTS_FAULTY_SERVER_H
#define SPECLAB_TESTS_FAULTY_SERVER_H

#include "tests/support/folder.h"
#include "tests/support/support.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
    pid_t pid;
    int input; /* the server ends when this is closed */
    char url[64];
} server;

static inline void server_free(server *s)
{
    if (s->pid <= 0) return;
    close(s->input);
    waitpid(s->pid, NULL, 0);
}

/* Returns a port that is currently free. */
static inline int free_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    close(fd);
    return ntohs(at.sin_port);
}

/* Starts a script of tests/tools/live with these words, which end with NULL. */
static inline server start_script(const char *script, const char *const words[])
{
    int in[2], out[2], port = 0;
    server s = {.pid = -1};
    assert_int_equal(pipe(in) + pipe(out), 0);
    if ((s.pid = fork()) == 0) {
        char path[4200];
        const char *argv[16] = {"python3", "-I", "-S", path};
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        for (int fd = 3; fd < 64; fd++) close(fd);
        snprintf(path, sizeof path, "%s/tests/tools/live/%s", spec_folder_before, script);
        for (int i = 0; words[i] != NULL; i++) argv[4 + i] = words[i];
        execvp("python3", (char *const *)argv);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    FILE *said = fdopen(out[0], "r");
    if (fscanf(said, "%d", &port) != 1) {
        printf("skipped: there is no python3 for tests/tools/live/%s\n", script);
        skip();
    }
    fclose(said);
    s.input = in[1];
    snprintf(s.url, sizeof s.url, "http://127.0.0.1:%d", port);
    return s;
}

static inline server start_with_key(const char *fault, const char *owner, const char *key)
{
    return start_script("faulty_server.py", (const char *const[]){fault, owner, key, NULL});
}

static inline server start(const char *fault, const char *owner)
{
    return start_with_key(fault, owner, "");
}

#endif
