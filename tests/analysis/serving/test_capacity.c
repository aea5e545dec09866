/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/serving/capacity.h"

#include "analysis/serving/request_life.h"
#include "analysis/serving/rounds_law.h"
#include "analysis/serving/saturation.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

/* SpecDecode-Bench's fit of an H100 with Llama-3.1-8B, prompts of 512 tokens and outputs of 256.
 * That table counts the newest token as cached: a context of one token more. */
TEST(known_capacities)
{
    static const struct {
        double alpha;
        int K;
        const char *capacity;
    } rows[] = {{0.6, 0, "44.40"}, {0.6, 1, "46.57"}, {0.6, 3, "42.38"}, {0.6, 5, "37.03"},
                {0.8, 0, "44.40"}, {0.8, 1, "49.30"}, {0.8, 3, "49.43"}, {0.8, 5, "46.99"}};
    const spec_affine_step cost = {.step = 7.093e-3, .token = 2.10103129e-5, .kv = 3.92645679e-8};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        OWNED(spec_rounds_law) rounds;
        assert_int_equal(spec_rounds_law_init(&rounds, 255), GSL_SUCCESS);
        assert_int_equal(
            spec_rounds_law_add_alpha(&rounds, 1.0, rows[i].alpha, rows[i].K, 0.0, NULL, 255),
            GSL_SUCCESS);
        spec_request_costs costs = spec_request_costs_shared(&cost, rows[i].K);
        costs.round += costs.context;
        OWNED(spec_request_life) life;
        assert_int_equal(spec_request_life_init(&life, 256, true), GSL_SUCCESS);
        assert_int_equal(spec_request_life_add(&life, 1.0, &costs, &rounds, 512.0, 512.0 * 512.0),
                         GSL_SUCCESS);
        const double extra = spec_request_life_total(&life);
        assert_prints(spec_capacity_rate(extra), 2, rows[i].capacity);
        assert_near(spec_capacity_load(20.0, extra), 20.0 / spec_capacity_rate(extra), 1e-15);
        /* Adds up the sum term by term. */
        const double n = spec_rounds_law_mean(&rounds);
        assert_near(extra,
                    cost.token * (512.0 + (rows[i].K + 1) * n) +
                        cost.kv * (513.0 * n + spec_rounds_law_contexts(&rounds)),
                    1e-14);
    }
}

/* Second route: a step takes its own time and what its requests add in it. */
TEST(means_balance)
{
    const double base = 0.007, rate = 40.0, steps = 27.0, added = 4.1e-4;
    const double extra = steps * added, load = spec_capacity_load(rate, extra);
    for (int i = 0; i < 3; i++) {
        const double idle = 0.27 * i;
        const double step = spec_capacity_step(base, load, extra, idle),
                     batch = spec_capacity_batch(rate, steps, step, idle);
        assert_near(step, base + added * batch, 1e-14);
    }
    assert_near(spec_capacity_step(base, load, extra, 0.0), base / (1.0 - load), 1e-15);
    /* One request per step, and idle after each: the rate tends to 0. */
    assert_near(spec_capacity_step(base, 0.0, 0.1, 1.0), base + 0.1, 1e-15);
}

/* Second route: a closed loop without prefills has the slots as its only limit, and attains it. */
TEST(full_slots_attain_the_limit)
{
    const double base = 0.0091, extra = 0.0123, rounds = 27.3;
    for (double slots = 1.0; slots < 300.0; slots *= 3.0)
        assert_near(spec_capacity_limited(extra, base, 0.0, rounds, rounds, slots),
                    spec_saturation_rate(slots, rounds,
                                         spec_saturation_step(base, base, slots, extra, rounds)),
                    1e-14);
    assert_near(spec_capacity_limited(extra, base, 0.0, rounds, rounds, INFINITY),
                spec_capacity_rate(extra), 1e-15);
    /* steps without a decoding request do not draft */
    assert_near(spec_capacity_limited(0.5, 2.0, 1.0, 60.0, 40.0, 20.0), 1.0 / 8.5, 1e-15);
}

enum { TOKENS = 256, K_MOST = 30 };
typedef struct {
    int prompt, tokens, K;
    double alpha, memory, step, draft, token, kv;
} request;

/* Computes v_e, the mean of w + (step g + draft g_r) / memory over the rounds that remain after
 * e tokens, by recursion, and returns how much the condition for recomputation leaves, s. */
static double room_for_recomputation(double v[TOKENS + K_MOST + 2], const request *of)
{
    double room = INFINITY;
    for (int e = of->tokens + of->K + 1; e >= 1; e--) {
        const double context = of->prompt + e - 1, held = context + of->K + 1;
        v[e] = 0.0;
        if (e >= of->tokens) continue;
        v[e] =
            of->token * (of->K + 1) + of->kv * context + (of->step + of->draft) * held / of->memory;
        for (int a = 0; a <= of->K; a++)
            v[e] += pow(of->alpha, a) * (a < of->K ? 1.0 - of->alpha : 1.0) * v[e + a + 1];
        room = fmin(room, (of->token + of->step / of->memory) * (of->prompt + e) - v[e] + v[e + 1]);
    }
    return room;
}

/* The points of serve_memory; second route to what requests hold. */
TEST(long_prompts_leave_nothing_to_recomputation)
{
    static const int blocks[] = {400, 1000, 2500, 6300, 16000, 40000}, lengths[] = {0, 1, 3, 5};
    double v[TOKENS + K_MOST + 2];
    for (int i = 0; i < 48; i++) {
        const int K = lengths[i % 4];
        const request of = {512,
                            TOKENS,
                            K,
                            i / 4 % 2 == 0 ? 0.6 : 0.8,
                            16.0 * blocks[i / 8],
                            7.093e-3,
                            K > 0 ? 2.135e-3 : 0.0,
                            21.01e-6,
                            39.26e-9};
        spec_rounds_law law = {0};
        assert_int_equal(spec_rounds_law_init(&law, TOKENS), GSL_SUCCESS);
        assert_int_equal(spec_rounds_law_add_alpha(&law, 1.0, of.alpha, K, 0.0, NULL, TOKENS - 1),
                         GSL_SUCCESS);
        const double rounds = spec_rounds_law_mean(&law),
                     contexts = of.prompt * rounds + spec_rounds_law_contexts(&law),
                     held = contexts + (K + 1.0) * rounds,
                     extra = of.token * (of.prompt + (K + 1.0) * rounds) + of.kv * contexts;
        spec_rounds_law_free(&law);
        assert_true(room_for_recomputation(v, &of) > 0.0);
        assert_near(v[1] + (of.token + of.step / of.memory) * of.prompt,
                    1.0 / spec_capacity_limited(extra, of.step, of.draft, of.prompt + held, held,
                                                of.memory),
                    1e-12);
    }
    /* without drafts kv <= token is the condition; long drafts break it */
    const request plain = {1, 20, 0, 0.0, 50.0, 7e-3, 0.0, 2e-6, 2e-6},
                  kv = {1, 20, 0, 0.0, 50.0, 7e-3, 0.0, 2e-6, 2.1e-6},
                  drafts = {25, 2, 30, 1.0, 592.0, 7.1e-3, 2.1e-3, 21e-6, 39e-9};
    assert_within(room_for_recomputation(v, &plain), 0.0, 1e-17);
    assert_true(room_for_recomputation(v, &kv) < -1e-8);
    assert_true(room_for_recomputation(v, &drafts) < 0.0);
}

/* A request of `steps` steps holds first + j growth units in its step j, and adds `added` to it. */
typedef struct {
    int steps, first, growth;
    double added;
} life;
static const life lives[] = {
    {9, 40, 4, 2e-4}, {30, 10, 3, 5e-5}, {3, 100, 1, 1e-3}, {14, 5, 9, 1e-4}};
enum { LIVES = sizeof lives / sizeof *lives, LONGEST = 30, MOST = 2000, RUNNING = 400 };
static const double STEP = 1e-3;

static int held(const life *of, int j)
{
    return of->first + j * of->growth;
}

static int peak(const life *of)
{
    return held(of, of->steps - 1);
}

/* An engine that never preempts. If it reserves, a request holds its peak all the time; otherwise
 * it enters if no future step would hold more than MOST. Requests are in order of arrival and
 * arrive at even times; rate inf: there is always one. Returns the requests that wait at the end,
 * or with rate inf the completed ones per second. */
static double serve(double rate, bool reserves, int n_steps)
{
    static int kind[RUNNING], done[RUNNING];
    int n = 0, future[LONGEST] = {0};
    double time = 0.0, entered = 0.0, completed = 0.0;
    unsigned next = 1;
    for (int s = 0; s < n_steps; s++) {
        for (;; entered++) {
            const int k = (int)(next >> 16) % LIVES;
            const life *of = &lives[k];
            bool fits = n < RUNNING && (isinf(rate) || entered < rate * time);
            for (int j = 0; j < of->steps && fits; j++)
                fits = future[j] + (reserves ? peak(of) : held(of, j)) <= MOST;
            if (!fits) break;
            for (int j = 0; j < of->steps; j++) future[j] += reserves ? peak(of) : held(of, j);
            kind[n] = k;
            done[n++] = 0;
            next = next * 1664525u + 1013904223u;
        }
        int now = 0, kept = 0;
        time += STEP;
        for (int i = 0; i < n; i++) {
            const life *of = &lives[kind[i]];
            now += held(of, done[i]);
            time += of->added;
            if (++done[i] == of->steps) {
                completed++;
                continue;
            }
            kind[kept] = kind[i];
            done[kept++] = done[i];
        }
        assert_true(now <= MOST && (reserves || now == future[0]));
        n = kept;
        memmove(future, future + 1, sizeof future - sizeof *future);
        future[LONGEST - 1] = 0;
    }
    return isinf(rate) ? completed / time : rate * time - entered;
}

/* Second route to both halves of the theorem: engines that are always full are between the bounds,
 * and a queue grows above the one and not below the other. All kinds are equally frequent. */
TEST(engines_are_between_the_limits)
{
    double extra = 0.0, units = 0.0, reserved = 0.0;
    int largest = 0;
    for (int k = 0; k < LIVES; k++) {
        extra += lives[k].steps * lives[k].added / LIVES;
        reserved += (double)lives[k].steps * peak(&lives[k]) / LIVES;
        for (int j = 0; j < lives[k].steps; j++) units += (double)held(&lives[k], j) / LIVES;
        if (peak(&lives[k]) > largest) largest = peak(&lives[k]);
    }
    const double most = spec_capacity_limited(extra, STEP, 0.0, units, units, MOST),
                 least =
                     spec_capacity_limited(extra, STEP, 0.0, reserved, reserved, MOST - largest),
                 reserving = serve(INFINITY, true, 400000),
                 packing = serve(INFINITY, false, 400000);
    assert_true(least < reserving && reserving < packing && packing < most);
    assert_true(packing > 0.97 * most);
    assert_true(reserving < spec_capacity_limited(extra, STEP, 0.0, reserved, reserved, MOST));
    const int n = 100000;
    assert_true(serve(0.97 * least, true, n) < 30.0);
    for (int reserves = 0; reserves < 2; reserves++)
        assert_true(serve(1.05 * most, reserves, n) > 0.05 * most * n * STEP - RUNNING);
}

TEST(edges_and_outside)
{
    assert_same(spec_capacity_limited(0.0, 0.0, 0.0, 1.0, 1.0, 1.0), INFINITY);
    assert_nan(spec_capacity_limited(-1.0, 1.0, 1.0, 1.0, 1.0, 1.0));
    assert_nan(spec_capacity_limited(1.0, -1.0, 1.0, 1.0, 1.0, 1.0));
    assert_nan(spec_capacity_limited(1.0, 1.0, -1.0, 1.0, 1.0, 1.0));
    assert_nan(spec_capacity_limited(1.0, 1.0, 1.0, 1.0, 2.0, 1.0));
    assert_nan(spec_capacity_limited(1.0, 1.0, 1.0, 1.0, -1.0, 1.0));
    assert_nan(spec_capacity_limited(1.0, 1.0, 1.0, 1.0, 1.0, 0.0));
    assert_nan(spec_capacity_limited(1.0, 1.0, 1.0, NAN, 1.0, 1.0));
    assert_same(spec_capacity_rate(0.0), INFINITY);
    assert_same(spec_capacity_step(0.1, 1.0, 0.1, 0.0), INFINITY);
    assert_nan(spec_capacity_rate(-1.0));
    assert_nan(spec_capacity_load(-1.0, 1.0));
    assert_nan(spec_capacity_load(1.0, NAN));
    assert_nan(spec_capacity_step(0.0, 0.5, 0.1, 0.0));
    assert_nan(spec_capacity_step(0.1, -0.5, 0.1, 0.0));
    assert_nan(spec_capacity_step(0.1, 0.5, 0.1, 1.1));
    assert_nan(spec_capacity_batch(1.0, 5.0, 0.0, 0.0));
    assert_nan(spec_capacity_batch(-1.0, 5.0, 0.1, 0.0));
    assert_nan(spec_capacity_batch(1.0, 5.0, 0.1, -0.1));
}
