/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/clock.h"
#include "sim/chance/rng.h"
#include "tools/live/served.h"

#include <jansson.h>
#include <math.h>

/* Returns the number of a text that goes wrong: its request in the trace. */
static int number_of(const spec_served_result *r, const spec_served_suspect *suspect)
{
    char name[24];
    for (int i = 0; i < r->wanted; i++) {
        snprintf(name, sizeof name, "%d", i);
        if ((spec_rng_named_seed(0, name) | 1) == suspect->key) return i;
    }
    return -1;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void write_noise(FILE *out, const spec_served_result *r)
{
    fprintf(out, "  noise        %s by up to %.2g in a log-probability\n",
            r->local ? "the server's own scores differ" : "two scorings differ", r->noise.worst);
    if (r->unlike > 0)
        fprintf(
            out,
            "  tokenizer    the server splits %d of %d prompts differently than the model's own "
            "tokenizer; the server's tokens were scored\n",
            r->unlike, r->prompts);
}

static void write_head(FILE *out, const spec_served_result *r)
{
    char took[SPEC_CLOCK_TEXT];
    fprintf(out, "  text from    %s (%s, %s)\n", r->text.url, r->text.dialect->name, r->text.model);
    fprintf(out, "  %s %s (%s, %s)\n", r->two_samples ? "compared to " : "scored by   ",
            r->score.url, r->score.dialect->name, r->score.model);
    if (!r->two_samples) write_noise(out, r);
    fprintf(out, "  time         %s\n", spec_clock_text(took, r->seconds));
}

static void write_margins(FILE *out, const spec_greedy_texts *g)
{
    fputs("  margins      ", out);
    for (int i = 0; i < SPEC_GREEDY_BUCKETS; i++)
        if (i < SPEC_GREEDY_BUCKETS - 1)
            fprintf(out, "<=%g: %llu  ", spec_greedy_ends[i], (unsigned long long)g->bucket[i]);
        else
            fprintf(out, "more: %llu\n", (unsigned long long)g->bucket[i]);
}

static void write_greedy(FILE *out, const spec_served_result *r)
{
    const spec_greedy_texts *g = &r->served, *c = &r->control;
    const spec_served_verdict verdict = spec_served_verdict_of(r);
    if (g->texts == 0)
        fputs("undecided: there is no text\n\n", out);
    else if (g->wrong > 0)
        fprintf(out,
                "%s: %llu of %llu tokens, in %d of %d texts, are less probable than another token, "
                "by more than rounding explains%s.\nThe first is token %d of text %d: id %d, where "
                "the log-probability of id %d is larger by %.2g.\n\n",
                spec_served_verdict_names[verdict], (unsigned long long)g->wrong,
                (unsigned long long)g->tokens, g->wrong_texts, g->texts,
                verdict == SPEC_SERVED_UNDECIDED ? ", but the scorer's own texts are hardly better"
                                                 : "",
                g->position + 1, g->text, g->token, g->best, g->margin);
    else
        fprintf(out,
                "no difference: each of %llu tokens in %d texts is the most probable one, or as "
                "probable within rounding.\n\n",
                (unsigned long long)g->tokens, g->texts);
    fprintf(out, "  ties         %llu tokens", (unsigned long long)g->ties);
    if (!r->local)
        fprintf(out, ", and %llu in the scorer's own texts", (unsigned long long)c->ties);
    fprintf(out, "; a tie is a margin of at most %.2g\n", r->tie);
    if (c->wrong > 0)
        fprintf(out,
                "  scorer       has wrong tokens too: %llu in %d of its %d texts, by up to %.2g\n",
                (unsigned long long)c->wrong, c->wrong_texts, c->texts, c->largest);
    if (g->ties + g->wrong > 0) write_margins(out, g);
}

static void write_equal(FILE *out, const spec_served_result *r)
{
    const spec_greedy_texts *g = &r->served, *c = &r->control;
    const spec_served_verdict verdict = spec_served_verdict_of(r);
    fprintf(out, "%s: ", spec_served_verdict_names[verdict]);
    if (g->texts == 0)
        fputs("there is no text.\n\n", out);
    else if (r->stopped && g->different > 0)
        fprintf(out,
                "%d of %d texts differ from the plain server's texts of the same seeds, and the "
                "run was interrupted before it was clear by how much.\n\n",
                g->different, g->texts);
    else if (g->wrong > 0)
        fprintf(
            out,
            "%d of %d texts differ from the plain server's texts of the same seeds by more "
            "than rounding explains%s.\nThe first is text %d. At token %d the server drew id %d "
            "and the plain server id %d, and the ids between them have a probability of %.2g. "
            "Look for a cache that was not rolled back after a rejection, a wrong position, or "
            "another request's text. If served finds nothing without --equal-seeds, the server "
            "only uses its random numbers in another order.\n\n",
            g->wrong_texts, g->texts,
            verdict == SPEC_SERVED_UNDECIDED ? ", but so do the plain server's own when it "
                                               "draws them again"
                                             : "",
            g->text, g->position + 1, g->token, g->best, g->margin);
    else {
        fprintf(out, "%d of %d texts equal the plain server's texts of the same seeds%s; ",
                g->texts - g->different, g->texts,
                g->different > 0 ? ", and the others differ by no more than rounding explains"
                                 : "");
        if (isnan(r->detectable))
            fputs("there are too few tokens for any difference to show.\n\n", out);
        else
            fprintf(out,
                    "a total variation of %.2g, averaged over the positions, would have shown, "
                    "with a chance of 0.9.\n\n",
                    r->detectable);
    }
    fprintf(out, "  compared     %llu tokens in %d texts\n", (unsigned long long)g->tokens,
            g->texts);
    if (g->different == 0 || r->stopped) return;
    fprintf(
        out,
        "  ties         %llu texts, and %llu when the plain server drew its own again; in a tie "
        "the ids between have a probability of at most %.2g\n",
        (unsigned long long)g->ties, (unsigned long long)c->ties, r->tie);
    if (c->wrong > 0)
        fprintf(out,
                "  plain server draws %d of %d texts differently a second time, %d of them wrong\n",
                c->different, c->texts, c->wrong_texts);
    write_margins(out, g);
}

static void write_samples(FILE *out, const spec_served_result *r)
{
    const spec_two_samples *s = &r->samples;
    fprintf(out, "%s: ", spec_served_verdict_names[spec_served_verdict_of(r)]);
    if (s->p <= r->rate)
        fputs("the two servers draw from different distributions. Without scores, the test cannot "
              "tell whether the state, the sampler or the filters are wrong",
              out);
    else if (s->p_close <= r->rate)
        fputs(
            "the samples are too similar to be independent: the servers draw with the same random "
            "numbers, although they got different seeds",
            out);
    else if (isnan(s->detectable))
        fputs("too few texts of a prompt begin alike, or all of them are equal: draw more --texts, "
              "of fewer prompts",
              out);
    else
        fprintf(out,
                "the texts look like draws from one distribution; a total variation of %.2g, if it "
                "is spread evenly over the first tokens, would have shown, with a chance of 0.9",
                s->detectable);
    fprintf(out,
            ".\n\n  compared     the first %d %s of each text; %d groups of texts begin alike\n",
            SPEC_TWO_SAMPLES_TOKENS, r->text.dialect == &spec_openai_dialect ? "words" : "tokens",
            s->groups);
    fprintf(out,
            "  evidence     statistic %.1f, by chance %.1f +- %.1f; p = %.2g from %llu "
            "permutations, and a verdict needs %.2g\n",
            s->statistic, s->mean, s->deviation, s->p, (unsigned long long)s->permutations,
            r->rate);
}

static void write_sampled(FILE *out, const spec_served_result *r)
{
    const spec_served_judgement *j = &r->judgement;
    fprintf(out, "%s: %s.\n\n", spec_served_verdict_names[j->verdict], j->reason);
    fprintf(out, "  tested       %llu tokens in %llu texts\n", (unsigned long long)j->tokens,
            (unsigned long long)j->texts);
    fprintf(out,
            "  evidence     %.1f from the bets of validate%s%s%s, %.1f from texts that go "
            "wrong, %.1f from filters; a verdict needs %.1f\n",
            j->trace_log_e, j->best_test != NULL ? " (best: " : "",
            j->best_test != NULL ? j->best_test : "", j->best_test != NULL ? ")" : "",
            j->state_log_e, j->filter_log_e, j->needed);
    for (int i = 0; i < j->n_suspects && j->verdict == SPEC_SERVED_STATE; i++)
        fprintf(out, "  wrong text   %d, from its token %d on\n", number_of(r, &j->suspect[i]),
                j->suspect[i].from + 1);
}

void spec_served_report(FILE *out, const spec_served_result *r)
{
    if (r->greedy)
        write_greedy(out, r);
    else if (r->equal_seeds)
        write_equal(out, r);
    else if (r->two_samples)
        write_samples(out, r);
    else
        write_sampled(out, r);
    write_head(out, r);
    if (r->stopped) fprintf(out, "  interrupted  of %d texts\n", r->wanted);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *real(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

static json_t *server(const spec_live_server *s)
{
    return json_pack("{s:s, s:s, s:s}", "url", s->url, "engine", s->dialect->name, "model",
                     s->model);
}

static json_t *greedy(const spec_greedy_texts *g)
{
    return json_pack("{s:i, s:i, s:i, s:I, s:I, s:I, s:o}", "texts", g->texts, "different",
                     g->different, "wrong_texts", g->wrong_texts, "tokens", (json_int_t)g->tokens,
                     "ties", (json_int_t)g->ties, "wrong", (json_int_t)g->wrong, "largest_margin",
                     real(g->largest));
}

static json_t *worst(const spec_served_result *r)
{
    json_t *list = json_array();
    for (int i = 0; i < r->judgement.n_suspects; i++)
        json_array_append_new(list, json_pack("{s:i, s:i}", "text",
                                              number_of(r, &r->judgement.suspect[i]), "from_token",
                                              r->judgement.suspect[i].from));
    return list;
}

int spec_served_report_json(FILE *out, const spec_served_result *r, spec_error *error)
{
    const spec_served_judgement *j = &r->judgement;
    json_t *root =
        json_pack("{s:s, s:o, s:o, s:o, s:f, s:b}", "verdict",
                  spec_served_verdict_names[spec_served_verdict_of(r)], "text_from",
                  server(&r->text), r->two_samples ? "compare_with" : "score_by", server(&r->score),
                  "noise", real(r->two_samples ? NAN : r->noise.worst), "seconds", r->seconds,
                  "interrupted", r->stopped);
    if (root != NULL && r->equal_seeds)
        json_object_set_new(root, "detectable_tv", real(r->detectable));
    if (root != NULL && r->two_samples) {
        json_object_set_new(root, "detectable_tv", real(r->samples.detectable));
        json_object_set_new(root, "p", real(r->samples.p));
        json_object_set_new(root, "p_close", real(r->samples.p_close));
        json_object_set_new(root, "permutations",
                            json_integer((json_int_t)r->samples.permutations));
        json_object_set_new(root, "groups", json_integer(r->samples.groups));
    } else if (root != NULL && (r->greedy || r->equal_seeds)) {
        json_object_set_new(root, "served", greedy(&r->served));
        if (!r->local) json_object_set_new(root, "control", greedy(&r->control));
        json_object_set_new(root, "tie", json_real(r->tie));
    } else if (root != NULL) {
        json_object_set_new(root, "reason", json_string(j->reason));
        json_object_set_new(root, "texts", json_integer((json_int_t)j->texts));
        json_object_set_new(root, "tokens", json_integer((json_int_t)j->tokens));
        json_object_set_new(root, "detectable_tv", real(j->detectable));
        json_object_set_new(root, "log_e", real(j->trace_log_e));
        json_object_set_new(root, "state_log_e", real(j->state_log_e));
        json_object_set_new(root, "filter_log_e", real(j->filter_log_e));
        json_object_set_new(root, "needed", real(j->needed));
        json_object_set_new(root, "wrong_texts", json_integer(j->wrong_texts));
        json_object_set_new(root, "worst", worst(r));
        json_object_set_new(root, "excluded", json_integer((json_int_t)j->excluded));
        json_object_set_new(root, "copies", json_integer(j->copies));
    }
    if (root != NULL && r->local)
        json_object_set_new(root, "other_tokens", json_integer(r->unlike));
    const int bad = root == NULL || json_dumpf(root, out, JSON_INDENT(2)) != 0;
    json_decref(root);
    fputc('\n', out);
    return bad ? spec_fail(error, GSL_EFAILED, "cannot write the report") : GSL_SUCCESS;
}
