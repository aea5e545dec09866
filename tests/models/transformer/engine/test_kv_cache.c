/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/models/transformer/engine/attention_session.h"

#include <math.h>
#include <sys/mman.h>

/* Keys and values of 16 bits are rounded when they are stored, and then computed with as floats, so
 * all bits are those of a float cache that is given rounded numbers. The rounding itself moves
 * results by at most `worst`, as measured for values up to 6. */
TEST(a_cache_of_halves_is_one_of_rounded_floats)
{
    static const int lengths[] = {1, 64, 255, 257, 700};
    static const struct {
        spec_tensor_type type;
        double worst;
    } kinds[] = {{SPEC_TENSOR_F16, 0.005}, {SPEC_TENSOR_BF16, 0.05}};
    for (int kind = 0; kind < 2; kind++) {
        double worst = 0.0;
        for (size_t k = 0; k < N_SHAPES; k += spec_test_thread_stride()) {
            OWNED(session) half = open_session_of(shapes[k], kinds[kind].type);
            OWNED(session) rounded = open_session(shapes[k]);
            OWNED(session) floats = open_session(shapes[k]);
            const size_t o = (size_t)(shapes[k].n_heads * shapes[k].head_dim);
            rounded.rounded = kinds[kind].type;
            for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
                read_text(&half, 0, lengths[i]);
                read_text(&rounded, 0, lengths[i]);
                read_text(&floats, 0, lengths[i]);
                const size_t n = (size_t)((lengths[i] - 1) % SPEC_COLUMNS_MAX + 1) * o;
                assert_memory_equal(half.o, rounded.o, n * sizeof *half.o);
                for (size_t j = 0; j < n; j++)
                    worst = fmax(worst, fabs((double)half.o[j] - (double)floats.o[j]));
            }
            int way[NODES];
            for (session *each = &half; each != NULL; each = each == &half ? &rounded : NULL) {
                score_tree(each, 700, 0, NODES);
                cpu->keep(&each->queue, &each->kv, way, 700, way_to(way, 18, 700));
                score_tree(each, 700 + way_to(way, 18, 700), 0, NODES);
            }
            assert_memory_equal(half.o, rounded.o, NODES * o * sizeof *half.o);
        }
        printf("%s: %.2g\n", spec_tensor_type_names[kinds[kind].type], worst);
        assert_true(worst > 0.1 * kinds[kind].worst && worst < kinds[kind].worst);
    }
}

/* Stores text 0's token at a position, with the number at `place` of its row replaced, if that is
 * given. */
static void read_token(session *s, int position, int place, float number)
{
    spec_batch batch = {.n = 0};
    int path[1];
    spec_error error;
    fill(s->qkv, s->width, 0, position);
    if (place >= 0) s->qkv[place] = number;
    add_column(&batch, path, position, position, &position, 1);
    cpu->begin(&s->queue, &batch, &s->kv, NULL, 0);
    cpu->store(&s->queue, &s->kv, 0, s->qkv);
    cpu->attend(&s->queue, s->o, s->qkv, &s->kv, 0, &s->how, NULL);
    cpu->end(&s->queue);
    assert_int_equal(cpu->wait(&s->queue, &error), GSL_SUCCESS);
}

/* A key of -inf could have a score of -inf, and so drop its token without an error. */
TEST(a_number_too_large_for_f16_is_seen_by_all_later_tokens)
{
    static const struct {
        spec_tensor_type type;
        float number;
        bool overflows;
    } cases[] = {{SPEC_TENSOR_F16, 65519.0f, false},
                 {SPEC_TENSOR_F16, 65520.0f, true},
                 {SPEC_TENSOR_F16, -65520.0f, true},
                 {SPEC_TENSOR_BF16, -65520.0f, false}};
    const spec_shape *shape = &shapes[0];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int is_value = 0; is_value < 2; is_value++) {
            OWNED(session) s = open_session_of(*shape, cases[i].type);
            const int head = shape->n_heads + is_value * shape->n_kv_heads;
            for (int position = 0; position < 20; position++) {
                const bool replaces = position == 5;
                read_token(&s, position, replaces ? head * shape->head_dim : -1, cases[i].number);
                assert_int_equal(isfinite(s.o[0]), position < 5 || !cases[i].overflows);
            }
        }
}

/* A kept path equals a text read in place. */
TEST(kept_slots_move_in_order)
{
    session s = open_session(shapes[1]), text = open_session(shapes[1]);
    const int past = 254, node = 18;
    int way[NODES];
    read_text(&s, 0, past);
    read_text(&text, 0, past);
    score_tree(&s, past, 0, NODES);
    cpu->keep(&s.queue, &s.kv, way, past, way_to(way, node, past));
    score_straight(&text, past, node);
    const int at = past + way_to(way, node, past);
    for (session *each = &s; each != NULL; each = each == &s ? &text : NULL) {
        spec_batch batch = {.n = 0};
        int path[1];
        spec_error error;
        fill(each->qkv, each->width, 0, at);
        add_column(&batch, path, at, at, &at, 1);
        cpu->begin(&each->queue, &batch, &each->kv, NULL, 0);
        cpu->store(&each->queue, &each->kv, 1, each->qkv);
        cpu->attend(&each->queue, each->o, each->qkv, &each->kv, 1, &each->how, NULL);
        cpu->end(&each->queue);
        assert_int_equal(cpu->wait(&each->queue, &error), GSL_SUCCESS);
    }
    assert_memory_equal(s.o, text.o, (size_t)(s.shape.n_heads * s.shape.head_dim) * sizeof *s.o);
    session_free(&s);
    session_free(&text);
}

TEST(a_long_window_takes_no_memory_before_it_is_read)
{
    const spec_shape shape = {.dim = 4096,
                              .n_layers = 32,
                              .n_heads = 32,
                              .n_kv_heads = 8,
                              .head_dim = 128,
                              .ffn_dim = 40,
                              .vocab = 1000,
                              .context = 1 << 17,
                              .norm_eps = 1e-5f,
                              .rope.base = 1e4};
    spec_kv kv;
    spec_queue queue;
    spec_error error;
    assert_int_equal(cpu->kv_init(cpu, &kv, &shape, SPEC_TENSOR_F32, 1 << 17, &error),
                     GSL_SUCCESS); /* 34 GB */
    assert_int_equal(cpu->queue_init(cpu, &queue, &shape, &error), GSL_SUCCESS);
    cpu->queue_free(&queue);
    void *memory = kv.data;
    cpu->kv_free(cpu, &kv);
    assert_int_equal(msync(memory, 1, MS_ASYNC), -1); /* no memory is mapped there any more */
}

SUITE(.setup = set_up);
