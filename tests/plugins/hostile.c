/* SPDX-License-Identifier: MIT */
/* A hostile sampler: the environment variable SPECLAB_HOSTILE names its violation. Otherwise it
 * emits token 0 and accepts nothing; writes outside its buffers happen in the second round of a
 * call. */
#define _GNU_SOURCE
#include <speclab/sampler.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

static jmp_buf back;

static int is(const char *deed)
{
    const char *asked = getenv("SPECLAB_HOSTILE");
    return asked != NULL && strcmp(asked, deed) == 0;
}

static void crash(void)
{
    volatile int *nowhere = NULL;
    *nowhere = 1;
}

static void hang(void)
{
    for (;;) pause();
}

char *volatile spec_test_leaked; /* volatile, so that compilers keep the allocation */

static void leak(void)
{
    for (;;) {
        char *more = malloc(1 << 20);
        if (more != NULL) memset(more, 1, 1 << 20);
        spec_test_leaked = more;
    }
}

/* Forks copies that leave their process group and survive. */
static void fork_away(void)
{
    for (int i = 0; i < 3; i++) {
        if (fork() != 0) continue;
        setsid();
        if (fork() == 0) setsid();
        for (;;) sleep(1000);
    }
}

static int deep(volatile int n)
{
    return n > 0 ? deep(n + 1) + n : 0;
}

static void fork_all(void)
{
    for (int i = 0; i < 2; i++) (void)!fork(); /* the copies return from step, too */
}

__attribute__((constructor)) static void loaded(void)
{
    if (is("crash when loaded")) crash();
    if (is("hang when loaded")) hang();
}

uint32_t spec_sampler_abi(void)
{
    return is("another version") ? 7 : SPEC_SAMPLER_ABI;
}

int spec_sampler_describe(spec_sampler_about *about)
{
    strcpy(about->name, "hostile");
    about->scopes = SPEC_SCOPE_VERIFY | SPEC_SCOPE_DRAFT;
    about->seeded = 1;
    if (is("coin written")) about->coins = 1;
    if (is("no name")) about->name[0] = '\0';
    if (is("endless name")) memset(about->name, 'x', sizeof about->name);
    if (is("name with colours")) strcpy(about->name, "\033[31mred");
    if (is("no scopes")) about->scopes = 0;
    if (is("unknown scopes")) about->scopes = 64;
    if (is("scope S without generate")) about->scopes = SPEC_SCOPE_STREAM;
    if (is("rows of a new kind")) about->rows = 3;
    if (is("a flag of 2")) about->coins = 2;
    if (is("a negative limit")) about->max_vocab = -1;
    if (is("unknown trees")) about->trees = 8;
    if (is("unknown chains")) about->chains = SPEC_DRAWN_WITHOUT;
    if (is("filters alone")) strcpy(about->filters, "top_k");
    if (is("unknown filters")) {
        about->sampling = 1;
        strcpy(about->filters, "top_k,typical");
    }
    if (is("endless filters")) memset(about->filters, ',', sizeof about->filters);
    if (is("a longer struct")) memset(about, 0, sizeof *about + 16);
    if (is("describe fails")) return 5;
    if (is("crash in describe")) crash();
    return 0;
}

int spec_sampler_open(void **ret_self, const char *opt_options)
{
    (void)opt_options;
    *ret_self = NULL;
    if (is("open fails")) return 3;
    if (is("exit in open")) exit(0);
    if (is("longjmp") && setjmp(back) != 0) return 0;
    return 0;
}

void spec_sampler_close(void *self)
{
    (void)self;
    if (is("hang in close")) hang();
    if (is("crash in close")) crash();
}

const char *spec_sampler_error(void *self)
{
    (void)self;
    return is("step fails") ? "no such\nluck" : NULL;
}

int spec_sampler_counters(void *self, uint64_t *ret_drafted, uint64_t *ret_accepted,
                          uint64_t *ret_emitted)
{
    (void)self;
    *ret_drafted = *ret_accepted = *ret_emitted = 7;
    return is("counters fail") ? 9 : 0;
}

static void do_deed(spec_step *steps)
{
    if (is("crash")) crash();
    if (is("hang")) hang();
    if (is("spin")) for (volatile int x = 0;; x++) continue;
    if (is("abort")) abort();
    if (is("exit")) exit(0);
    if (is("exit with words")) {
        fprintf(stderr, "first words\nlast words\n\n");
        exit(3);
    }
    if (is("stop")) raise(SIGSTOP);
    if (is("leak")) leak();
    if (is("deep")) steps[0].n_nodes = deep(1);
    if (is("longjmp")) longjmp(back, 1);
    if (is("print")) for (int i = 0; i < 100000; i++) puts("garbage garbage garbage");
    if (is("write to all"))
        for (int fd = 3; fd < 128; fd++) (void)!write(fd, "garbage garbage garbage", 23);
    if (is("close all")) for (int fd = 0; fd < 1024; fd++) close(fd);
    if (is("read all")) for (int fd = 3; fd < 128; fd++) {
        char bytes[64];
        fcntl(fd, F_SETFL, O_NONBLOCK);
        (void)!read(fd, bytes, sizeof bytes);
    }
    if (is("mask")) {
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, NULL);
        for (int s = 1; s < 64; s++) signal(s, SIG_IGN);
        hang();
    }
    if (is("group")) {
        prctl(PR_SET_PDEATHSIG, 0);
        setsid();
        hang();
    }
    if (is("fork away")) {
        fork_away();
        crash();
    }
    if (is("fork")) fork_all();
    if (is("kill supervisor")) {
        kill(getppid(), SIGKILL);
        hang();
    }
    if (is("stop supervisor")) {
        kill(getppid(), SIGSTOP);
        hang();
    }
    if (is("shrink")) for (int fd = 3; fd < 16; fd++) (void)!ftruncate(fd, 0);
}

int spec_sampler_step(void *self, spec_step *steps, int32_t n_steps)
{
    (void)self;
    do_deed(steps);
    if (is("step fails")) return 4;
    for (int i = 0; i < n_steps; i++) {
        spec_step *step = &steps[i];
        int32_t *token = (int32_t *)step->token;
        float *target = (float *)step->target;
        step->ret_token[0] = 0;
        *step->ret_n_emitted = 1;
        *step->ret_n_accepted = 0;
        for (int k = 0; step->ret_draft != NULL && k < step->n_nodes; k++) step->ret_draft[k] = 0;
        if (i != 1) continue;
        if (is("token written")) token[0] = 1 - token[0];
        if (is("coin written")) *(float *)step->coin = 2.0f;
        if (is("row written")) target[0] += 0.25f;
        if (is("overrun")) step->ret_token[step->n_nodes + 1] = 0;
        if (is("underrun")) step->ret_token[-1] = 0;
        if (is("untouched")) *step->ret_n_emitted = -0x5eed5eed;
        if (is("too many")) *step->ret_n_emitted = step->n_nodes + 2;
        if (is("huge count")) *step->ret_n_emitted = *step->ret_n_accepted = INT32_MAX;
        if (is("token out of range")) step->ret_token[0] = step->vocab;
        if (is("draft out of range") && step->ret_draft != NULL) step->ret_draft[0] = 1 << 30;
    }
    return 0;
}
