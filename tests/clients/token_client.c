/* SPDX-License-Identifier: MIT */
/* The token rule as a process that speaks binary frames: a client in C, for tests and benchmarks.
 * With the argument "wrong" its corrections come from the target instead of from the residual.
 * docs/conformance.md#processes has the protocol. Frames are little-endian, as is the memory that
 * this program assumes. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BEGIN = 1, STEPS, GENERATE };
enum { V = 1, DV = 2 };

typedef struct {
    char magic[4];
    uint32_t type, length, serial;
} header;

typedef struct {
    int32_t scope, drawn, vocab, n_states, n_nodes, has_draft, has_next, top_k;
    float temperature, top_p, min_p, zero;
} begin_words;

static begin_words w;
static const float *target, *draft;
static const int32_t *next_state;
static int wrong;

/* ---- chance ---------------------------------------------------------------------------------- */

static uint64_t chance;

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* The state at the start of a round: every bit of its seed and of its offset matters. */
static uint64_t begun(uint64_t seed, uint64_t offset)
{
    return mix(seed ^ mix(offset));
}

static double uniform(void)
{
    return (double)(mix(chance += 0x9e3779b97f4a7c15u) >> 11) / 9007199254740992.0;
}

/* Draws from the target's row minus `taken` times the draft's (NULL: a one-hot draft at that
 * token). */
static int32_t pick(const float *p, const float *q, int taken, int32_t token)
{
    double sum = 0.0, u = 0.0;
    int32_t last = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int32_t x = 0; x < w.vocab; x++) {
            const double less = !taken ? 0.0 : q != NULL ? (double)q[x] : x == token;
            const double weight = (double)p[x] > less ? (double)p[x] - less : 0.0;
            if (pass == 0) sum += weight;
            else if (weight > 0.0) {
                last = x;
                if ((u -= weight) < 0.0) return x;
            }
            if (pass == 0 && x == w.vocab - 1) u = uniform() * sum;
        }
    return last;
}

/* ---- a round --------------------------------------------------------------------------------- */

static const float *row(const float *rows, int32_t state)
{
    return rows + (size_t)state * (size_t)w.vocab;
}

/* Verifies n tokens; writes up to n + 1, and returns how many. */
static int32_t verify(int32_t *out, const int32_t *state, const int32_t *token, int32_t n)
{
    for (int32_t i = 0; i < n && token[i] >= 0; i++) {
        const float *p = row(target, state[i]), *q = w.has_draft ? row(draft, state[i]) : NULL;
        if (uniform() * (q != NULL ? (double)q[token[i]] : 1.0) >= (double)p[token[i]]) {
            out[i] = pick(p, q, !wrong, token[i]);
            return i + 1;
        }
        out[i] = token[i];
    }
    while (n > 0 && token[n - 1] < 0) n--;
    out[n] = pick(row(target, state[n]), NULL, 0, 0);
    return n + 1;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static void send_frame(uint32_t type, uint32_t serial, const int32_t *body, size_t n)
{
    const header h = {{'S', 'P', 'E', 'C'}, type, (uint32_t)(n * sizeof *body), serial};
    fwrite(&h, sizeof h, 1, stdout);
    fwrite(body, sizeof *body, n, stdout);
    fflush(stdout);
}

static void *room(size_t n)
{
    void *memory = malloc(n > 0 ? n : 1);
    if (memory == NULL) exit(1);
    return memory;
}

static void keep_tables(const char *body)
{
    static char *kept;
    memcpy(&w, body, sizeof w);
    const size_t cells = (size_t)w.n_states * (size_t)w.vocab,
                 n = (size_t)(1 + w.has_draft + w.has_next) * cells * 4;
    free(kept);
    kept = room(n);
    memcpy(kept, body + sizeof w + 4 * (size_t)w.n_nodes, n);
    target = (const float *)(const void *)kept;
    draft = target + cells;
    next_state = (const int32_t *)(const void *)kept + (1 + (size_t)w.has_draft) * cells;
}

static void answer_steps(const char *body, uint32_t serial)
{
    int32_t n;
    memcpy(&n, body, sizeof n);
    const size_t N = (size_t)n, nodes = (size_t)w.n_nodes, places = nodes + 1;
    const uint64_t *seed = (const uint64_t *)(const void *)(body + 8) + N, *offset = seed + N;
    const int32_t *n_nodes = (const int32_t *)(const void *)(offset + N), *state = n_nodes + N,
                  *token = state + N * places;
    int32_t *out = room(4 * N * (2 + nodes + places)), *at = out + 2 * N,
            *drafted = room(4 * (N * nodes + 1));
    if (w.scope == DV) {
        int32_t *to = drafted;
        for (int32_t i = 0; i < n; i++) {
            chance = begun(seed[i], offset[i]) + 1;
            for (int32_t k = 0; k < n_nodes[i]; k++)
                *to++ = *at++ = pick(row(draft, state[(size_t)i * places + (size_t)k]), NULL, 0, 0);
        }
    }
    const int32_t *mine = drafted;
    for (int32_t i = 0; i < n; i++) {
        const int32_t *theirs = w.scope == DV ? mine : token + (size_t)i * nodes;
        chance = begun(seed[i], offset[i]);
        chance *= w.scope == DV ? 3 : 1;
        out[i] = verify(at, state + (size_t)i * places, theirs, n_nodes[i]);
        out[n + i] = out[i] - 1;
        at += out[i];
        mine += n_nodes[i];
    }
    send_frame(STEPS, serial, out, (size_t)(at - out));
    free(out);
    free(drafted);
}

static void answer_generate(const char *body, uint32_t serial)
{
    int32_t word[4], n = 0;
    memcpy(word, body, sizeof word);
    memcpy(&chance, body + sizeof word, sizeof chance);
    const int32_t K = word[1], n_tokens = word[2];
    const size_t k = (size_t)K;
    int32_t state = word[0], *text = room(4 * ((size_t)n_tokens + k + 1)),
            *path = room(4 * (k + 1)), *token = room(4 * (k + 1));
    while (n < n_tokens) {
        path[0] = state;
        for (int32_t i = 0; i < K; i++) {
            token[i] = pick(row(draft, path[i]), NULL, 0, 0);
            path[i + 1] = next_state[(size_t)path[i] * (size_t)w.vocab + (size_t)token[i]];
        }
        for (int32_t more = verify(text + n, path, token, K); more > 0; more--)
            state = next_state[(size_t)state * (size_t)w.vocab + (size_t)text[n++]];
    }
    send_frame(GENERATE, serial, text, (size_t)n_tokens);
    free(text);
    free(path);
    free(token);
}

int main(int argc, char **argv)
{
    header h;
    wrong = argc > 1 && strcmp(argv[1], "wrong") == 0;
    puts("{\"speclab\":1,\"name\":\"token rule in "
         "C\",\"scopes\":[\"V\",\"DV\",\"S\"],\"padding\":true,\"seeded\":true,"
         "\"frames\":\"binary\"}");
    fflush(stdout);
    while (fread(&h, sizeof h, 1, stdin) == 1) {
        char *body = room(h.length);
        if (h.length > 0 && fread(body, h.length, 1, stdin) != 1) return 1;
        if (h.type == BEGIN) keep_tables(body);
        else if (h.type == STEPS) answer_steps(body, h.serial);
        else if (h.type == GENERATE) answer_generate(body, h.serial);
        free(body);
    }
    return 0;
}
