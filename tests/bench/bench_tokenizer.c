/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/tokenizer/tokenizer.h"
#include "tests/bench/bench.h"

#include <gsl/gsl_rng.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Words of one to four syllables, each a consonant and a vowel; a few are frequent and most are
 * rare, and every fifteenth ends a line. The vocabulary has letters, syllables, pairs of syllables,
 * and these after a blank: 22,000 pieces, all but the letters from merges. A token has 3.6 bytes;
 * in English 4. */
enum { BYTES = 1 << 20, PIECES = 23000, WORDS = 4096, STORE = PIECES * 16 };

static const char consonants[] = "bcdfghjklmnpqrstvwxyz", vowels[] = "aeiou";

enum { SYLLABLES = 105 };

typedef struct {
    spec_tokenizer *tokenizer;
    char *text; /* (BYTES) */
    int *token; /* (BYTES) */
    volatile size_t sink;
} reader;

typedef struct {
    spec_piece piece[PIECES], merge[PIECES];
    float score[PIECES];
    int n;
    size_t n_merges, used;
    char store[STORE], merges[STORE];
    size_t merges_used;
} vocabulary;

static void add(vocabulary *v, const char *left, const char *right)
{
    char *to = v->store + v->used;
    const size_t n = (size_t)sprintf(to, "%s%s", left, right);
    v->used += n + 1;
    v->piece[v->n] = (spec_piece){to, n};
    v->score[v->n] = (float)-v->n;
    v->n++;
    if (left[0] == '\0') return;
    to = v->merges + v->merges_used;
    const size_t merged = (size_t)sprintf(to, "%s %s", left, right);
    v->merges_used += merged + 1;
    v->merge[v->n_merges++] = (spec_piece){to, merged};
}

static void spell(char *to, int syllable)
{
    to[0] = consonants[syllable / 5];
    to[1] = vowels[syllable % 5];
    to[2] = '\0';
}

static void fill(vocabulary *v, const char *blank, const char *end)
{
    char one[3], two[3], after[8];
    add(v, "", blank);
    add(v, "", end);
    for (int i = 0; i < 26; i++) add(v, "", (const char[]){(char)('a' + i), '\0'});
    for (int i = 0; i < SYLLABLES; i++) {
        spell(one, i);
        add(v, (const char[]){one[0], '\0'}, one + 1);
    }
    for (int i = 0; i < SYLLABLES; i++) {
        spell(one, i);
        add(v, blank, one);
    }
    for (int i = 0; i < SYLLABLES * SYLLABLES; i++) {
        spell(one, i / SYLLABLES);
        spell(two, i % SYLLABLES);
        add(v, one, two);
        snprintf(after, sizeof after, "%s%s", blank, one);
        add(v, after, two);
    }
}

static void write_text(char *text, gsl_rng *rng)
{
    static char word[WORDS][16];
    for (int w = 0; w < WORDS; w++) {
        word[w][0] = '\0';
        for (unsigned long n = 1 + gsl_rng_uniform_int(rng, 4); n > 0; n--) {
            spell(word[w] + strlen(word[w]), (int)gsl_rng_uniform_int(rng, SYLLABLES));
        }
    }
    size_t at = 0;
    for (unsigned count = 1; at + 16 < BYTES; count++) {
        const double u = gsl_rng_uniform(rng);
        at += (size_t)sprintf(text + at, "%s%c", word[(int)(WORDS * u * u * u)],
                              count % 15 == 0 ? '\n' : ' ');
    }
    memset(text + at, ' ', BYTES - at);
}

static void close_reader(void *state)
{
    reader *r = state;
    if (r == NULL) return;
    spec_tokenizer_free(r->tokenizer);
    free(r->text);
    free(r->token);
    free(r);
}

static const char *open_reader(void **ret_state, const void *setup)
{
    const spec_tokenizer_kind kind = *(const spec_tokenizer_kind *)setup;
    reader *r = calloc(1, sizeof *r);
    vocabulary *v = calloc(1, sizeof *v);
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    if (r != NULL && v != NULL && rng != NULL) {
        const bool spm = kind == SPEC_TOKENIZER_SPM;
        spec_error error;
        r->text = malloc(BYTES);
        r->token = malloc(BYTES * sizeof *r->token);
        fill(v, spm ? "\xE2\x96\x81" : "\xC4\xA0", spm ? "\n" : "\xC4\x8A");
        const spec_tokenizer_data data = {.kind = kind,
                                          .vocab = v->n,
                                          .piece = v->piece,
                                          .opt_score = v->score,
                                          .merge = v->merge,
                                          .n_merges = v->n_merges,
                                          .pre = "llama-bpe",
                                          .unknown = -1};
        if (r->text != NULL && r->token != NULL &&
            spec_tokenizer_init(&r->tokenizer, &data, &error) == GSL_SUCCESS) {
            write_text(r->text, rng);
        }
    }
    gsl_rng_free(rng);
    free(v);
    if (r != NULL && r->tokenizer != NULL) {
        *ret_state = r;
        return NULL;
    }
    close_reader(r);
    return "no memory";
}

static uint64_t encode(void *state, uint64_t n)
{
    reader *r = state;
    uint64_t done = 0;
    for (; done < n; done += BYTES)
        r->sink = spec_tokenizer_encode(r->tokenizer, r->text, BYTES, r->token, BYTES);
    return done;
}

const spec_bench_row spec_bench_tokenizer[] = {
    {.work = "text to tokens, SPM",
     .unit = "B",
     .init = open_reader,
     .run = encode,
     .free = close_reader,
     .setup = &(const spec_tokenizer_kind){SPEC_TOKENIZER_SPM},
     .asked = 10e6},
    {.work = "text to tokens, BPE",
     .unit = "B",
     .init = open_reader,
     .run = encode,
     .free = close_reader,
     .setup = &(const spec_tokenizer_kind){SPEC_TOKENIZER_BPE},
     .asked = 10e6},
    {.work = NULL},
};
