/* SPDX-License-Identifier: MIT */
/* A sampler process that breaks the rules: its first argument names the violation, at the first
 * request for rounds. Otherwise it emits token 0 and accepts nothing, over binary frames. Further
 * arguments only identify the process. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    char magic[4];
    uint32_t type, length, serial;
} header;

static const char *deed;

static int is(const char *name)
{
    return strcmp(deed, name) == 0;
}

static void put(const void *bytes, size_t n)
{
    if (fwrite(bytes, 1, n, stdout) != n || fflush(stdout) != 0) exit(3);
}

static void forever(void)
{
    for (;;) pause();
}

/* Commits the violation at a request, instead of the answer or before it. */
static void misbehave(void)
{
    static char zeros[1 << 16];
    if (is("crash")) raise(SIGSEGV);
    if (is("abort")) abort();
    if (is("hang")) forever();
    if (is("spin"))
        for (volatile int turns = 0;;) turns++;
    if (is("exit")) exit(0);
    if (is("complain")) {
        fputs("loading weights\nno such layer: 7\n", stderr);
        exit(4);
    }
    if (is("stop")) raise(SIGSTOP);
    if (is("print")) put("step 1: accepted 3\n", 19);
    if (is("close")) {
        fclose(stdout);
        forever();
    }
    if (is("flood"))
        for (;;) put(zeros, sizeof zeros);
    if (is("flood-stderr"))
        for (;;) fwrite("........", 1, 8, stderr);
    if (is("deaf")) {
        signal(SIGTERM, SIG_IGN);
        signal(SIGHUP, SIG_IGN);
        signal(SIGINT, SIG_IGN);
        forever();
    }
    if (is("grandchild")) {
        if (fork() == 0) {
            setsid();
            forever();
        }
        exit(0);
    }
    if (is("eat"))
        for (;;) {
            char *memory = malloc(1 << 20);
            if (memory == NULL) exit(5);
            memset(memory, 1, 1 << 20);
        }
}

static int32_t *answer_to(const int32_t *question, int32_t *n)
{
    *n = question[0];
    int32_t *answer = calloc(4 * (size_t)*n + 64, sizeof *answer);
    if (answer == NULL) exit(1);
    for (int32_t i = 0; i < *n; i++) answer[i] = 1;
    return answer;
}

int main(int argc, char **argv)
{
    header h;
    deed = argc > 1 ? argv[1] : "";
    puts("{\"speclab\":1,\"name\":\"rude\",\"scopes\":[\"V\",\"S\"],\"frames\":\"binary\","
         "\"counters\":true}");
    if (is("unasked")) fwrite("SPEC\2\0\0\0\0\0\0\0\0\0\0\0", 1, 16, stdout);
    fflush(stdout);
    if (is("never-read")) forever();
    while (fread(&h, sizeof h, 1, stdin) == 1) {
        char *body = malloc(h.length + 1);
        int32_t n;
        if (body == NULL || fread(body, 1, h.length, stdin) != h.length) return 1;
        if (h.type == 1) continue;
        misbehave();
        if (h.type == 4) {
            const uint64_t counters[3] = {6, 3, 7};
            h.length = is("counters") ? 8 : sizeof counters;
            put(&h, sizeof h);
            put(counters, h.length);
            continue;
        }
        int32_t *answer = answer_to((int32_t *)(void *)body, &n);
        h.length = 4 * 3 * (uint32_t)n;
        if (h.type == 3) {
            memcpy(&n, body + 8, sizeof n);
            h.length = 4 * (uint32_t)n;
            answer = realloc(answer, h.length);
            memset(answer, 0, h.length);
        }
        if (is("half")) {
            put(&h, sizeof h);
            put(answer, h.length / 2);
            return 0;
        }
        if (is("half-header")) {
            put(&h, 7);
            forever();
        }
        if (is("short")) h.length -= 8;
        if (is("long")) h.length += 8;
        if (is("odd")) h.length += 1;
        if (is("huge")) h.length = 0xfffffff0u;
        if (is("type")) h.type = 9;
        if (is("serial")) h.serial++;
        if (is("negative")) answer[0] = -1;
        if (is("many")) answer[0] = 1 << 30;
        if (is("range")) answer[2 * n] = 1 << 30;
        if (is("none")) answer[0] = 0, answer[1] = 2;
        for (int times = is("twice") ? 2 : 1; times > 0;
             times--) { /* in one write, so there is no race */
            fwrite(&h, sizeof h, 1, stdout);
            fwrite(answer, h.length < 1 << 20 ? h.length : 64, 1, stdout);
        }
        fflush(stdout);
        free(answer);
        free(body);
    }
    if (is("linger")) forever();
    return 0;
}
