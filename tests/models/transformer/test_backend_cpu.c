#include "models/transformer/backend.h"
#include "models/noise.h"
#include "speclab/round.h"
#include "tests/support/support.h"

#include <math.h>
#include <omp.h>
#include <string.h>

static const spec_backend *const cpu = &spec_backend_cpu;

/* A number from a bell, reproducible. */
static float bell(uint64_t i)
{
    double sum = -6.0;
    for (uint64_t k = 0; k < 12; k++) sum += (double)(spec_noise_word(2385, 12 * i + k) >> 11) * 0x1p-53;
    return (float)sum;
}

/* One session: keys and values of a text in slots 0.., and a tree's behind it. */
typedef struct {
    spec_shape shape;
    spec_queue queue;
    spec_kv kv;
    float *qkv, *o;
    size_t width; /* of a row of qkv */
} session;

enum { SLOTS = 1200 };

static session open_session(spec_shape shape)
{
    session s = {.shape = shape, .width = (size_t)((shape.n_heads + 2 * shape.n_kv_heads) * shape.head_dim)};
    void *memory;
    spec_error error;
    assert_int_equal(cpu->queue_init(&s.queue, &shape, &error), GSL_SUCCESS);
    assert_int_equal(cpu->kv_init(&s.kv, &shape, SLOTS, &error), GSL_SUCCESS);
    assert_int_equal(cpu->alloc(&memory, SPEC_COLUMNS_MAX * s.width * sizeof(float), &error), GSL_SUCCESS);
    s.qkv = memory;
    assert_int_equal(cpu->alloc(&memory, SPEC_COLUMNS_MAX * s.width * sizeof(float), &error), GSL_SUCCESS);
    s.o = memory;
    return s;
}

static void close_session(session *s)
{
    cpu->free(s->qkv);
    cpu->free(s->o);
    cpu->kv_free(&s->kv);
    cpu->queue_free(&s->queue);
}

/* Queries, keys and values of the token that stands at a position of text `text`; different texts share nothing. */
static void fill(float *qkv, size_t width, int text, int position)
{
    for (size_t i = 0; i < width; i++)
        qkv[i] = bell(((uint64_t)text << 40) + ((uint64_t)position << 20) + i) * (i % 7 == 0 ? 3.0f : 1.0f);
}

static void add_column(spec_batch *batch, int *path, int slot, int past, const int *way, int n_way)
{
    const int u = batch->n++, begin = batch->path_begin[u];
    memcpy(path + begin, way, (size_t)n_way * sizeof *way);
    batch->path = path;
    batch->past[u] = past;
    batch->slot[u] = slot;
    batch->position[u] = past + n_way - 1;
    batch->path_begin[u + 1] = begin + n_way;
}

/* Tokens from..to-1 of text 0 into their slots, a pass at a time. */
static void read_text(session *s, int from, int to)
{
    for (int done = from; done < to;) {
        spec_batch batch = {.n = 0};
        int path[SPEC_COLUMNS_MAX];
        for (; done < to && batch.n < SPEC_COLUMNS_MAX; done++) {
            fill(s->qkv + (size_t)batch.n * s->width, s->width, 0, done);
            add_column(&batch, path, done, done, &done, 1);
        }
        spec_error error;
        cpu->begin(&s->queue, &batch);
        for (int layer = 0; layer < s->shape.n_layers; layer++) {
            cpu->store(&s->queue, &s->kv, layer, s->qkv);
            cpu->attend(&s->queue, s->o, s->qkv, &s->kv, layer);
        }
        assert_int_equal(cpu->end(&s->queue, &error), GSL_SUCCESS);
    }
}

static const spec_shape shapes[] = {
    {.dim = 96, .n_layers = 2, .n_heads = 4, .n_kv_heads = 4, .head_dim = 24, .ffn_dim = 40, .vocab = 1000,
     .context = 1024, .norm_eps = 1e-5f, .rope_base = 1e4},
    {.dim = 448, .n_layers = 2, .n_heads = 7, .n_kv_heads = 1, .head_dim = 64, .ffn_dim = 40, .vocab = 1000,
     .context = 1024, .norm_eps = 1e-5f, .rope_base = 1e4},
};

/* Second route: double precision, straight from the definition. */
static void attention_agrees_with_double_precision(void **state)
{
    (void)state;
    static const int lengths[] = {1, 3, 255, 256, 257, 1000};
    for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
        session s = open_session(shapes[k]);
        const int hd = s.shape.head_dim, heads = s.shape.n_heads, group = heads / s.shape.n_kv_heads;
        float *row = malloc(s.width * sizeof *row);
        double *e = malloc(SLOTS * sizeof *e), mixed[64];
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
            const int n = lengths[i], last = n - 1;
            read_text(&s, 0, last);
            read_text(&s, last, n);
            for (int h = 0; h < heads; h++) {
                const size_t key_at = (size_t)((heads + h / group) * hd), value_at = key_at + (size_t)((heads / group) * hd);
                double sum = 0.0;
                memset(mixed, 0, sizeof mixed);
                for (int t = 0; t < n; t++) {
                    fill(row, s.width, 0, t);
                    double score = 0.0;
                    for (int d = 0; d < hd; d++)
                        score += (double)s.qkv[h * hd + d] * (double)row[key_at + (size_t)d] / sqrt(hd);
                    e[t] = exp(score);
                    sum += e[t];
                    for (int d = 0; d < hd; d++) mixed[d] += e[t] * (double)row[value_at + (size_t)d];
                }
                for (int d = 0; d < hd; d++) assert_true(fabs(mixed[d] / sum - (double)s.o[h * hd + d]) < 4e-6);
            }
        }
        free(row);
        free(e);
        close_session(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_agrees_with_double_precision),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
