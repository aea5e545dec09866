/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decoding with draft heads, through the real forward pass: the law of the text is the target's, by
 * enumeration of every decision, for every kind of head with random weights. */
#include "sim/output_law.h"

#include "models/model_open.h"
#include "models/row.h"
#include "models/transformer/engine/transformer.h"
#include "sim/chance/rng.h"
#include "tests/sim/greedy_text.h"
#include "tests/support/contexts.h"
#include "tests/support/drawn_head.h"
#include "tests/support/model_of.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

enum { V = 3, REACH = 3, PROMPT = 3 };
static const int prompt[PROMPT] = {2, 0, 2};

typedef struct {
    spec_model *target, *draft;
} pair;

static pair open_other_pair(const char *target, const drawn_head_config *config, const char *keys)
{
    pair p = {0};
    OWNED(spec_head) head;
    p.target = model_of(target, NULL);
    drawn_head(&head, config, spec_transformer_of(p.target)->checkpoint);
    p.draft = drawn_head_open(&head, keys, p.target);
    return p;
}

static pair open_pair(const char *target, spec_head_kind kind, int draft_vocab, const char *keys)
{
    return open_other_pair(target, &(drawn_head_config){kind, REACH, draft_vocab, 0, 5}, keys);
}

static void pair_free(pair *p)
{
    spec_model_close(p->draft);
    spec_model_close(p->target);
}

#define SMALL "random?dim=8&layers=2&heads=2&ffn=12&vocab=3&context=40&type=f32"

/* ---- losslessness ---------------------------------------------------------------------------- */

static void check_law(const pair *p, const char *name)
{
    static const struct {
        const char *drafting, *rule;
        int K, tokens;
        bool ahead; /* if so, the draft has its own session of the target */
    } ways[] = {
        {"chain", "token", 2, 3, false},
        {"chain", "block", 3, 2, false},
        {"chain", "token", 1, 3, true},
        {"tree?widths=2.1&siblings=without", "rrsw", 2, 2, false},
        {"dynamic?top=2&nodes=4&depth=3", "naive-tree", 3, 3, false},
    };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        spec_decoder_config config = SPEC_DECODER_DEFAULT;
        OWNED(spec_output_law) law;
        config.target = p->target;
        config.opt_draft = p->draft;
        config.drafting = ways[i].drafting;
        config.rule = ways[i].rule;
        config.K = ways[i].K;
        config.ahead = ways[i].ahead;
        assert_works(
            spec_output_law_init(&law, &config, prompt, PROMPT, ways[i].tokens, 0, &error));
        if (!(law.tv < 1e-12 && fabs(law.total - 1.0) < 1e-12))
            fail_msg("%s, %s, %s: total variation %g", name, ways[i].drafting, ways[i].rule,
                     law.tv);
    }
}

TEST(every_head_leaves_the_targets_law, SLOW)
{
    for (int kind = 0; kind < SPEC_HEAD_KINDS; kind++) {
        const bool borrows = kind == SPEC_HEAD_EAGLE || kind == SPEC_HEAD_MTP;
        for (int few = 0; few <= (borrows ? 0 : 2); few += 2) {
            OWNED(pair) p = open_pair(SMALL, (spec_head_kind)kind, few, "temperature=0.8");
            check_law(&p, spec_head_kind_names[kind]);
        }
    }
}

TEST(every_form_of_llama_cpp_leaves_the_targets_law, SLOW)
{
    static const struct {
        const char *name;
        drawn_head_config config;
    } forms[] = {
        {"a norm before fc", {SPEC_HEAD_EAGLE3, 0, 2, DRAWN_FC_NORM | DRAWN_NORMED, 6}},
        {"the target's output", {SPEC_HEAD_EAGLE3, 0, 0, DRAWN_NO_OUTPUT, 7}},
        {"another width", {SPEC_HEAD_EAGLE3, 0, 2, DRAWN_EMBEDDING | DRAWN_OTHER_DIM, 8}},
        {"a draft block", {SPEC_HEAD_MTP, 1, 0, DRAWN_NEXTN | DRAWN_OWN_OUTPUT, 9}},
        {"draft blocks", {SPEC_HEAD_MTP, REACH, 0, DRAWN_NEXTN | DRAWN_EMBEDDING, 10}},
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        OWNED(pair) p = open_other_pair(SMALL, &forms[i].config, "temperature=0.8");
        check_law(&p, forms[i].name);
    }
}

/* The negative control: a chosen token that is treated as a sampled one. */
static int chosen_as_sampled(spec_draft *ret_draft, spec_drafter *drafter, const int *context,
                             size_t n, const spec_policy *policy, spec_chance *chance,
                             spec_error *error)
{
    const int status =
        spec_draft_greedy.draft(ret_draft, drafter, context, n, policy, chance, error);
    for (int i = 0; i < ret_draft->n_nodes; i++) ret_draft->sampled[i] = true;
    return status;
}

/* Returns the total variation of the first token's law from the target's row. */
static double first_token_off(const pair *p, bool lies)
{
    spec_decoder_config config = SPEC_DECODER_DEFAULT;
    spec_drafter_kind liar = spec_draft_greedy;
    OWNED(spec_decoder) decoder;
    OWNED(spec_enumeration) walk;
    OWNED(spec_session) session;
    spec_error error = {""};
    double law[V] = {0.0}, scratch[V], off = 0.0;
    config.target = p->target;
    config.opt_draft = p->draft;
    config.drafting = "greedy";
    config.K = 2;
    liar.draft = chosen_as_sampled;
    assert_works(spec_decoder_init(&decoder, &config, &error));
    assert_true(decoder.shared);
    if (lies) decoder.drafter.kind = &liar;
    assert_int_equal(spec_enumeration_init(&walk, 0), GSL_SUCCESS);
    do {
        assert_works(spec_decoder_reset(&decoder, prompt, PROMPT, &error));
        assert_works(spec_decoder_round(&decoder, &walk.chance, NULL, &error));
        law[decoder.round.token[0]] += spec_enumeration_probability(&walk);
    } while (spec_enumeration_next(&walk));
    assert_works(spec_session_init(&session, p->target, &error));
    const double *row = spec_session_row(&session, prompt, PROMPT, scratch, &error);
    assert_non_null(row);
    for (int i = 0; i < V; i++) off += 0.5 * fabs(law[i] - row[i]);
    return off;
}

TEST(an_argmax_that_passes_for_a_sample_is_found_out)
{
    for (int kind = 0; kind < SPEC_HEAD_KINDS; kind++) {
        OWNED(pair) p = open_pair(SMALL, (spec_head_kind)kind, 0, "");
        assert_true(first_token_off(&p, false) < 1e-12);
        assert_true(first_token_off(&p, true) > 1e-2);
    }
}

/* Greedy block verification passes the draft's rows on to later rounds, where a head has other
 * rows. If it were allowed, the total variation would be 0.01 to 0.05. */
TEST(greedy_block_verification_is_refused)
{
    OWNED(pair) p = open_pair(SMALL, SPEC_HEAD_EAGLE, 0, "");
    spec_decoder_config config = SPEC_DECODER_DEFAULT;
    spec_decoder decoder;
    config.target = p.target;
    config.opt_draft = p.draft;
    config.rule = "block-greedy";
    assert_fails_with(spec_decoder_init(&decoder, &config, &error), GSL_EINVAL,
                      "those of draft heads and block drafts do: use rule block");
}

/* ---- texts ----------------------------------------------------------------------------------- */

TEST(greedy_text_is_plain_greedy_text)
{
    for (int kind = 0; kind < SPEC_HEAD_KINDS; kind++) {
        OWNED(pair) p =
            open_pair("random?dim=16&layers=3&heads=2&ffn=24&vocab=50&context=90&type=f32",
                      (spec_head_kind)kind, 0, "temperature=0");
        assert_greedy_text_is_plain(p.target, p.draft, prompt, PROMPT);
    }
}

/* ---- reach and calls ------------------------------------------------------------------------- */

TEST(drafts_end_at_the_reach_and_calls_count_passes)
{
    for (int kind = 0; kind < SPEC_HEAD_KINDS; kind++) {
        OWNED(pair) p = open_pair(SMALL, (spec_head_kind)kind, 0, "");
        spec_decoder_config config = SPEC_DECODER_DEFAULT;
        OWNED(spec_decoder) decoder;
        spec_tally tally = {0};
        OWNED_RNG *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
        spec_rng_stream(rng, 42, 1);
        spec_chance chance = spec_chance_sampled(rng);
        config.target = p.target;
        config.opt_draft = p.draft;
        config.K = 5;
        const int drafted = p.draft->reach > 0 ? REACH : 5;
        const bool one_pass = kind == SPEC_HEAD_MEDUSA || kind == SPEC_HEAD_PARALLEL;
        assert_works(spec_decoder_init(&decoder, &config, &error));
        assert_works(spec_decoder_reset(&decoder, prompt, PROMPT, &error));
        assert_int_equal(spec_decoder_room(&decoder), p.draft->reach > 0 ? REACH : 39 - PROMPT);
        assert_works(spec_decoder_round(&decoder, &chance, &tally, &error));
        assert_int_equal(decoder.draft.n_nodes, drafted);
        assert_int_equal(decoder.drafter.n_calls, one_pass ? 1 : drafted);
        assert_true(fabs(tally.time - (1.0 + 0.1 * (one_pass ? 1 : drafted))) < 1e-12);
    }
}

/* A tree of marginals takes one call of a head whose rows depend only on the depth. */
TEST(marginals_take_one_call_or_are_refused)
{
    for (int kind = 0; kind < SPEC_HEAD_KINDS; kind++) {
        OWNED(pair) p = open_pair(SMALL, (spec_head_kind)kind, 0, "");
        spec_decoder_config config = SPEC_DECODER_DEFAULT;
        OWNED(spec_output_law) law;
        spec_error error = {""};
        config.target = p.target;
        config.opt_draft = p.draft;
        config.drafting = "marginals?nodes=4";
        config.rule = "naive-tree";
        config.K = 3;
        const int status = spec_output_law_init(&law, &config, prompt, PROMPT, 2, 0, &error);
        if (kind == SPEC_HEAD_MEDUSA || kind == SPEC_HEAD_PARALLEL) {
            assert_int_equal(status, GSL_SUCCESS);
            assert_true(law.tv < 1e-12 && law.accepted > 0.5);
        } else {
            assert_int_equal(status, GSL_EINVAL);
            assert_non_null(strstr(error.text, "depend on the path: use dynamic"));
        }
    }
}
