/* Every line of the table of fixtures. */
#include "experiments/conformance/evidence.h"
#include "sim/rng.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>
#include <time.h>

#define UNITS 4194304.0

typedef void check_fn(const spec_fixture *f);

static void for_every_line(check_fn *check)
{
    for (int i = 0; spec_fixtures[i] != NULL; i++) {
        spec_fixture f;
        spec_error error = {{0}};
        if (spec_fixture_open(&f, spec_fixtures[i], &error) != GSL_SUCCESS) fail_msg("%s", error.text);
        check(&f);
        spec_fixture_close(&f);
    }
}

static const float *row_of(const spec_fixture *f, const float *rows, int state)
{
    return rows + (size_t)state * (size_t)f->vocab;
}

static double overlap(const float *a, const float *b, int V)
{
    double sum = 0.0;
    for (int i = 0; i < V; i++) sum += (double)fminf(a[i], b[i]);
    return sum;
}

static bool is(const spec_fixture *f, const char *name)
{
    return strcmp(f->kind->name, name) == 0;
}

static bool samples(const spec_fixture *f)
{
    const spec_sampling *s = &f->sampling;
    return s->temperature != 1.0f || s->top_k != 0 || s->top_p != 1.0f || s->min_p != 0.0f;
}

/* ---- what holds for all ------------------------------------------------------------------------------------------ */

static void each_line_has_a_name_and_a_reason_of_its_own(void **state)
{
    (void)state;
    for (int i = 0; spec_fixtures[i] != NULL; i++) {
        const spec_fixture_kind *kind = spec_fixtures[i];
        assert_in_range(strlen(kind->name), 3, 24);
        assert_in_range(strlen(kind->reason), 15, 130);
        assert_null(strchr(kind->reason, '\n'));
        assert_true(kind->scopes > 0 && kind->scopes < 8);
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(kind->name, spec_fixtures[k]->name);
            assert_string_not_equal(kind->reason, spec_fixtures[k]->reason);
        }
    }
}

static void check_row(const float *row, int V)
{
    int64_t sum = 0;
    for (int i = 0; i < V; i++) {
        const double units = UNITS * (double)row[i];
        if (!(units >= 0.0) || units != floor(units)) fail_msg("%g is no whole number of units", (double)row[i]);
        sum += (int64_t)units;
    }
    assert_int_equal(sum, (int64_t)UNITS);
}

static void check_rows(const spec_fixture *f)
{
    for (int s = 0; s < f->n_states; s++) {
        check_row(row_of(f, f->target, s), f->vocab);
        check_row(row_of(f, f->draft, s), f->vocab);
    }
}

static void rows_are_whole_units_that_sum_to_1(void **state)
{
    (void)state;
    for_every_line(check_rows);
}

/* Where there are too few tokens, or too few kinds of rows, for all to differ. */
static void check_different(const spec_fixture *f)
{
    if (f->vocab == 1 || is(f, "one-hot-target-4")) return;
    const double least = is(f, "blind-half-steps-16") ? 0.003 : is(f, "near-uniform-8") ? 0.05 : 0.1;
    for (int s = 0; s < f->n_states; s++)
        for (int t = 0; t < s; t++) {
            const double tv = 1.0 - overlap(row_of(f, f->target, s), row_of(f, f->target, t), f->vocab);
            if (tv < least) fail_msg("%s: states %d and %d are alike: %g", f->kind->name, s, t, tv);
            if (is(f, "one-hot-draft-4")) continue;
            assert_memory_not_equal(row_of(f, f->draft, s), row_of(f, f->draft, t), (size_t)f->vocab * sizeof(float));
        }
}

static void rows_of_different_states_differ(void **state)
{
    (void)state;
    for_every_line(check_different);
}

/* How often states are met in texts: at the level's share of texts, none less than half as often as evenly. */
static void check_reached(const spec_fixture *f)
{
    double *chance = calloc((size_t)f->n_states, sizeof *chance);
    for (int v = 0; v < f->variants; v++) chance[v * f->levels] = 1.0 / f->variants;
    for (int level = 0; level < f->levels; level++)
        for (int v = 0; v < f->variants; v++) {
            const int s = v * f->levels + level;
            if (chance[s] * f->variants < 0.5) fail_msg("%s: state %d has %g", f->kind->name, s, chance[s]);
            for (int i = 0; i < f->vocab && level < f->levels - 1; i++)
                chance[spec_fixture_next(f, s, i)] +=
                    chance[s] * f->target_law[(size_t)s * (size_t)f->vocab + (size_t)i];
        }
    free(chance);
}

static void states_of_a_level_are_met_about_evenly(void **state)
{
    (void)state;
    for_every_line(check_reached);
}

/* Scope DV knows the rows before the drafts; elsewhere the token tells. */
static void check_blind(const spec_fixture *f)
{
    bool tells = false;
    if (f->kind->scopes & SPEC_SCOPE_DRAFT) assert_true(f->blind && f->chain && f->drawn == SPEC_DRAWN_IID);
    if (f->kind->scopes & SPEC_SCOPE_STREAM) assert_true(f->chain && f->n_nodes > 0);
    for (int s = 0; s < f->n_states; s++) {
        const int next = spec_fixture_next(f, s, 0);
        if (f->blind) assert_int_equal(next, s % f->levels == f->levels - 1 ? s - f->levels + 1 : s + 1);
        for (int i = 0; i < f->vocab; i++) {
            assert_in_range(spec_fixture_next(f, s, i), 0, f->n_states - 1);
            tells = tells || spec_fixture_next(f, s, i) != next;
        }
    }
    assert_int_equal(tells, !f->blind && f->variants > 1);
}

static void rows_that_are_known_before_the_draft_do_not_depend_on_it(void **state)
{
    (void)state;
    for_every_line(check_blind);
}

static void lines_are_small_and_quick(void **state)
{
    (void)state;
    const clock_t begun = clock();
    size_t all = 0;
    for (int i = 0; spec_fixtures[i] != NULL; i++) {
        spec_fixture f;
        assert_int_equal(spec_fixture_open(&f, spec_fixtures[i], NULL), GSL_SUCCESS);
        const size_t cells = (size_t)f.n_states * (size_t)f.vocab, gathered = (size_t)f.batch * (size_t)(f.n_nodes + 1);
        assert_in_range(cells, 1, 1 << 19);
        if (!f.blind) assert_in_range(gathered * (size_t)f.vocab, 1, 1 << 21);
        all += cells * (2 * sizeof(float) + 2 * sizeof(double) + sizeof(int32_t));
        spec_fixture_close(&f);
    }
    assert_in_range(all, 1, 32u << 20);
    const double seconds = (double)(clock() - begun) / CLOCKS_PER_SEC;
    printf("all lines opened in %.3f s, %zu bytes\n", seconds, all);
    assert_true(seconds < 2.0);
}

/* ---- sampling parameters, by another route ----------------------------------------------------------------------- */

static const double *sorted; /* for the comparison alone */

static int by_probability(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    if (sorted[x] != sorted[y]) return sorted[x] > sorted[y] ? -1 : 1;
    return x - y;
}

/* The law in the order of probability: temperature, then each filter keeps so many of the first tokens, and the fewest
 * count. No probability may lie so near to a threshold that single precision could take the other side. */
static void check_law(const double *law, const float *row, int V, const spec_sampling *s)
{
    double *p = malloc((size_t)V * sizeof *p), sum = 0.0, below = 0.0;
    int *order = malloc((size_t)V * sizeof *order), kept = V;
    const double T = (double)s->temperature, top_p = (double)s->top_p, min_p = (double)s->min_p;
    for (int i = 0; i < V; i++) order[i] = i, p[i] = (double)row[i];
    sorted = p;
    qsort(order, (size_t)V, sizeof *order, by_probability);
    if (T == 0.0) {
        assert_true(V == 1 || p[order[0]] > 1.01 * p[order[1]]);
        kept = 1;
    }
    for (int i = 0; i < V && T != 0.0; i++) sum += p[i] = p[i] > 0.0 ? pow(p[i], 1.0 / T) : 0.0;
    for (int i = 0; i < V && T != 0.0; i++) p[i] /= sum;
    if (T != 0.0 && s->top_k > 0 && s->top_k < V) {
        assert_true(p[order[s->top_k - 1]] > 1.001 * p[order[s->top_k]]);
        kept = s->top_k;
    }
    for (int r = 0; r < V && T != 0.0 && top_p < 1.0; r++) {
        below += p[order[r]];
        assert_true(fabs(below - top_p) > 1e-4);
        if (below < top_p) continue;
        if (r + 1 < kept) kept = r + 1;
        assert_true(r + 1 == V || p[order[r]] > 1.001 * p[order[r + 1]]); /* ties, too, are cut by rounding */
        break;
    }
    for (int r = 0; r < V && T != 0.0 && min_p > 0.0; r++) {
        assert_true(fabs(p[order[r]] / p[order[0]] - min_p) > 1e-4);
        if (p[order[r]] < min_p * p[order[0]] && r < kept) kept = r;
    }
    sum = 0.0;
    for (int r = 0; r < kept; r++) sum += p[order[r]];
    for (int r = 0; r < V; r++) assert_within(law[order[r]], r < kept ? p[order[r]] / sum : 0.0, 1e-12);
    free(p);
    free(order);
}

static void check_laws(const spec_fixture *f)
{
    const size_t size = (size_t)f->n_states * (size_t)f->vocab;
    for (size_t i = 0; i < size && !samples(f); i++)
        assert_true(f->target_law[i] == (double)f->target[i] && f->draft_law[i] == (double)f->draft[i]);
    for (int s = 0; s < f->n_states && samples(f); s++) {
        const size_t at = (size_t)s * (size_t)f->vocab;
        check_law(f->target_law + at, f->target + at, f->vocab, &f->sampling);
        check_law(f->draft_law + at, f->draft + at, f->vocab, &f->sampling);
    }
}

static void laws_are_the_rows_with_the_sampling_parameters_applied(void **state)
{
    (void)state;
    for_every_line(check_laws);
}

/* ---- what is asked of the set ------------------------------------------------------------------------------------ */

static unsigned vocabs, lengths, stream_lengths, batches, chains, trees, odd;

static void note(const spec_fixture *f)
{
    vocabs |= f->vocab == 1 ? 1 : f->vocab == 2 ? 2 : f->vocab == 50257 ? 4 : f->vocab == 151936 ? 8 : 0;
    if (f->chain) lengths |= 1u << f->n_nodes;
    if (f->kind->scopes & SPEC_SCOPE_STREAM) stream_lengths |= 1u << f->n_nodes;
    batches |= f->batch == 1 ? 1 : f->batch == 3 ? 2 : f->batch == 64 ? 4 : f->batch == 256 ? 8 : 0;
    *(f->chain ? &chains : &trees) |= f->drawn;
    odd |= f->vocab > 32 && f->vocab % 2 == 1;
}

static void vocabularies_lengths_batches_and_siblings_of_all_kinds_are_there(void **state)
{
    (void)state;
    for_every_line(note);
    assert_int_equal(vocabs, 15);
    assert_int_equal(lengths, 0x1ff); /* 0 to 8 */
    assert_int_equal(stream_lengths & 0x3e, 0x3e); /* 1 to 5 */
    assert_int_equal(batches, 15);
    assert_int_equal(chains, SPEC_DRAWN_IID | SPEC_DRAWN_FIXED);
    assert_int_equal(trees, SPEC_DRAWN_IID | SPEC_DRAWN_FIXED | SPEC_DRAWN_WITHOUT);
    assert_true(odd);
}

/* ---- right and wrong samplers ------------------------------------------------------------------------------------ */

enum { ROUNDS = 512 };

/* The worst that all tests say of a sampler on a line, as a logarithm: of e, or 1/p. */
static double worst_on(spec_subject *subject, const spec_fixture *f, uint32_t scope)
{
    spec_evidence *evidence = NULL;
    spec_finding finding[SPEC_TESTS_MAX];
    gsl_rng *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    const int n = f->vocab > 10000 ? 64 : ROUNDS;
    double worst = 0.0;
    spec_rng_stream(rng, 42, scope);
    assert_int_equal(spec_evidence_init(&evidence, f, scope, NULL), GSL_SUCCESS);
    assert_int_equal(spec_subject_begin(subject, f, scope, n, NULL), GSL_SUCCESS);
    if (scope == SPEC_SCOPE_STREAM) {
        int32_t text[ROUNDS];
        assert_int_equal(spec_subject_generate(subject, 0, f->n_nodes, 42, text, ROUNDS, NULL), GSL_SUCCESS);
        spec_evidence_add_text(evidence, 0, text, ROUNDS, rng);
    } else {
        spec_evidence_ask(evidence, &subject->batch, n, 0, 42, rng);
        assert_int_equal(spec_subject_run(subject, n, NULL), GSL_SUCCESS);
        spec_evidence_add(evidence, &subject->batch, n, 0, rng);
    }
    if (spec_evidence_hard(evidence) != NULL) worst = INFINITY;
    const int tests = spec_evidence_findings(finding, evidence);
    for (int k = 0; k < tests; k++) worst = fmax(worst, -log(finding[k].p));
    spec_evidence_free(evidence);
    gsl_rng_free(rng);
    return worst;
}

/* The lines on which a sampler is off beyond chance: p < 1e-9, of about 4,000 p-values. */
static int lines_against(const char *sampler)
{
    spec_subject subject;
    int n = 0;
    assert_int_equal(spec_subject_open(&subject, sampler, &SPEC_SUBJECT_LIMITS_DEFAULT, NULL), GSL_SUCCESS);
    for (int i = 0; spec_fixtures[i] != NULL; i++) {
        spec_fixture f;
        assert_int_equal(spec_fixture_open(&f, spec_fixtures[i], NULL), GSL_SUCCESS);
        for (uint32_t scope = 1; scope <= SPEC_SCOPE_STREAM; scope *= 2)
            if (spec_fixture_fits(&f, &subject.about, scope, NULL) && worst_on(&subject, &f, scope) > -log(1e-9)) n++;
        spec_fixture_close(&f);
    }
    spec_subject_close(&subject);
    return n;
}

static void lossless_rules_pass_on_all_of_them(void **state)
{
    (void)state;
    assert_int_equal(lines_against("rule:token"), 0);
    assert_int_equal(lines_against("rule:block"), 0);
    assert_int_equal(lines_against("rule:match"), 0);
}

static void wrong_rules_fail_on_many(void **state)
{
    (void)state;
    const int whole = lines_against("rule:resample-target"), greedy = lines_against("rule:greedy-softmax");
    printf("resample-target fails on %d, greedy-softmax on %d\n", whole, greedy);
    assert_true(whole > 15 && greedy > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_line_has_a_name_and_a_reason_of_its_own),
        cmocka_unit_test(rows_are_whole_units_that_sum_to_1),
        cmocka_unit_test(rows_of_different_states_differ),
        cmocka_unit_test(states_of_a_level_are_met_about_evenly),
        cmocka_unit_test(rows_that_are_known_before_the_draft_do_not_depend_on_it),
        cmocka_unit_test(lines_are_small_and_quick),
        cmocka_unit_test(laws_are_the_rows_with_the_sampling_parameters_applied),
        cmocka_unit_test(vocabularies_lengths_batches_and_siblings_of_all_kinds_are_there),
        cmocka_unit_test(lossless_rules_pass_on_all_of_them),
        cmocka_unit_test(wrong_rules_fail_on_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
