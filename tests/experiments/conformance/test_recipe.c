/* What the lines are made for is there in their rows. */
#include "experiments/conformance/recipe.h"
#include "models/transform.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

#define UNIT (1.0 / 4194304.0)

typedef struct {
    const float *target, *draft;
    const double *target_law, *draft_law;
    int V, state, level;
} rows;

static int open_line(spec_fixture *f, const char *name)
{
    const spec_fixture_kind *kind;
    spec_error error = {{0}};
    if (spec_fixture_find(&kind, name, &error) != GSL_SUCCESS) fail_msg("%s", error.text);
    assert_int_equal(spec_fixture_open(f, kind, &error), GSL_SUCCESS);
    return f->n_states;
}

static rows rows_at(const spec_fixture *f, int state)
{
    const size_t at = (size_t)state * (size_t)f->vocab;
    return (rows){f->target + at, f->draft + at, f->target_law + at, f->draft_law + at, f->vocab, state,
                  state % f->levels};
}

typedef void check_fn(const rows *r);

static void in_each_state(const char *name, check_fn *check)
{
    spec_fixture f;
    const int n = open_line(&f, name);
    for (int s = 0; s < n; s++) {
        const rows r = rows_at(&f, s);
        check(&r);
    }
    spec_fixture_close(&f);
}

/* The mean over the states above the last level of what `of` says. */
static double mean_over_states(const char *name, double (*of)(const rows *r))
{
    spec_fixture f;
    double sum = 0.0, n = 0.0;
    open_line(&f, name);
    for (int s = 0; s < f.n_states; s++) {
        const rows r = rows_at(&f, s);
        if (r.level == f.levels - 1) continue;
        sum += of(&r);
        n++;
    }
    spec_fixture_close(&f);
    return sum / n;
}

static double overlap(const rows *r)
{
    double sum = 0.0;
    for (int i = 0; i < r->V; i++) sum += fmin(r->target_law[i], r->draft_law[i]);
    return sum;
}

static int mode(const float *row, int V)
{
    int best = 0;
    for (int i = 1; i < V; i++)
        if (row[i] > row[best]) best = i;
    return best;
}

static int positive(const float *row, int V)
{
    int n = 0;
    for (int i = 0; i < V; i++) n += row[i] > 0.0f;
    return n;
}

/* ---- shapes of rows ---------------------------------------------------------------------------------------------- */

static void is_flat(const rows *r)
{
    for (int i = 0; i < r->V; i++)
        for (int k = 0; k < r->V; k++) assert_true(r->target[i] < 2.6f * r->target[k]);
}

static void sure_of_different_tokens(const rows *r)
{
    assert_true(r->target[mode(r->target, r->V)] > 0.75f && r->draft[mode(r->draft, r->V)] > 0.5f);
    assert_int_not_equal(mode(r->target, r->V), mode(r->draft, r->V));
}

static void draft_is_sure_of_the_unlikely(const rows *r)
{
    const int drafted = mode(r->draft, r->V);
    assert_true(r->draft[drafted] > 0.75f && r->target[drafted] < 0.2f);
}

static void has_a_sure_mode_and_light_tails(const rows *r)
{
    int light = 0;
    for (int i = 0; i < r->V; i++) light += r->target[i] < 0.01f;
    assert_true(r->target[mode(r->target, r->V)] > 0.35f && light > 40);
}

static void has_little_overlap(const rows *r)
{
    assert_true(overlap(r) < 0.35);
}

static void has_no_overlap(const rows *r)
{
    assert_true(overlap(r) == 0.0);
}

static void is_equal_but_for_ends(const rows *r)
{
    assert_memory_equal(r->target, r->draft, (size_t)r->V * sizeof(float));
    assert_true(r->target[0] == 0.0f && r->target[r->V - 1] == 0.0f);
}

static void is_equal(const rows *r)
{
    assert_memory_equal(r->target, r->draft, (size_t)r->V * sizeof(float));
}

static void target_is_certain(const rows *r)
{
    assert_int_equal(positive(r->target, r->V), 1);
    assert_int_equal(positive(r->draft, r->V), r->V);
}

static void draft_is_certain(const rows *r)
{
    assert_int_equal(positive(r->draft, r->V), 1);
    assert_int_equal(positive(r->target, r->V), r->V);
    const double likely = (double)r->target[mode(r->draft, r->V)];
    assert_true(likely > 0.2 && likely < 0.8);
}

static void has_two_values(const rows *r)
{
    for (int i = 0; i < r->V; i++)
        assert_true((r->target[i] == 0.0625f || r->target[i] == 0.1875f) &&
                    (r->draft[i] == 0.0625f || r->draft[i] == 0.1875f));
}

static void drafts_are_often_impossible(const rows *r)
{
    double mass = 0.0;
    for (int i = 0; i < r->V; i++) mass += r->target[i] == 0.0f ? (double)r->draft[i] : 0.0;
    assert_true(mass > 0.25);
    assert_true(r->target[0] == 0.0f && r->target[r->V - 1] == 0.0f);
    assert_true(r->draft[0] > 0.0f && r->draft[r->V - 1] > 0.0f);
}

static void much_is_never_drafted(const rows *r)
{
    double mass = 0.0;
    for (int i = 0; i < r->V; i++) mass += r->draft[i] == 0.0f ? (double)r->target[i] : 0.0;
    assert_true(mass > 0.4);
}

static void likeliest_is_hardly_drafted(const rows *r)
{
    assert_true((double)r->draft[mode(r->target, r->V)] == UNIT);
}

static void differ_in_one_unit(const rows *r)
{
    int n = 0;
    for (int i = 0; i < r->V; i++) {
        n += r->target[i] != r->draft[i];
        assert_true(fabs((double)r->target[i] - (double)r->draft[i]) <= UNIT);
    }
    assert_int_equal(n, 2);
}

static void rows_have_the_shapes_that_their_names_say(void **state)
{
    (void)state;
    in_each_state("near-uniform-8", is_flat);
    in_each_state("low-entropy-8", sure_of_different_tokens);
    in_each_state("heavy-draft-4", draft_is_sure_of_the_unlikely);
    in_each_state("llm-64", has_a_sure_mode_and_light_tails);
    in_each_state("anti-aligned-8", has_little_overlap);
    in_each_state("disjoint-8", has_no_overlap);
    in_each_state("equal-8", is_equal_but_for_ends);
    in_each_state("blind-equal-16", is_equal);
    in_each_state("one-hot-target-4", target_is_certain);
    in_each_state("one-hot-draft-4", draft_is_certain);
    in_each_state("ties-8", has_two_values);
    in_each_state("target-zeros-8", drafts_are_often_impossible);
    in_each_state("blind-zeros-8", drafts_are_often_impossible);
    in_each_state("fixed-zeros-8", drafts_are_often_impossible);
    in_each_state("draft-zeros-8", much_is_never_drafted);
    in_each_state("tiny-draft-8", likeliest_is_hardly_drafted);
    in_each_state("one-unit-8", differ_in_one_unit);
}

/* The tail that the target has and the draft lacks: ranks beyond the fifth. */
static double tail_beyond_the_draft(const rows *r)
{
    double mass = 0.0;
    for (int i = 0; i < r->V; i++)
        if (r->target[i] < 0.02f) mass += (double)r->target[i] - (double)r->draft[i];
    return mass;
}

static void tails_are_light_and_matter(void **state)
{
    (void)state;
    const double mass = mean_over_states("light-tail-32", tail_beyond_the_draft);
    assert_true(mass > 0.03 && mass < 0.1);
}

/* 8 bits of significand, to nearest. */
static double to_bf16(double x)
{
    int exponent;
    const double fraction = frexp(x, &exponent);
    return ldexp(nearbyint(ldexp(fraction, 8)), exponent - 8);
}

static void rounding_moves_them_by_a_tv_of_2_to_the_minus_9(const rows *r)
{
    double sum = 0.0, tv = 0.0;
    for (int i = 0; i < r->V; i++) sum += to_bf16((double)r->draft[i]);
    for (int i = 0; i < r->V; i++) {
        const double seldom = (double)r->draft[i] - to_bf16((double)r->draft[i]) / sum;
        tv += 0.5 * fabs(seldom);
        if (seldom != 0.0) assert_int_equal(seldom > 0.0, r->target[i] > r->draft[i]);
    }
    assert_true(tv > 0.0016 && tv < 0.00196);
}

static void half_steps_are_where_bf16_is_worst(void **state)
{
    (void)state;
    in_each_state("blind-half-steps-16", rounding_moves_them_by_a_tv_of_2_to_the_minus_9);
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

static void overlaps_go_up_and_down_with_the_place(void **state)
{
    (void)state;
    spec_fixture f;
    const char *const name[2] = {"fading-4", "rising-4"};
    for (int k = 0; k < 2; k++) {
        open_line(&f, name[k]);
        for (int s = 0; s < f.n_states; s++) {
            const rows r = rows_at(&f, s);
            if (r.level == 0) assert_true(k == 0 ? overlap(&r) > 0.9 : overlap(&r) < 0.6);
            if (r.level == 3) assert_true(k == 0 ? overlap(&r) < 0.75 : overlap(&r) > 0.75);
        }
        spec_fixture_close(&f);
    }
}

static void long_drafts_are_mostly_accepted(void **state)
{
    (void)state;
    assert_true(pow(mean_over_states("long-4", overlap), 8.0) > 0.4);
    assert_true(pow(mean_over_states("blind-long-3", overlap), 7.0) > 0.3);
    assert_true(pow(mean_over_states("text-5-3", overlap), 5.0) > 0.4);
}

/* Half of the mass stands at the ends of tiles, or of the row. */
static double at_ends_of_tiles(const rows *r)
{
    double mass = 0.0;
    for (int i = 0; i < r->V; i++) {
        bool end = i == 0 || i == r->V - 1;
        for (int tile = 32; tile < r->V; tile *= 4) end = end || i % tile == tile - 1 || i % tile == 0;
        if (end) mass += (double)r->target[i];
    }
    return mass;
}

static void mass_stands_at_the_ends_of_tiles(void **state)
{
    (void)state;
    assert_true(mean_over_states("tile-33", at_ends_of_tiles) > 0.5);
    assert_true(mean_over_states("tile-257", at_ends_of_tiles) > 0.5);
    assert_true(mean_over_states("vocab-1000", at_ends_of_tiles) > 0.4);
    assert_true(mean_over_states("vocab-32000", at_ends_of_tiles) > 0.4);
    assert_true(mean_over_states("vocab-151936", at_ends_of_tiles) > 0.3);
}

static void has_40_tokens_or_less(const rows *r)
{
    assert_in_range(positive(r->target, r->V), 2, 40);
    assert_in_range(positive(r->draft, r->V), 2, 40);
}

static void filters_leave_few(void **state)
{
    (void)state;
    in_each_state("filtered-50257", has_40_tokens_or_less);
}

/* ---- sampling parameters ----------------------------------------------------------------------------------------- */

static double moved(const rows *r)
{
    double tv = 0.0;
    for (int i = 0; i < r->V; i++) tv += 0.5 * fabs((double)r->target[i] - r->target_law[i]);
    return tv;
}

static double draft_moved(const rows *r)
{
    double tv = 0.0;
    for (int i = 0; i < r->V; i++) tv += 0.5 * fabs((double)r->draft[i] - r->draft_law[i]);
    return tv;
}

static void parameters_move_both_rows(void **state)
{
    (void)state;
    const char *const name[] = {"greedy-8", "cold-8", "hot-8", "top-k-16", "top-p-16", "min-p-16", "joint-16",
                                "everything-32", "served-300"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        assert_true(mean_over_states(name[i], moved) > 0.05);
        assert_true(mean_over_states(name[i], draft_moved) > 0.05);
    }
}

/* TV between filters judged on the same probabilities and filters that renormalise in turn. */
static double chained_differs(const spec_fixture *f, const rows *r)
{
    const spec_sampling *s = &f->sampling;
    const spec_transform chained = {.temperature = (double)s->temperature, .top_k = s->top_k,
                                    .top_p = (double)s->top_p, .min_p = (double)s->min_p, .chained = true};
    double row[512], tv = 0.0;
    int order[512];
    assert_in_range(r->V, 1, 512);
    for (int i = 0; i < r->V; i++) row[i] = (double)r->target[i];
    spec_transform_apply(row, r->V, &chained, order);
    for (int i = 0; i < r->V; i++) tv += 0.5 * fabs(row[i] - r->target_law[i]);
    return tv;
}

static void joint_filters_differ_from_chained_ones(void **state)
{
    (void)state;
    const char *const name[3] = {"joint-16", "everything-32", "served-300"};
    for (int k = 0; k < 3; k++) {
        spec_fixture f;
        double most = 0.0;
        open_line(&f, name[k]);
        for (int s = 0; s < f.n_states; s++) {
            const rows r = rows_at(&f, s);
            most = fmax(most, chained_differs(&f, &r));
        }
        printf("%s: %.3f\n", name[k], most);
        assert_true(most > 0.03);
        spec_fixture_close(&f);
    }
}

/* At temperature 0 drafts are right in some places and wrong in others. */
static void greedy_drafts_are_right_now_and_then(void **state)
{
    (void)state;
    const double right = mean_over_states("greedy-8", overlap);
    printf("right in %.2f of the places\n", right);
    assert_true(right > 0.2 && right < 0.8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_have_the_shapes_that_their_names_say),
        cmocka_unit_test(tails_are_light_and_matter),
        cmocka_unit_test(half_steps_are_where_bf16_is_worst),
        cmocka_unit_test(overlaps_go_up_and_down_with_the_place),
        cmocka_unit_test(long_drafts_are_mostly_accepted),
        cmocka_unit_test(mass_stands_at_the_ends_of_tiles),
        cmocka_unit_test(filters_leave_few),
        cmocka_unit_test(parameters_move_both_rows),
        cmocka_unit_test(joint_filters_differ_from_chained_ones),
        cmocka_unit_test(greedy_drafts_are_right_now_and_then),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
