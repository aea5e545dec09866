/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/simulator/ptx/ptx_decode.h"

#include "tests/simulator/block_run.h"
#include "tests/simulator/ptx/ptx_decoder.h"
#include "tests/simulator/ptx/ptx_registers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- instructions of single lanes -- */

enum {
    WIDTH_u16 = PTX_WORD,
    WIDTH_s16 = PTX_WORD,
    WIDTH_u32 = PTX_WORD,
    WIDTH_s32 = PTX_WORD,
    WIDTH_f32 = PTX_WORD
};
enum { WIDTH_u64 = PTX_LONG, WIDTH_s64 = PTX_LONG, WIDTH_f64 = PTX_LONG };

typedef struct {
    const char *name;
    int op;
    uint8_t widths[6]; /* of its operands, 0-terminated */
    bool carries;
} form;

#define FORM_ONE(name, D, A, value) {#name, PTX_##name, {WIDTH_##D, WIDTH_##A}, false},
#define FORM_TWO(name, D, A, B, value)                                                             \
    {#name, PTX_##name, {WIDTH_##D, WIDTH_##A, WIDTH_##B}, false},
#define FORM_THREE(name, D, A, B, C, value)                                                        \
    {#name, PTX_##name, {WIDTH_##D, WIDTH_##A, WIDTH_##B, WIDTH_##C}, false},
#define FORM_BFI(name, D)                                                                          \
    {#name, PTX_##name, {WIDTH_##D, WIDTH_##D, WIDTH_##D, PTX_WORD, PTX_WORD}, false},
#define FORM_SELECT(name, D)                                                                       \
    {#name, PTX_##name, {WIDTH_##D, WIDTH_##D, WIDTH_##D, PTX_PREDICATE}, false},
#define FORM_TEST(name, A, condition)                                                              \
    {#name, PTX_##name, {PTX_PREDICATE, WIDTH_##A, WIDTH_##A}, false},
#define FORM_LOGIC(name, sources, value)                                                           \
    {#name, PTX_##name, {PTX_PREDICATE, PTX_PREDICATE, sources > 1 ? PTX_PREDICATE : 0}, false},
#define FORM_CARRY(name, sources, leaves, sum)                                                     \
    {#name, PTX_##name, {PTX_WORD, PTX_WORD, PTX_WORD, sources > 2 ? PTX_WORD : 0}, true},
static const form forms[] = {PTX_ONE(FORM_ONE) PTX_TWO(FORM_TWO) PTX_THREE(FORM_THREE)
                                 PTX_BFI(FORM_BFI) PTX_SELECT(FORM_SELECT) PTX_TEST(FORM_TEST)
                                     PTX_LOGIC(FORM_LOGIC) PTX_CARRY(FORM_CARRY)};

/* "add.rn.f32" is the form add_rn_f32. */
static const form *form_of(ptx_word word)
{
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        const char *const name = forms[i].name;
        int n = 0;
        while (n < word.n && name[n] == (word.at[n] == '.' ? '_' : word.at[n])) n++;
        if (n == word.n && name[n] == '\0') return &forms[i];
    }
    return NULL;
}

ptx_instruction *ptx_emit(ptx_decoder *d, int op, int n)
{
    ptx_kernel *const k = d->names.kernel;
    k->code = ptx_grow(k->code, k->n_code, sizeof *k->code);
    ptx_instruction *const i = &k->code[k->n_code++];
    *i = (ptx_instruction){.op = (uint16_t)op,
                           .n = (uint8_t)n,
                           .guarded = d->guarded,
                           .unless = d->unless,
                           .guard = d->guard,
                           .line = d->line};
    return i;
}

void ptx_comma(ptx_decoder *d) { ptx_need(d->names.reader, ","); }

static void decode_form(ptx_decoder *d, const form *f)
{
    ptx_place x[PTX_MOST_OPERANDS] = {0};
    int n = 0;
    for (; f->widths[n] != 0; n++) {
        if (n > 0) ptx_comma(d);
        x[n] = ptx_operand(&d->names, f->widths[n]);
    }
    if (f->carries) {
        if (d->carries < 0) d->carries = ptx_new_register(&d->names, PTX_WORD);
        x[n++] = d->carries;
    }
    memcpy(ptx_emit(d, f->op, n)->x, x, sizeof x);
}

/* mov.b64 %rd1, {%r1, %r2}; mov.b64 {%r1, %r2}, %rd1 */
static void decode_move_64(ptx_decoder *d)
{
    ptx_place to[4], from[4];
    const int n_to = ptx_vector(&d->names, to, 0);
    ptx_comma(d);
    const int n_from = ptx_vector(
        &d->names, from, ptx_width_of(&d->names, to[0]) == PTX_LONG && n_to == 1 ? 0 : PTX_LONG);
    if (n_to == 1 && n_from == 1) {
        ptx_instruction *const i = ptx_emit(d, PTX_mov_b64, 2);
        i->x[0] = to[0];
        i->x[1] = from[0];
    } else if (n_to == 1 && n_from == 2) {
        ptx_instruction *const i = ptx_emit(d, PTX_two_halves, 3);
        i->x[0] = to[0];
        i->x[1] = from[0];
        i->x[2] = from[1];
    } else if (n_to == 2 && n_from == 1) {
        for (int half = 0; half < 2; half++) {
            ptx_instruction *const i = ptx_emit(d, half == 0 ? PTX_low_half : PTX_high_half, 2);
            i->x[0] = to[half];
            i->x[1] = from[0];
        }
    } else {
        ptx_unknown(d->names.reader, ptx_peek(d->names.reader), "mov.b64 before");
    }
}

/* -- control flow -- */

static void decode_body(ptx_decoder *d, int call);

static void jump(ptx_decoder *d, ptx_word name, int call)
{
    d->jumps = ptx_grow(d->jumps, d->n_jumps, sizeof *d->jumps);
    d->jumps[d->n_jumps++] = (ptx_label){name, call, d->names.kernel->n_code};
    (void)ptx_emit(d, PTX_bra, 0);
}

static void put_label(ptx_decoder *d, ptx_word name, int call)
{
    d->labels = ptx_grow(d->labels, d->n_labels, sizeof *d->labels);
    d->labels[d->n_labels++] = (ptx_label){name, call, d->names.kernel->n_code};
}

static const ptx_word end_of_call = {"", 0, 0};

/* Binds the next formal parameter in *params to the caller's variable that is named next. */
static void pass(ptx_decoder *d, ptx_reader *params, ptx_name *formals, int *n)
{
    int unused;
    const ptx_word word = ptx_next(d->names.reader);
    const ptx_name *const actual = ptx_names_find(&d->names, word, &unused);
    if (actual == NULL || actual->kind != NAME_THREAD || *n == 8)
        ptx_unknown(d->names.reader, word, "argument");
    ptx_need(params, ".param");
    formals[*n] = *actual;
    formals[(*n)++].name = ptx_variable_read(params).name;
}

/* call.uni (retval0), name, (param0, param1); */
static void decode_call(ptx_decoder *d)
{
    ptx_reader *const r = d->names.reader, returns, params;
    ptx_name formals[8];
    ptx_reader back = *r;
    int n = 0;
    const bool result = ptx_take(&back, "(");
    if (result) {
        (void)ptx_next(&back);
        ptx_need(&back, ")");
        ptx_need(&back, ",");
    }
    const ptx_word name = ptx_next(&back);
    const ptx_function *const f = ptx_module_function(d->names.module, name);
    if (f == NULL || f->is_kernel || d->guarded || (f->returns.at != NULL) != result)
        ptx_unknown(r, name, "function");
    returns = f->returns;
    params = f->params;
    if (result) {
        ptx_need(r, "(");
        pass(d, &returns, formals, &n);
        ptx_need(r, ")");
        ptx_need(r, ",");
    }
    (void)ptx_next(r);
    if (ptx_take(r, ",")) {
        ptx_need(r, "(");
        do pass(d, &params, formals, &n);
        while (ptx_take(r, ",") && ptx_take(&params, ","));
        ptx_need(r, ")");
    }
    const int scope = d->names.n_names, call = ++d->calls;
    for (int i = 0; i < n; i++) ptx_names_add(&d->names, formals[i]);
    ptx_reader body = f->body;
    d->names.reader = &body;
    decode_body(d, call);
    d->names.reader = r;
    put_label(d, end_of_call, call);
    d->names.n_names = scope;
}

/* ---- statements ------------------------------------------------------------------------------ */

static void decode_instruction(ptx_decoder *d, ptx_word word, int call)
{
    static const char mma_bf16[] = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32";
    static const char mma_s8[] = "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32";
    const form *f;
    if (ptx_is(word, "mov.b64")) decode_move_64(d);
    else if (ptx_is(word, "bra") || ptx_is(word, "bra.uni"))
        jump(d, ptx_next(d->names.reader), call);
    else if (ptx_is(word, "ret") && call > 0) jump(d, end_of_call, call);
    else if (ptx_is(word, "ret") || ptx_is(word, "exit")) (void)ptx_emit(d, PTX_ret, 0);
    else if (ptx_is(word, "call.uni")) decode_call(d);
    else if (ptx_begins(word, "ld.") || ptx_begins(word, "st.")) ptx_decode_access(d, word);
    else if (ptx_begins(word, "atom.")) ptx_decode_atom(d, word);
    else if (ptx_begins(word, "cp.async.")) ptx_decode_copy(d, word);
    else if (ptx_begins(word, "shfl.")) ptx_decode_shuffle(d, word);
    else if (ptx_is(word, "vote.sync.any.pred")) ptx_decode_vote(d);
    else if (ptx_is(word, mma_bf16)) ptx_decode_mma(d, PTX_mma_bf16, word);
    else if (ptx_is(word, mma_s8)) ptx_decode_mma(d, PTX_mma_s8, word);
    else if (ptx_is(word, "bar.sync")) {
        (void)ptx_emit(d, PTX_bar_sync, 0);
        if (!ptx_take(d->names.reader, "0"))
            ptx_unknown(d->names.reader, ptx_peek(d->names.reader), "barrier");
    } else if (ptx_is(word, "bar.warp.sync")) {
        (void)ptx_emit(d, PTX_bar_warp_sync, 0);
        ptx_need_all_lanes(d);
    } else if (ptx_is(word, "griddepcontrol.wait")) {
        (void)ptx_emit(d, PTX_after_previous, 0);
    } else if (ptx_is(word, "membar.gl") || ptx_is(word, "griddepcontrol.launch_dependents")) {
        /* launches and blocks run one after another here, so their writes are visible at once */
    } else if ((f = form_of(word)) != NULL) decode_form(d, f);
    else ptx_unknown(d->names.reader, word, "instruction");
    ptx_need(d->names.reader, ";");
}

static void decode_directive(ptx_decoder *d, ptx_word word)
{
    if (ptx_is(word, ".reg")) ptx_names_registers(&d->names);
    else if (ptx_is(word, ".shared")) ptx_names_shared(&d->names);
    else if (ptx_is(word, ".local") || ptx_is(word, ".param")) ptx_names_thread(&d->names);
    else if (ptx_is(word,
                    ".pragma")) { /* hints for ptxas: unrolling, and used bytes of a load */
        (void)ptx_next(d->names.reader);
        ptx_need(d->names.reader, ";");
    } else
        ptx_unknown(d->names.reader, word, "directive");
}

static void decode_guard(ptx_decoder *d)
{
    d->unless = ptx_take(d->names.reader, "!");
    d->guard = ptx_operand(&d->names, PTX_PREDICATE);
    d->guarded = true;
}

/* Decodes up to the closing brace. */
static void decode_body(ptx_decoder *d, int call)
{
    int scopes[16], depth = 0;
    scopes[0] = d->names.n_names;
    while (depth >= 0) {
        const ptx_word word = ptx_next(d->names.reader);
        d->guarded = d->unless = false;
        d->line = word.line;
        if (ptx_is(word, "{")) {
            if (depth == 15) ptx_unknown(d->names.reader, word, "16th");
            scopes[++depth] = d->names.n_names;
        } else if (ptx_is(word, "}")) {
            d->names.n_names = scopes[depth--];
        } else if (ptx_is(word, "@")) {
            decode_guard(d);
            decode_instruction(d, ptx_next(d->names.reader), call);
        } else if (word.n > 0 && word.at[0] == '.') {
            decode_directive(d, word);
        } else if (ptx_take(d->names.reader, ":")) {
            put_label(d, word, call);
        } else {
            decode_instruction(d, word, call);
        }
    }
}

static void find_labels(ptx_decoder *d)
{
    for (int j = 0; j < d->n_jumps; j++) {
        int i = 0;
        const ptx_label *const jump = &d->jumps[j];
        while (i < d->n_labels &&
               (d->labels[i].call != jump->call || !ptx_same(d->labels[i].name, jump->name)))
            i++;
        if (i == d->n_labels) ptx_unknown(d->names.reader, jump->name, "label");
        d->names.kernel->code[jump->at].target = d->labels[i].at;
    }
}

ptx_kernel *ptx_decode(const ptx_module *module, const ptx_function *function, const char *name)
{
    ptx_kernel *const k = calloc(1, sizeof *k);
    if (k == NULL) block_run_fail("no memory for PTX");
    k->name = name;
    k->file = module->text->file;
    ptx_reader params = function->params, body = function->body;
    ptx_decoder d = {.names = {.module = module, .reader = &body, .kernel = k}, .carries = -1};
    ptx_need(&params, ".param");
    const ptx_variable args = ptx_variable_read(&params);
    k->args = args.bytes;
    ptx_names_add(&d.names, (ptx_name){.name = args.name, .kind = NAME_ARGS});
    decode_body(&d, 0);
    d.guarded = false;
    (void)ptx_emit(&d, PTX_ret, 0);
    find_labels(&d);
    k->local = (k->local + 15) / 16 * 16; /* all threads' local memory has the same alignment */
    ptx_registers_place(k, d.names.widths, d.names.n_registers);
    free(d.names.names);
    free(d.names.widths);
    free(d.labels);
    free(d.jumps);
    return k;
}
