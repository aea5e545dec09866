/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/simulator/ptx/ptx_module.h"

#include "tests/simulator/block_run.h"
#include "tests/simulator/ptx/ptx_decode.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_MODULES = 32, MOST_BYTES = 1 << 20 };

static ptx_module modules[MOST_MODULES];
static int n_modules;

void *ptx_grow(void *array, int n, size_t size)
{
    if ((n & (n - 1)) != 0) return array;
    void *const more = realloc(array, (n == 0 ? 1 : 2 * (size_t)n) * size);
    if (more == NULL) block_run_fail("no memory for PTX");
    return more;
}

bool ptx_same(ptx_word a, ptx_word b) { return a.n == b.n && memcmp(a.at, b.at, (size_t)a.n) == 0; }

const ptx_function *ptx_module_function(const ptx_module *module, ptx_word name)
{
    for (int i = 0; i < module->n_functions; i++)
        if (ptx_same(module->functions[i].name, name)) return &module->functions[i];
    return NULL;
}

ptx_variable *ptx_module_variable(const ptx_module *module, ptx_word name)
{
    for (int i = 0; i < module->n_variables; i++)
        if (ptx_same(module->variables[i].name, name)) return &module->variables[i];
    return NULL;
}

const ptx_variable *ptx_module_variable_at(const char *at, size_t bytes)
{
    for (int m = 0; m < n_modules; m++)
        for (int i = 0; i < modules[m].n_variables; i++) {
            const ptx_variable *const v = &modules[m].variables[i];
            if (v->memory != NULL && at >= v->memory && at + bytes <= v->memory + v->bytes)
                return v;
        }
    return NULL;
}

/* -- outside functions -- */

ptx_variable ptx_variable_read(ptx_reader *r)
{
    static const struct {
        const char *name;
        size_t bytes;
    } types[] = {{".b8", 1},  {".u8", 1},  {".s8", 1},  {".b16", 2}, {".u16", 2},
                 {".s16", 2}, {".b32", 4}, {".u32", 4}, {".s32", 4}, {".f32", 4},
                 {".b64", 8}, {".u64", 8}, {".s64", 8}, {".f64", 8}};
    uint64_t align = 0, count = 1;
    size_t bytes = 0;
    if (ptx_take(r, ".align") && !ptx_number(&align, ptx_next(r)))
        ptx_unknown(r, ptx_peek(r), "after an alignment");
    const ptx_word type = ptx_next(r);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (ptx_is(type, types[i].name)) bytes = types[i].bytes;
    if (bytes == 0) ptx_unknown(r, type, "type");
    const ptx_word name = ptx_next(r);
    if (ptx_take(r, "[")) {
        const ptx_word size = ptx_next(r);
        if (!ptx_number(&count, size) || count > MOST_BYTES) ptx_unknown(r, size, "size");
        ptx_need(r, "]");
    }
    return (ptx_variable){
        .name = name, .bytes = bytes * count, .align = align == 0 ? bytes : align};
}

static void add_variable(ptx_module *m, ptx_reader *r, ptx_variable v)
{
    ptx_need(r, ";");
    m->variables = ptx_grow(m->variables, m->n_variables, sizeof *m->variables);
    m->variables[m->n_variables++] = v;
}

/* The initial bytes; without them the variable is zeroed. */
static void read_global(ptx_module *m, ptx_reader *r)
{
    ptx_variable v = ptx_variable_read(r);
    void *memory;
    if (posix_memalign(&memory, 16, (v.bytes + 15) & ~(size_t)15) != 0)
        block_run_fail("no memory for PTX");
    v.memory = memset(memory, 0, v.bytes);
    if (ptx_take(r, "=")) {
        ptx_need(r, "{");
        for (size_t i = 0;; i++) {
            uint64_t byte;
            const ptx_word word = ptx_next(r);
            if (!ptx_number(&byte, word) || byte > 255 || i >= v.bytes)
                ptx_unknown(r, word, "byte of a variable");
            v.memory[i] = (char)(unsigned char)byte;
            if (ptx_take(r, "}")) break;
            ptx_need(r, ",");
        }
    }
    add_variable(m, r, v);
}

static void skip_past(ptx_reader *r, const char *open, const char *close)
{
    for (int depth = 1; depth > 0;) {
        const ptx_word word = ptx_next(r);
        if (word.n == 0) ptx_unknown(r, word, "end of the text before the end of a function,");
        depth += ptx_is(word, open) - ptx_is(word, close);
    }
}

static void read_function(ptx_module *m, ptx_reader *r, bool is_kernel)
{
    ptx_function f = {.is_kernel = is_kernel};
    if (ptx_take(r, "(")) {
        f.returns = *r;
        skip_past(r, "(", ")");
    }
    f.name = ptx_next(r);
    ptx_need(r, "(");
    f.params = *r;
    skip_past(r, "(", ")");
    for (;;) {
        const ptx_word word = ptx_next(r);
        if (ptx_is(word, ";")) return; /* a declaration only */
        if (ptx_is(word, "{")) break;
        if (word.n == 0) ptx_unknown(r, word, "function");
    }
    f.body = *r;
    skip_past(r, "{", "}");
    m->functions = ptx_grow(m->functions, m->n_functions, sizeof *m->functions);
    m->functions[m->n_functions++] = f;
}

static void read_text(ptx_module *m, const ptx_text *text)
{
    ptx_reader r = {text->text, text->file, 1};
    *m = (ptx_module){.text = text};
    for (;;) {
        const ptx_word word = ptx_next(&r);
        if (word.n == 0) return;
        if (ptx_is(word, ".version") || ptx_is(word, ".target") || ptx_is(word, ".address_size"))
            (void)ptx_next(&r);
        else if (ptx_is(word, ".visible") || ptx_is(word, ".weak")) continue;
        else if (ptx_is(word, ".entry") || ptx_is(word, ".func"))
            read_function(m, &r, ptx_is(word, ".entry"));
        else if (ptx_is(word, ".global") || ptx_is(word, ".const")) read_global(m, &r);
        else if (ptx_is(word, ".shared")) add_variable(m, &r, ptx_variable_read(&r));
        else if (ptx_is(word, ".section")) { /* for debuggers */
            (void)ptx_next(&r);
            ptx_need(&r, "{");
            skip_past(&r, "{", "}");
        } else
            ptx_unknown(&r, word, "directive");
    }
}

static void read_texts(void)
{
    while (ptx_texts[n_modules].file != NULL) {
        if (n_modules == MOST_MODULES) block_run_fail("more than %d texts of PTX", MOST_MODULES);
        read_text(&modules[n_modules], &ptx_texts[n_modules]);
        n_modules++;
    }
}

const ptx_kernel *ptx_module_kernel(const char *name, int capability)
{
    static const ptx_kernel *last;
    static int last_capability;
    if (last != NULL && last_capability == capability && strcmp(last->name, name) == 0) return last;
    if (n_modules == 0) read_texts();
    const ptx_word word = {name, (int)strlen(name), 0};
    const ptx_function *function = NULL;
    ptx_module *module = NULL;
    for (int i = 0; i < n_modules; i++) {
        const ptx_function *const f = ptx_module_function(&modules[i], word);
        const int its = modules[i].text->capability;
        if (f == NULL || !f->is_kernel || its > capability ||
            (module != NULL && its < module->text->capability))
            continue;
        function = f;
        module = &modules[i];
    }
    if (function == NULL) block_run_fail("there is no PTX of it for capability %d", capability);
    last_capability = capability;
    for (ptx_kernel *k = module->kernels; k != NULL; k = k->next)
        if (strcmp(k->name, name) == 0) return last = k;
    ptx_kernel *const k = ptx_decode(module, function, name);
    k->next = module->kernels;
    module->kernels = k;
    return last = k;
}
