/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/validate/samplers/plugin_child.h"

#include "tools/validate/samplers/sampler_host.h"
#include "tools/validate/samplers/supervision.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Guard bytes after the struct: a plug-in built with a newer header may write past its end. */
enum { DESCRIBE_GUARD = 256, GUARD = 0x5e };

typedef struct {
    int commands, answers;
    spec_plugin_block *block;
    size_t bytes; /* mapped */
    spec_sampler_api api;
    spec_sampler_host *host;
    spec_fixture fixture;
    spec_round_batch batch;
    const char *path;
} child;

static int map_block(child *c, size_t bytes, spec_error *error)
{
    if (bytes == c->bytes) return GSL_SUCCESS;
    if (c->block != NULL) munmap(c->block, c->bytes);
    c->block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, SPEC_SUPERVISOR_BLOCK, 0);
    c->bytes = bytes;
    if (c->block != MAP_FAILED) return GSL_SUCCESS;
    c->block = NULL;
    c->bytes = 0;
    return spec_fail(error, GSL_ENOMEM, "out of memory for a shared block of %zu bytes", bytes);
}

static void *at(const child *c, size_t offset)
{
    return (char *)c->block + offset;
}

/* ---- loading --------------------------------------------------------------------------------- */

static bool find(void *library, const char *name, void *ret_function)
{
    void *symbol = dlsym(library, name);
    memcpy(ret_function, &symbol, sizeof symbol);
    return symbol != NULL;
}

static int load(child *c, spec_error *error)
{
    uint32_t (*abi)(void) = NULL;
    spec_sampler_api *api = &c->api;
    void *library = dlopen(c->path, RTLD_NOW | RTLD_LOCAL);
    const struct {
        const char *name;
        void *function;
    } symbols[] = {{"spec_sampler_abi", &abi},
                   {"spec_sampler_describe", &api->describe},
                   {"spec_sampler_open", &api->open},
                   {"spec_sampler_step", &api->step},
                   {"spec_sampler_close", &api->close}};
    if (library == NULL) return spec_fail(error, GSL_EFAILED, "it cannot be loaded: %s", dlerror());
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        if (!find(library, symbols[i].name, symbols[i].function))
            return spec_fail(error, GSL_EFAILED, "it does not export %s", symbols[i].name);
    find(library, "spec_sampler_generate", &api->generate);
    find(library, "spec_sampler_counters", &api->counters);
    find(library, "spec_sampler_error", &api->error);
    c->block->place = SPEC_PLUGIN_IN_ABI;
    const uint32_t version = abi();
    if (version != SPEC_SAMPLER_ABI)
        return spec_fail(error, GSL_EFAILED,
                         "it was made for version %u of the interface; this speclab has %u",
                         version, (unsigned)SPEC_SAMPLER_ABI);
    return GSL_SUCCESS;
}

typedef struct {
    spec_sampler_about about;
    unsigned char guard[DESCRIBE_GUARD];
} guarded_about;

static int ask_about(child *c, guarded_about *asked)
{
    *asked = (guarded_about){.about = {.size = sizeof asked->about}};
    memset(asked->guard, GUARD, sizeof asked->guard);
    return c->api.describe(&asked->about);
}

static int describe(child *c, spec_error *error)
{
    guarded_about asked;
    c->block->place = SPEC_PLUGIN_IN_DESCRIBE;
    const int code = ask_about(c, &asked);
    if (code != 0) return spec_fail(error, GSL_EFAILED, "its describe returned %d", code);
    for (int i = 0; i < DESCRIBE_GUARD; i++)
        if (asked.guard[i] != GUARD)
            return spec_fail(error, GSL_EFAILED,
                             "its describe wrote past the end of its struct; was it built with a "
                             "newer header?");
    if (asked.about.scopes & SPEC_SCOPE_STREAM && c->api.generate == NULL)
        return spec_fail(error, GSL_EFAILED,
                         "it has scope S, but does not export spec_sampler_generate");
    c->block->about = asked.about;
    return spec_subject_check_about(&asked.about, error);
}

/* ---- the verbs ------------------------------------------------------------------------------- */

/* Open may rely on an earlier describe, and describe on the options of open, so describe runs
 * twice; the last answer counts. */
static int open_sampler(child *c, spec_error *error)
{
    guarded_about asked;
    int status;
    SPEC_TRY(load(c, error));
    c->block->place = SPEC_PLUGIN_IN_DESCRIBE;
    (void)ask_about(c, &asked);
    c->block->place = SPEC_PLUGIN_IN_OPEN;
    const char *options = c->block->options != 0 ? at(c, c->block->options) : NULL;
    SPEC_TRY(spec_sampler_host_init(&c->host, &c->api, &asked.about, options, error));
    SPEC_TRY(describe(c, error));
    spec_sampler_host_declare(c->host, &c->block->about);
done:
    return status;
}

static void find_rows(child *c)
{
    c->fixture = c->block->fixture;
    c->fixture.kind = NULL;
    c->fixture.target = at(c, c->block->target);
    c->fixture.draft = at(c, c->block->draft);
    c->fixture.next = at(c, c->block->next);
    c->fixture.target_law = c->fixture.draft_law = NULL;
    spec_round_batch_lay(&c->batch, at(c, c->block->batch), c->block->capacity, c->fixture.n_nodes,
                   c->block->n_coins);
}

static int begin(child *c, spec_error *error)
{
    return spec_sampler_host_begin(c->host, &c->fixture, c->block->scope, c->block->capacity,
                                   error);
}

static int run(child *c, spec_error *error)
{
    c->block->place = SPEC_PLUGIN_IN_STEP;
    return spec_sampler_host_run(c->host, &c->batch, c->block->n, error);
}

static int generate(child *c, spec_error *error)
{
    const spec_plugin_block *b = c->block;
    c->block->place = SPEC_PLUGIN_IN_GENERATE;
    return spec_sampler_host_generate(c->host, b->start, b->K, b->seed, at(c, b->text),
                                      b->n_tokens, error);
}

static int counters(child *c, spec_error *error)
{
    bool known = false;
    c->block->place = SPEC_PLUGIN_IN_COUNTERS;
    const int status = spec_sampler_host_counters(c->host, c->block->counters, &known, error);
    c->block->counts = known;
    return status;
}

static int obey(child *c, const spec_plugin_command *command, spec_error *error)
{
    static int (*const verbs[])(child *, spec_error *) = {[SPEC_PLUGIN_OPEN] = open_sampler,
                                                          [SPEC_PLUGIN_BEGIN] = begin,
                                                          [SPEC_PLUGIN_RUN] = run,
                                                          [SPEC_PLUGIN_GENERATE] = generate,
                                                          [SPEC_PLUGIN_COUNTERS] = counters};
    const size_t before = c->bytes;
    const int status = map_block(c, command->bytes, error);
    if (status != GSL_SUCCESS) return status;
    /* The sampler host keeps pointers to the fixture and the batch, which move with the block. */
    if (command->verb == SPEC_PLUGIN_BEGIN || (before != c->bytes && c->host != NULL))
        find_rows(c);
    return verbs[command->verb](c, error);
}

/* ---- the channel ----------------------------------------------------------------------------- */

static bool move_all(int fd, void *bytes, size_t n, bool writes)
{
    for (char *p = bytes; n > 0;) {
        const ssize_t moved = writes ? write(fd, p, n) : read(fd, p, n);
        if (moved == 0) return false;
        if (moved < 0 && errno != EINTR) {
            close(fd);
            return false;
        }
        if (moved > 0) {
            p += moved;
            n -= (size_t)moved;
        }
    }
    return true;
}

/* The library may print to standard output; this sends it to standard error. */
static void hide_channel(child *c)
{
    c->commands = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 64);
    c->answers = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 64);
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(nothing, STDIN_FILENO);
    close(nothing);
    dup2(STDERR_FILENO, STDOUT_FILENO);
}

int spec_plugin_child(const char *path)
{
    child c = {.path = path};
    const pid_t self = getpid();
    spec_plugin_command command;
    hide_channel(&c);
    errno = 0;
    while (move_all(c.commands, &command, sizeof command, false)) {
        spec_error error = {{0}};
        spec_plugin_answer answer = {.number = command.number,
                                     .status = obey(&c, &command, &error)};
        if (getpid() != self) _exit(0); /* a process that the library forked */
        if (c.block != NULL) memcpy(c.block->error, error.text, sizeof c.block->error - 1);
        if (!move_all(c.answers, &answer, sizeof answer, true)) break;
        errno = 0;
    }
    /* the library closed our descriptors: wait until the parent notices and kills this process */
    if (errno != 0) {
        close(c.answers);
        for (;;) pause();
    }
    spec_sampler_host_free(c.host);
    return 0;
}
