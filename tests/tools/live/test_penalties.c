/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two routes: penalties and filters on a list, and on the whole row. */
#include "tests/support/near.h"
#include "tools/live/drawn_law.h"
#include "tools/live/greedy_texts.h"
#include "tools/live/penalties.h"

#include <gsl/gsl_rng.h>
#include <math.h>

enum { V = 14, LISTED = 6, PROMPT = 5, TEXT = 7 };

/* Makes a text of few different tokens, which therefore repeat, with a list at each position. */
typedef struct {
    double row[TEXT][V];
    spec_live_place place[TEXT];
    int32_t token[PROMPT + TEXT];
    spec_served_text text;
} scored;

static void draw_scored(scored *s, gsl_rng *rng)
{
    s->text = (spec_served_text){
        .all = {s->token, PROMPT + TEXT}, .n_prompt = PROMPT, .n = TEXT, .place = s->place};
    for (int i = 0; i < PROMPT + TEXT; i++) s->token[i] = (int32_t)gsl_rng_uniform_int(rng, 4);
    for (int at = 0; at < TEXT; at++) {
        double sum = 0.0;
        for (int i = 0; i < V; i++)
            sum += s->row[at][i] = exp(-0.35 * i) * (0.8 + 0.4 * gsl_rng_uniform(rng));
        for (int i = 0; i < V; i++) s->row[at][i] /= sum;
        s->place[at] = (spec_live_place){.n = LISTED};
        for (int i = 0; i < LISTED; i++) { /* the next most probable one */
            int best = -1;
            for (int k = 0; k < V; k++) {
                int listed = 0;
                for (int m = 0; m < i; m++) listed |= s->place[at].top[m].id == k;
                if (!listed && (best < 0 || s->row[at][k] > s->row[at][best])) best = k;
            }
            s->place[at].top[i] = (spec_live_candidate){best, log(s->row[at][best])};
        }
    }
}

/* Computes the whole row with penalties, by the definition of vLLM (last = 0) or of llama-server,
 * without normalising it. */
static void penalise(double *row, const scored *s, int at, double presence, double frequency,
                     int last)
{
    for (int id = 0; id < V; id++) {
        int count = 0;
        for (int i = 0; i < PROMPT + at; i++)
            if (s->token[i] == id && (last > 0 ? i >= PROMPT + at - last : i >= PROMPT)) count++;
        if (count > 0) row[id] *= exp(-presence - frequency * count);
    }
}

TEST(lists_with_penalties_give_the_law_of_the_whole_row)
{
    static const struct {
        const char *order;
        double temperature;
        int top_k;
        double top_p, min_p;
        double judged; /* smallest share of positions that can be judged */
    } cases[] = {
        {"top_k,top_p,min_p,temperature", 1.0, 0, 1.0, 0.0, 0.9},
        {"temperature,min_p,top_k,top_p", 0.7, 0, 1.0, 0.0, 0.9},
        {"top_k,top_p,min_p,temperature", 0.7, 4, 1.0, 0.0, 0.9},
        {"temperature,min_p,top_k,top_p", 0.7, 4, 0.8, 0.0, 0.3},
        {"top_k,top_p,min_p,temperature", 1.0, 4, 0.8, 0.1, 0.3},
        {"temperature,top_k+top_p+min_p", 1.2, 3, 1.0, 0.3, 0.9},
    };
    static const struct {
        double presence, frequency;
        int last;
    } penalties[] = {{2.0, 0.0, 0}, {0.0, 0.7, 0}, {1.5, 0.4, 4}};
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (int c = 0; c < 6; c++) {
        spec_drawn_rule rule = {.transform = {.temperature = cases[c].temperature,
                                              .top_k = cases[c].top_k,
                                              .top_p = cases[c].top_p,
                                              .min_p = cases[c].min_p},
                                .penalised = true,
                                .vocab = V};
        int judged = 0, cuts = 0;
        assert_works(spec_filter_order_parse(&rule.order, cases[c].order, &error));
        assert_works(spec_drawn_check(&rule, LISTED, &error));
        for (int t = 0; t < 300; t++) {
            static scored s;
            const int p = t % 3;
            draw_scored(&s, rng);
            spec_penalties_apply(&s.text, penalties[p].presence, penalties[p].frequency,
                                 penalties[p].last);
            for (int at = 0; at < TEXT; at++) {
                const spec_live_place *place = &s.place[at];
                double chance[SPEC_LIVE_TOP], set = 0.0, sum = 0.0, *whole = s.row[at];
                int workspace[V];
                penalise(whole, &s, at, penalties[p].presence, penalties[p].frequency,
                         penalties[p].last);
                for (int i = 0; i < place->n; i++) /* the list is sorted, and has the values */
                    assert_true((i == 0 || place->top[i].log <= place->top[i - 1].log) &&
                                fabs(exp(place->top[i].log) - whole[place->top[i].id]) < 1e-12);
                const spec_drawn_rest rest = spec_drawn_law(chance, &rule, place);
                if (rest == SPEC_REST_SKIP) continue;
                judged++;
                for (int i = 0; i < V; i++) sum += whole[i];
                for (int i = 0; i < V; i++) whole[i] /= sum;
                spec_filter_order_apply(&rule.order, whole, V, &rule.transform, workspace);
                for (int i = 0; i < place->n; i++)
                    if (chance[i] > 0.0) set += whole[place->top[i].id];
                assert_true(rest != SPEC_REST_KNOWN && set > 0.0);
                cuts += rest == SPEC_REST_NONE;
                if (rest == SPEC_REST_NONE) assert_within(set, 1.0, 1e-12);
                for (int i = 0; i < place->n; i++)
                    if (chance[i] > 0.0)
                        assert_within(chance[i], whole[place->top[i].id] / set, 1e-12);
            }
        }
        assert_true(judged >= cases[c].judged * 300 * TEXT);
        assert_int_equal(cuts > 0, cases[c].top_k > 0);
    }
}

/* The penalised first token must still be more probable than any that is not listed. */
TEST(the_most_probable_token_with_penalties_is_known_or_the_list_is_empty)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    int empty = 0;
    for (int t = 0; t < 300; t++) {
        static scored s;
        draw_scored(&s, rng);
        for (int at = 0; at < TEXT; at++) s.place[at].n = 3; /* most of these have occurred */
        spec_penalties_apply(&s.text, 1.5, 0.0, 0);
        for (int at = 0; at < TEXT; at++) {
            penalise(s.row[at], &s, at, 1.5, 0.0, 0);
            int best = 0;
            for (int i = 1; i < V; i++)
                if (s.row[at][i] > s.row[at][best]) best = i;
            if (s.place[at].n > 0)
                assert_int_equal(s.place[at].top[0].id, best);
            else
                empty++;
        }
    }
    assert_true(empty > 100 && empty < 300 * TEXT - 100);
}

/* The list is {0: .5, 1: .3, 2: .1}, and token 0 has occurred: with a penalty of 1 it has .184. */
TEST(a_greedy_token_outside_of_a_penalised_list_may_be_as_probable_as_its_last_was)
{
    spec_live_place place = {.n = 3, .top = {{0, log(0.5)}, {1, log(0.3)}, {2, log(0.1)}}};
    int32_t token[] = {7, 0, 9};
    spec_greedy_texts counts = {.texts = 0};
    const spec_served_text text = {.all = {token, 3}, .n_prompt = 2, .n = 1, .place = &place};
    spec_served_text penalised = text;
    spec_penalties_apply(&penalised, 1.0, 0.0, 64);
    assert_int_equal(place.top[0].id, 1);
    assert_within(place.top[1].log, log(0.5) - 1.0, 1e-12);
    spec_greedy_add(&counts, &penalised, 0.01);
    assert_within(counts.largest, log(0.3 / 0.1), 1e-12);
}

TEST(top_p_with_penalties_needs_the_sum_of_what_it_sees)
{
    spec_drawn_rule rule = {.transform = {.temperature = 1.0, .top_p = 0.9}, .penalised = true};
    assert_works(spec_filter_order_parse(&rule.order, "top_k,top_p,min_p,temperature", &error));
    assert_fails_with(spec_drawn_check(&rule, 20, &error), GSL_EINVAL,
                      "--top-p with penalties needs --top-k");
    rule.transform.top_k = 8;
    assert_works(spec_drawn_check(&rule, 20, &error));
    assert_works(spec_filter_order_parse(&rule.order, "temperature,top_k+top_p+min_p", &error));
    assert_fails_with(spec_drawn_check(&rule, 20, &error), GSL_EINVAL,
                      "--top-p with penalties cannot be judged");
}
