/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model.h"

#include "base/noise.h"
#include "speclab/round.h"
#include "tests/models/open_model.h"
#include "tests/support/support.h"

#include <sys/stat.h>
#include <unistd.h>

TEST(every_kind_has_a_whole_table_line)
{
    for (int i = 0; spec_model_kinds[i] != NULL; i++) {
        const spec_model_kind *kind = spec_model_kinds[i];
        const size_t length = strlen(kind->name);
        assert_true(length > 0 && strlen(kind->summary) > 0);
        assert_non_null(kind->reference);
        assert_memory_equal(kind->usage, kind->name, length);
        assert_non_null(strchr(":?[", kind->usage[length]));
        assert_non_null(kind->open);
        assert_non_null(kind->close);
        assert_non_null(kind->row);
        for (int j = 0; j < i; j++) assert_string_not_equal(kind->name, spec_model_kinds[j]->name);
    }
}

/* The usage line of a kind without a path is a spec with every key at its default, and gives the
 * same model as its bare name. */
TEST(usages_show_the_defaults)
{
    OWNED(opened) target =
        open_model("random?dim=32&layers=2&heads=2&ffn=32&vocab=12&context=16&type=f32", NULL);
    for (int i = 0; spec_model_kinds[i] != NULL; i++) {
        const spec_model_kind *kind = spec_model_kinds[i];
        if (kind->usage[strlen(kind->name)] != '?' || kind->applies_temperature)
            continue; /* transformers are large by default */
        opened bare = open_model(kind->name, target.model),
               full = open_model(kind->usage, target.model);
        assert_int_equal(bare.model->vocab, full.model->vocab);
        assert_int_equal(bare.model->order, full.model->order);
        for (int c = 0; c < 9; c++) {
            const int context[] = {c % 3, c / 3};
            assert_memory_equal(row_after(&bare, context, 2), row_after(&full, context, 2),
                                (size_t)bare.model->vocab * sizeof(double));
        }
        opened_free(&bare);
        opened_free(&full);
    }
}

TEST(unknown_kinds_and_keys_name_the_nearest)
{
    assert_refused("zifp?V=3", NULL, "no kind of model is named 'zifp'; did you mean 'zipf'?");
    assert_refused("banana", NULL,
                   "no kind of model is named 'banana'; 'speclab list' shows them all");
    assert_refused("Markov", NULL, "did you mean 'markov'");
    assert_refused("zipf?temprature=2", NULL, "did you mean 'temperature'");
    assert_refused("uniform?s=1", NULL, "uniform has no key 's'; its keys are V,temperature,");
    assert_refused("", NULL, "empty");
    assert_refused("zipf?V=3&V=4", NULL, "twice");
}

TEST(a_file_alone_is_of_the_kind_of_its_ending)
{
    assert_refused("no/such.gguf?contxt=3", NULL, "did you mean 'context'?");
    assert_refused("no/such.gguf", NULL, "no/such.gguf: ");
    assert_refused("no/such.bin?end=2", NULL, "no/such.bin: ");
    assert_refused("no/such.rows", NULL, "no/such.rows: ");
    assert_refused("/dev/null?order=3", NULL,
                   "/dev/null is a file; put its kind before it, as in ngram:/dev/null");
    assert_refused("/tmp", NULL,
                   "/tmp is a folder; convert a Hugging Face model first: speclab import /tmp -o "
                   "model.gguf");
    assert_int_equal(mkdir("/tmp/speclab-$(x)", 0700), 0);
    assert_refused("/tmp/speclab-$(x)", NULL, ": speclab import '/tmp/speclab-$(x)' -o model.gguf");
    assert_int_equal(rmdir("/tmp/speclab-$(x)"), 0);
    char part[] = "/tmp/speclab-XXXXXX.safetensors";
    assert_int_equal(close(mkstemps(part, 12)), 0);
    assert_refused(part, NULL, ": speclab import FOLDER -o model.gguf");
    assert_int_equal(unlink(part), 0);
    assert_refused(".gguf", NULL, "no kind of model is named '.gguf'");
    assert_refused("a.bin:b.bin", NULL, "no kind of model is named 'a.bin'");
    assert_refused("a.gguf2", NULL, "no kind of model is named 'a.gguf2'");
}

TEST(a_model_remembers_its_spec)
{
    opened o = open_model("markov?V=3&seed=5", NULL);
    assert_string_equal(o.model->spec, "markov?V=3&seed=5");
    assert_string_equal(o.model->kind->name, "markov");
    opened_free(&o);
    spec_model_close(NULL);
    OWNED(spec_session) none = {0};
}

/* The rows of a chain and of trees equal the rows of the corresponding contexts, bit for bit,
 * however many are scored together. */
TEST(rows_do_not_depend_on_what_is_scored_with_them)
{
    static const char *const specs[] = {
        "probs:0.1,0.2,0.3,0.4",
        "uniform?V=4",
        "dirichlet?V=4&order=0",
        "dirichlet?V=4&order=1",
        "dirichlet?V=4&order=3",
        "dirichlet?V=4&order=16",
        "markov?V=4&order=0",
        "markov?V=4",
        "markov?V=4&order=2",
        "dirichlet?V=4&order=3&temperature=0.651",
        "dirichlet?V=4&order=12&temperature=0.651",
        NULL,
    };
    enum { V = 4, NODES = 60 };
    for (int s = 0; specs[s] != NULL; s++) {
        OWNED(opened) o = open_model(specs[s], NULL);
        for (int shape = 0; shape < 6; shape++) {
            int token[NODES], parent[NODES], context[20];
            double scratch[(NODES + 1) * V];
            const double *row[NODES + 1];
            const size_t n = (size_t)(shape < 3 ? shape : 20);
            for (size_t i = 0; i < n; i++) context[i] = (int)(spec_noise_mix(i + 27) % V);
            for (int i = 0; i < NODES; i++) {
                token[i] = (int)(spec_noise_mix((uint64_t)(i * 31 + shape)) % V);
                parent[i] =
                    shape % 2 == 0
                        ? i - 1
                        : (int)(spec_noise_mix((uint64_t)(i * 7 + shape)) % (uint64_t)(i + 1)) - 1;
            }
            const int *shape_parent = shape % 3 == 0 ? (shape % 2 == 0 ? NULL : parent) : parent;
            assert_int_equal(spec_session_score(&o.session,
                                                &(spec_score_request){.context = context,
                                                                      .n_context = n,
                                                                      .token = token,
                                                                      .opt_parent = shape_parent,
                                                                      .n_nodes = NODES,
                                                                      .ret_row = row,
                                                                      .scratch = scratch},
                                                NULL),
                             0);
            for (int i = -1; i < NODES; i++) {
                int path[20 + NODES], depth = 0;
                for (int node = i; node >= 0; node = parent[node]) depth++;
                memcpy(path, context, n * sizeof path[0]);
                for (int node = i, d = depth; node >= 0; node = parent[node])
                    path[n + (size_t)--d] = token[node];
                assert_memory_equal(row[i + 1], row_after(&o, path, n + (size_t)depth),
                                    V * sizeof(double));
            }
        }
    }
}

TEST(the_tail_is_the_last_tokens_of_the_path)
{
    const int context[] = {1, 2, 3}, token[] = {10, 11, 12}, parent[] = {-1, 0, 0};
    int tail[8];
    assert_int_equal(spec_session_tail(tail, 8, context, 3, token, parent, 2), 5);
    assert_memory_equal(tail, ((int[]){1, 2, 3, 10, 12}), 5 * sizeof(int));
    assert_int_equal(spec_session_tail(tail, 8, context, 3, token, NULL, 2), 6);
    assert_memory_equal(tail, ((int[]){1, 2, 3, 10, 11, 12}), 6 * sizeof(int));
    assert_int_equal(spec_session_tail(tail, 3, context, 3, token, parent, 1), 3);
    assert_memory_equal(tail, ((int[]){3, 10, 11}), 3 * sizeof(int));
    assert_int_equal(spec_session_tail(tail, 1, context, 3, token, parent, 2), 1);
    assert_int_equal(tail[0], 12);
    assert_int_equal(spec_session_tail(tail, 4, context, 0, token, parent, -1), 0);
    assert_int_equal(spec_session_tail(tail, 0, context, 3, token, parent, 2), 0);
}

/* The longest draft and the largest order fit into the session's workspace. */
TEST(the_largest_draft_is_scored)
{
    OWNED(opened) o = open_model("dirichlet?V=2&order=16", NULL);
    int *token = calloc(SPEC_NODES_MAX, sizeof *token), context[30] = {1, 0, 1};
    const double **row = calloc(SPEC_NODES_MAX + 1, sizeof *row);
    FREED double *scratch = calloc((SPEC_NODES_MAX + 1) * 2, sizeof *scratch);
    assert_int_equal(spec_session_score(&o.session,
                                        &(spec_score_request){.context = context,
                                                              .n_context = 30,
                                                              .token = token,
                                                              .n_nodes = SPEC_NODES_MAX,
                                                              .ret_row = row,
                                                              .scratch = scratch},
                                        NULL),
                     0);
    assert_memory_equal(row[SPEC_NODES_MAX], row_after(&o, token, SPEC_NODES_MAX),
                        2 * sizeof(double));
    assert_int_equal(spec_session_score(&o.session,
                                        &(spec_score_request){.ret_row = row, .scratch = scratch},
                                        NULL),
                     0);
    assert_memory_equal(row[0], row_after(&o, NULL, 0), 2 * sizeof(double));
    free(token);
    free(row);
}
