/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks contexts through their texts, and rows through a search for equal texts, by a second
 * route. */
#include "models/translated_model.h"
#include "tests/models/open_model.h"
#include "tests/support/folder.h"
#include "tests/support/support.h"
#include "tests/support/table_model.h"

static const char *const pairs[][2] = {{"words", "bytes"},
                                       {"bytes", "words"},
                                       {"chars", "words"},
                                       {"words", "chars"},
                                       {"bytes", "chars"}};
enum { PAIRS = sizeof pairs / sizeof *pairs, TEXT = 12, V_MAX = 300 };

static int enter(void **state)
{
    if (spec_folder_enter(state) != 0) return -1;
    FILE *out = fopen("text.txt", "w");
    if (out == NULL) return -1;
    fputs("a b, a \xc3\xa9! b\xc3\xa9 a, b a: a! \xc3\xa9 b a, a b a.", out);
    return fclose(out);
}

static void open_pair(opened *target, opened *own, opened *draft, int pair)
{
    char spec[80];
    snprintf(spec, sizeof spec, "ngram:text.txt?order=3&tokens=%s", pairs[pair][0]);
    *target = open_model(spec, NULL);
    snprintf(spec, sizeof spec, "ngram:text.txt?order=2&tokens=%s", pairs[pair][1]);
    *own = open_model(spec, NULL);
    strcat(spec, "&vocabulary=target");
    *draft = open_model(spec, target->model);
}

static size_t text_of(char *ret, const spec_model *model, int token)
{
    return model->kind->token_text(model, token, ret, 32);
}

static int lowest_with(const spec_model *model, const char *text, size_t n)
{
    char other[32];
    for (int i = 0; i < model->vocab; i++)
        if (text_of(other, model, i) == n && memcmp(other, text, n) == 0) return i;
    return -1;
}

/* Returns the draft's tokens of a text: from its tokenizer here or, for a word that it lacks, bytes
 * that it has. */
static size_t spell(int *ret, const spec_model *own, const char *text, size_t n)
{
    char spelt[64];
    size_t length = 0, tokens = own->kind->tokenize(own, text, n, ret, 32);
    for (size_t i = 0; i < tokens; i++) length += text_of(spelt + length, own, ret[i]);
    if (length == n && memcmp(spelt, text, n) == 0) return tokens;
    tokens = 0;
    for (size_t at = 0; at < n;) {
        size_t size = n - at;
        int token = -1;
        while (size > 0 && (token = lowest_with(own, text + at, size)) < 0) size--;
        if (token >= 0) ret[tokens++] = token;
        at += size > 0 ? size : 1;
    }
    return tokens;
}

static void expected_row(double *ret, opened *own, const spec_model *target, const int *context,
                         size_t n)
{
    int tokens[TEXT * 32];
    size_t length = 0;
    char text[32];
    double mass = 0.0;
    int partner[V_MAX];
    for (size_t i = 0; i < n; i++) {
        const size_t bytes = text_of(text, target, context[i]);
        const int same = lowest_with(own->model, text, bytes);
        const bool is_first = lowest_with(target, text, bytes) == context[i];
        if (same >= 0 && is_first)
            tokens[length++] = same;
        else
            length += spell(tokens + length, own->model, text, bytes);
    }
    const double *row = row_after(own, tokens, length);
    for (int i = 0; i < target->vocab; i++) {
        const size_t bytes = text_of(text, target, i);
        partner[i] =
            lowest_with(target, text, bytes) == i ? lowest_with(own->model, text, bytes) : -1;
        ret[i] = partner[i] >= 0 ? row[partner[i]] : 0.0;
        mass += ret[i];
    }
    for (int i = 0; i < target->vocab; i++) ret[i] = mass > 0.0 ? ret[i] / mass : partner[i] >= 0;
}

TEST(rows_are_the_drafts_at_tokens_of_one_text)
{
    uint64_t noise = spec_test_seed();
    for (int pair = 0; pair < PAIRS; pair++) {
        OWNED(opened) target, own, draft;
        open_pair(&target, &own, &draft, pair);
        const int V = target.model->vocab, partners = spec_translated_model_partners(draft.model);
        print_message("%s by %s: %d of %d tokens have a partner\n", pairs[pair][0], pairs[pair][1],
                      partners, V);
        assert_true(V <= V_MAX && draft.model->vocab == V && partners > 0);
        for (int c = 0; c < 300; c++) {
            double expected[V_MAX];
            int context[TEXT];
            const size_t n = (size_t)(c % TEXT);
            for (size_t i = 0; i < n; i++) context[i] = (int)(table_uniform(&noise) * V);
            expected_row(expected, &own, target.model, context, n);
            const double *row = row_after(&draft, context, n);
            for (int i = 0; i < V; i++)
                if (!(fabs(row[i] - expected[i]) < 1e-12))
                    fail_msg("%s by %s: token %d has %g, not %g", pairs[pair][0], pairs[pair][1], i,
                             row[i], expected[i]);
        }
    }
}

/* Nodes with partners are scored in one pass, others row by row. */
TEST(rows_of_a_tree_are_those_of_its_paths)
{
    uint64_t noise = spec_test_seed();
    for (int c = 0; c < 40 * PAIRS; c++) {
        OWNED(opened) target, own, draft, alone;
        open_pair(&target, &own, &draft, c % PAIRS);
        char spec[80];
        snprintf(spec, sizeof spec, "ngram:text.txt?order=2&tokens=%s&vocabulary=target",
                 pairs[c % PAIRS][1]);
        alone = open_model(spec, target.model);
        const int V = target.model->vocab, first = c % 3;
        int context[3], token[4], parent[4], path[8];
        static double store[5 * V_MAX];
        const double *row[5];
        for (int i = 0; i < 3; i++) context[i] = (int)(table_uniform(&noise) * V);
        for (int i = 0; i < 4; i++) {
            token[i] = (int)(table_uniform(&noise) * V);
            parent[i] = (int)(table_uniform(&noise) * (i + 1)) - 1;
        }
        const spec_score_request request = {.context = context,
                                            .n_context = 3,
                                            .token = token,
                                            .opt_parent = parent,
                                            .n_nodes = 4,
                                            .first = first,
                                            .ret_row = row,
                                            .scratch = store};
        assert_int_equal(spec_session_score(&draft.session, &request, NULL), GSL_SUCCESS);
        for (int i = first; i <= 4; i++) {
            size_t depth = 0, n = 3;
            int nodes[4];
            memcpy(path, context, sizeof context);
            for (int at = i - 1; at >= 0; at = parent[at]) nodes[depth++] = token[at];
            while (depth > 0) path[n++] = nodes[--depth];
            const double *same = row_after(&alone, path, n);
            assert_memory_equal(row[i], same, (size_t)V * sizeof *same);
        }
    }
}

/* After a text that does not fit into the draft's window, the row is uniform. */
TEST(a_transformer_translates_what_its_window_holds)
{
    char draft_file[512];
    spec_test_data(draft_file, sizeof draft_file, "babyllama/draft.bin");
    char spec[640];
    OWNED(opened) target = open_model("ngram:text.txt?order=2&tokens=words", NULL);
    snprintf(spec, sizeof spec, "%s?vocabulary=target", draft_file);
    OWNED(opened) draft = open_model(spec, target.model);
    const int window = draft.model->window, partners = spec_translated_model_partners(draft.model);
    FREED int *context = calloc((size_t)window + 1, sizeof *context);
    assert_true(window > 0 && partners > 0 && draft.model->order == -1);
    context[0] = 1; /* takes at least two tokens of the draft */
    const double *row = row_after(&draft, context, 3);
    double largest = 0.0;
    for (int i = 0; i < draft.model->vocab; i++) largest = fmax(largest, row[i]);
    assert_true(largest > 1.5 / partners);
    for (int i = 0; i < window; i++) context[i] = 1;
    row = row_after(&draft, context, (size_t)window);
    for (int i = 0; i < draft.model->vocab; i++)
        assert_true(row[i] == 0.0 || fabs(row[i] - 1.0 / partners) < 1e-12);
}

/* The draft's ends are found by their texts; the first one that is left over is an end of the
 * target, too. */
TEST(ends_of_a_text_are_translated)
{
    opened target = open_model("ngram:text.txt?tokens=words", NULL),
           own = open_model("ngram:text.txt?tokens=chars", NULL);
    spec_model *translated;
    int first, second, ends[2];
    assert_int_equal(own.model->kind->tokenize(own.model, "!", 1, &first, 1), 1);
    assert_int_equal(own.model->kind->tokenize(own.model, ",", 1, &second, 1), 1);
    assert_int_equal(target.model->kind->tokenize(target.model, "a", 1, &ends[0], 1), 1);
    assert_int_equal(target.model->kind->tokenize(target.model, ",", 1, &ends[1], 1), 1);
    assert_int_not_equal(second, ends[1]);
    target.model->ends = spec_text_ends_one(ends[0]);
    spec_text_ends_add(&target.model->ends, ends[1]);
    own.model->ends = (spec_text_ends){2, {second, first}};
    assert_works(spec_translated_model_open(&translated, own.model, target.model, &error));
    for (int i = 0; i < target.model->vocab; i++)
        assert_int_equal(spec_model_ends_text(translated, i), i == ends[0] || i == ends[1]);
    spec_session_free(&own.session);
    free(own.scratch);
    spec_model_close(translated); /* and the draft that it wraps */
    opened_free(&target);
}

TEST(drafts_without_texts_are_refused)
{
    static const struct {
        const char *draft, *says;
    } cases[] = {{"zipf?V=9&vocabulary=target", "have no texts"},
                 {"perturb?of=target&vocabulary=target", "has its tokens"}};
    OWNED(opened) target = open_model("ngram:text.txt?tokens=chars", NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spec_model *model;
        spec_error error = {""};
        assert_int_equal(
            spec_model_open(&model, cases[i].draft, target.model, spec_test_context(0), &error),
            GSL_EINVAL);
        if (strstr(error.text, cases[i].says) == NULL) fail_msg("%s", error.text);
    }
}

SUITE(.setup = enter, .teardown = spec_folder_leave);
