/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/gpu/kernels_filters.h"

#include "models/gpu/sampling_rows.h"

/* ---- filters --------------------------------------------------------------------------------- */

enum { BINS_OF_LANE = SAMPLING_BINS / WARP_LANES };

/* Returns the sum over the preceding lanes. */
DEVICE uint64_t sum_before(uint64_t own)
{
    uint64_t sum = own;
    UNROLL
    for (int apart = 1; apart < WARP_LANES; apart *= 2) {
        const uint64_t other = sampling_shuffle(sum, (LANE - apart) & (WARP_LANES - 1));
        sum += LANE >= apart ? other : 0;
    }
    return sum - own;
}

/* The cut is in the first bin at which the cumulative count or mass is large enough. The mass is
 * rounded; if the bin is wrong because of that, the kernel `cut` notices it. */
DEVICE void find_border(const sampling_space *space, int row, int filters, double wanted)
{
    const uint32_t *count = space->count + row * SAMPLING_BINS + LANE * BINS_OF_LANE;
    const uint64_t *mass = space->mass + row * SAMPLING_BINS + LANE * BINS_OF_LANE;
    const uint64_t top_k =
        (filters & SAMPLING_TOP_K) != 0 ? (uint64_t)space->job->top_k : ~(uint64_t)0;
    const double top_p = (filters & SAMPLING_TOP_P) != 0 ? wanted : 1e300;
    uint64_t tokens = 0, masses = 0;
    for (int i = 0; i < BINS_OF_LANE; i++) {
        tokens += count[i];
        masses += mass[i];
    }
    tokens = sum_before(tokens);
    masses = sum_before(masses);
    int bin = SAMPLING_BINS - 1;
    uint32_t above = 0, inside = 0;
    for (int i = 0; i < BINS_OF_LANE; i++) {
        const int at = LANE * BINS_OF_LANE + i;
        masses += mass[i];
        const bool enough = tokens + count[i] >= top_k || (double)masses >= top_p;
        if (at <= bin && (enough || at == SAMPLING_BINS - 1)) {
            bin = at;
            above = (uint32_t)tokens;
            inside = count[i];
        }
        if (at < bin) tokens += count[i];
    }
    int first = bin;
    UNROLL
    for (int apart = 16; apart > 0; apart /= 2) {
        const int other = shuffle_xor_int(first, apart);
        first = other < first ? other : first;
    }
    if (first / BINS_OF_LANE != LANE) return;
    space->border[row].bin = first;
    space->border[row].above = above;
    space->border[row].inside = inside;
}

KERNEL(filters_border, 32)
{
    SHARED double eighth[8];
    after_previous();
    const sampling_space *space = &a.space;
    const int row = BLOCK_X;
    sampling_law law = a.stage == 0 ? sampling_whole_law(space, row) : space->row[row];
    sampling_eighths(eighth);
    sync_warp();
    if (law.bad) {
        if (LANE == 0) space->row[row] = law;
        return;
    }
    if (a.stage > 0) {
        const double rest = sampling_rest(space, row, a.stage - 1);
        if (a.stage == 1) law.rest[0] = rest;
        else law.rest[1] = rest;
    }
    if ((a.filters & SAMPLING_MIN_P) != 0) {
        law.least = 0.0;
        law.least = space->job->min_p * sampling_value(&law, law.largest, 0, eighth);
    }
    if (LANE == 0) {
        space->row[row] = law;
        space->border[row].cut[a.stage] = law.cut;
        space->border[row].last[a.stage] = law.last;
    }
    if ((a.filters & (SAMPLING_TOP_K | SAMPLING_TOP_P)) != 0)
        find_border(space, row, a.filters,
                    space->job->top_p * law.rest[0] / law.scale * SAMPLING_BIN_ONE);
}

/* Returns a stage's law before its filters. */
DEVICE sampling_law law_before(const sampling_space *space, int row)
{
    sampling_law law = space->row[row];
    law.least = 0.0;
    return law;
}

KERNEL(filters_candidates, 128)
{
    SHARED double eighth[8];
    after_previous();
    const sampling_space *space = &a.space;
    const int row = BLOCK_Y, vocab = space->vocab;
    const float *logits = sampling_logits(space, row);
    const sampling_law law = law_before(space, row);
    sampling_border *border = &space->border[row];
    const int bin = border->bin;
    if (law.bad || border->inside > SAMPLING_CANDIDATES) return;
    sampling_eighths(eighth);
    sync_block();
    sampling_mass mass = {0, 0};
    uint64_t *list = space->candidate + row * SAMPLING_CANDIDATES;
    for (int tile = BLOCK_X; tile * SAMPLING_TILE < vocab; tile += GRID_X) {
        float logit[SAMPLING_EACH];
        sampling_read(logit, logits, tile, vocab);
        UNROLL
        for (int i = 0; i < SAMPLING_EACH; i++) {
            const int token = sampling_token(tile, i);
            const int own = token < vocab ? sampling_bin(&law, logit[i]) : SAMPLING_BINS;
            if ((a.filters & SAMPLING_TOP_P) != 0 && own < bin)
                mass = sampling_mass_sum(
                    mass, sampling_mass_of(sampling_value(&law, logit[i], token, eighth)));
            if (own == bin)
                list[take_uint32(&border->candidates[a.stage], 1)] = sampling_key(logit[i], token);
        }
    }
    mass.whole = sampling_warp_sum(mass.whole);
    mass.part = sampling_warp_sum(mass.part);
    if (LANE != 0) return;
    if (mass.whole != 0) add_uint64(&border->mass[a.stage].whole, mass.whole);
    if (mass.part != 0) add_uint64(&border->mass[a.stage].part, mass.part);
}

/* -- the cut: the last token that a stage's filters keep -- */

enum { CUT_THREADS = SAMPLING_CUT_THREADS };

/* The last kept token in the order of probability. */
typedef struct {
    uint32_t order; /* of its logit */
    int32_t last;   /* of the tokens with that logit, those with ids up to this one stay */
    bool found;
} sampling_place;

DEVICE sampling_place no_place(void)
{
    const sampling_place none = {0, SAMPLING_ALL_IDS, false};
    return none;
}

/* Returns the earlier of two in the order of probability. */
DEVICE sampling_place nearer(sampling_place one, sampling_place other)
{
    if (!one.found) return other;
    if (!other.found || one.order > other.order) return one;
    if (one.order < other.order) return other;
    return one.last < other.last ? one : other;
}

/* Replaces part[t] by the sum of part[0..t], for t below n; the rest become zeros. The whole block
 * takes part. */
DEVICE void cumulate(uint64_t *part, int n)
{
    for (int apart = 1; apart < n && apart < CUT_THREADS; apart *= 2) {
        sync_block();
        const uint64_t before = THREAD >= apart ? part[THREAD - apart] : 0;
        sync_block();
        part[THREAD] += before;
    }
    sync_block();
}

/* Bitonic sort, largest first; `n` is a power of two. */
DEVICE void sort_keys(uint64_t *key, int n)
{
    for (int run = 2; run <= n; run *= 2) {
        for (int apart = run / 2; apart > 0; apart /= 2) {
            for (int i = THREAD; i < n; i += CUT_THREADS) {
                const int other = i ^ apart;
                if (other < i) continue; /* the other index's lane swaps */
                const uint64_t one = key[i], two = key[other];
                if ((i & run) == 0 ? one < two : one > two) {
                    key[i] = two;
                    key[other] = one;
                }
            }
            sync_block();
        }
    }
}

/* Totals over all tokens before the candidates. */
typedef struct {
    uint32_t tokens;
    sampling_mass mass;
} sampling_before;

DEVICE sampling_mass mass_of_key(const sampling_law *law, uint64_t key, const double *eighth)
{
    return sampling_mass_of(
        sampling_value(law, sampling_key_logit(key), sampling_key_id(key), eighth));
}

/* Finds the first of n sorted candidates at which the mass reaches top_p. The whole block searches,
 * and the thread that finds it writes it. */
DEVICE void seek_mass(sampling_place *place, const uint64_t *key, int n, sampling_before before,
                      double top_p, const sampling_law *law, const double *eighth)
{
    SHARED uint64_t whole[CUT_THREADS], part[CUT_THREADS];
    const int each = (n + CUT_THREADS - 1) / CUT_THREADS, begin = THREAD * each;
    const int end = begin + each < n ? begin + each : n;
    sampling_mass own = {0, 0};
    for (int i = begin; i < end; i++)
        own = sampling_mass_sum(own, mass_of_key(law, key[i], eighth));
    whole[THREAD] = own.whole;
    part[THREAD] = own.part;
    cumulate(whole, n);
    cumulate(part, n);
    sampling_mass mass = before.mass;
    mass.whole += whole[THREAD] - own.whole;
    mass.part += part[THREAD] - own.part;
    if (before.tokens + (uint32_t)begin > 0 && sampling_reaches(mass, top_p)) return;
    for (int i = begin; i < end; i++) {
        mass = sampling_mass_sum(mass, mass_of_key(law, key[i], eighth));
        if (!sampling_reaches(mass, top_p)) continue;
        place->order = (uint32_t)(key[i] >> 32);
        place->last = sampling_key_id(key[i]);
        place->found = true;
        return;
    }
}

/* Finds the cut among the candidates; if it is not among them or there were too many, finds none.
 * The whole block takes part. */
DEVICE sampling_place cut_of_candidates(const sampling_space *space, int row, int stage,
                                        int filters, const sampling_law *law, const double *eighth)
{
    SHARED uint64_t key[SAMPLING_CANDIDATES];
    SHARED sampling_place by_mass;
    const sampling_border *border = &space->border[row];
    const sampling_before before = {border->above, border->mass[stage]};
    const int n = (int)border->inside;
    const bool misled = (filters & SAMPLING_TOP_P) != 0 && before.tokens > 0 &&
                        sampling_reaches(before.mass, space->job->top_p);
    if (misled || n > SAMPLING_CANDIDATES || n != (int)border->candidates[stage]) return no_place();
    int room = 1;
    while (room < n) room *= 2;
    const uint64_t *list = space->candidate + row * SAMPLING_CANDIDATES;
    for (int i = THREAD; i < room; i += CUT_THREADS) key[i] = i < n ? list[i] : 0;
    if (THREAD == 0) by_mass = no_place();
    sync_block();
    sort_keys(key, room);
    sampling_place place = no_place();
    const int64_t kth = (int64_t)space->job->top_k - 1 - (int64_t)before.tokens;
    if ((filters & SAMPLING_TOP_K) != 0 && kth >= 0 && kth < n) {
        place.order = (uint32_t)(key[kth] >> 32);
        place.found = true;
    }
    if ((filters & SAMPLING_TOP_P) == 0) return place;
    seek_mass(&by_mass, key, n, before, space->job->top_p, law, eighth);
    sync_block();
    return nearer(place, by_mass);
}

/* Returns the id of the `wanted`-th token whose logit has this order. The whole block takes
 * part. */
DEVICE int id_of_tie(const float *logits, int vocab, uint32_t order, uint32_t wanted)
{
    SHARED uint64_t part[CUT_THREADS];
    SHARED int id;
    const int each = (vocab + CUT_THREADS - 1) / CUT_THREADS, begin = THREAD * each;
    const int end = begin + each < vocab ? begin + each : vocab;
    uint64_t own = 0;
    for (int i = begin; i < end; i++) own += sampling_order(logits[i]) == order;
    part[THREAD] = own;
    cumulate(part, CUT_THREADS);
    uint64_t seen = part[THREAD] - own;
    if (seen < wanted && part[THREAD] >= wanted) {
        int i = begin - 1;
        while (seen < wanted) seen += sampling_order(logits[++i]) == order;
        id = i;
    }
    sync_block();
    return id;
}

/* For rows with many ties: finds the cut from the row itself, in passes that each settle 8 more
 * bits of the logits' order. The whole block takes part. */
DEVICE sampling_place cut_of_row(const sampling_space *space, int row, int filters,
                                 const sampling_law *law, const double *eighth)
{
    enum { DIGITS = 256 };
    SHARED uint32_t count[DIGITS];
    SHARED sampling_mass mass[DIGITS];
    const float *logits = sampling_logits(space, row);
    const bool by_count = (filters & SAMPLING_TOP_K) != 0,
               by_mass = (filters & SAMPLING_TOP_P) != 0;
    const uint32_t top_k = (uint32_t)space->job->top_k;
    const double top_p = space->job->top_p;
    const sampling_mass no_mass = {0, 0};
    sampling_before before = {0, no_mass};
    uint32_t order = 0;
    int digit = 0;
    for (int shift = 24; shift >= 0; shift -= 8) {
        sync_block();
        for (int d = THREAD; d < DIGITS; d += CUT_THREADS) {
            count[d] = 0;
            mass[d] = no_mass;
        }
        sync_block();
        for (int i = THREAD; i < space->vocab; i += CUT_THREADS) {
            const uint32_t own = sampling_order(logits[i]);
            if (shift < 24 && own >> (shift + 8) != order) continue;
            const uint32_t at = own >> shift & (DIGITS - 1);
            add_uint32(&count[at], 1);
            if (!by_mass) continue;
            const sampling_mass one = sampling_mass_of(sampling_value(law, logits[i], i, eighth));
            if (one.whole != 0) add_uint64(&mass[at].whole, one.whole);
            if (one.part != 0) add_uint64(&mass[at].part, one.part);
        }
        sync_block();
        for (digit = DIGITS - 1; digit >= 0; digit--) {
            const sampling_mass all = sampling_mass_sum(before.mass, mass[digit]);
            const bool enough = (by_count && before.tokens + count[digit] >= top_k) ||
                                (by_mass && sampling_reaches(all, top_p));
            if (enough && count[digit] > 0) break;
            before.tokens += count[digit];
            before.mass = all;
        }
        if (digit < 0) return no_place(); /* the total mass is smaller */
        order = order << 8 | (uint32_t)digit;
    }
    sampling_place place = {order, SAMPLING_ALL_IDS, true};
    if (!by_mass || !sampling_reaches(sampling_mass_sum(before.mass, mass[digit]), top_p))
        return place;
    const sampling_mass each =
        sampling_mass_of(sampling_value(law, sampling_logit(order), 0, eighth));
    uint32_t enough = count[digit], fewer = 0;
    while (enough - fewer > 1) {
        const uint32_t middle = fewer + (enough - fewer) / 2;
        const sampling_mass some = {before.mass.whole + middle * each.whole,
                                    before.mass.part + middle * each.part};
        if (sampling_reaches(some, top_p)) enough = middle;
        else fewer = middle;
    }
    place.last = id_of_tie(logits, space->vocab, order, enough);
    return place;
}

KERNEL_RESIDENT(filters_cut, 256, 4) /* without a bound nvcc allows for five blocks and spills
                                      * registers */
{
    SHARED double eighth[8];
    after_previous();
    const sampling_space *space = &a.space;
    const int row = BLOCK_X;
    const sampling_law law = law_before(space, row);
    if (law.bad) return;
    sampling_eighths(eighth);
    sync_block();
    sampling_place place = cut_of_candidates(space, row, a.stage, a.filters, &law, eighth);
    if (!place.found) place = cut_of_row(space, row, a.filters, &law, eighth);
    if (!place.found || THREAD != 0) return;
    space->row[row].cut = sampling_logit(place.order);
    space->row[row].last = place.last;
}

/* Distance between blocks of 128, chosen so that their lanes read from different banks. */
enum { APART = SAMPLING_KEPT + 8 };

KERNEL(filters_kept, 128)
{
    SHARED double kept[SAMPLING_TILE / SAMPLING_KEPT * APART];
    SHARED double eighth[8];
    after_previous();
    const sampling_space *space = &a.space;
    const int row = BLOCK_Y, vocab = space->vocab, blocks = vocab / SAMPLING_KEPT;
    const float *logits = sampling_logits(space, row);
    const sampling_law law = space->row[row];
    double *sum = sampling_row_kept(space, row);
    bool removed = false;
    sampling_law before = law;
    before.cut = space->border[row].cut[a.stage];
    before.last = space->border[row].last[a.stage];
    if (law.bad) return;
    sampling_eighths(eighth);
    for (int tile = BLOCK_X; tile * SAMPLING_TILE < vocab; tile += GRID_X) {
        float logit[SAMPLING_EACH];
        sampling_read(logit, logits, tile, vocab);
        sync_block();
        UNROLL
        for (int i = 0; i < SAMPLING_EACH; i++) {
            const int token = sampling_token(tile, i), at = i * SAMPLING_THREADS + THREAD;
            if (token >= vocab) continue;
            const double p = sampling_value(&law, logit[i], token, eighth);
            removed = removed || (p == 0.0 && sampling_stays(&before, logit[i], token) &&
                                  sampling_exponent(&law, logit[i]) >= SPEC_EXP_DOUBLE_LEAST);
            kept[at / SAMPLING_KEPT * APART + at % SAMPLING_KEPT] = p;
            if (token >= blocks * SAMPLING_KEPT) sum[blocks + token - blocks * SAMPLING_KEPT] = p;
        }
        sync_block();
        if (THREAD >= SAMPLING_TILE / SAMPLING_KEPT * 8) continue;
        const int block = tile * (SAMPLING_TILE / SAMPLING_KEPT) + THREAD / 8;
        const double own =
            sampling_eight(kept + THREAD / 8 * APART, block < blocks ? SAMPLING_KEPT : 0);
        if (THREAD % 8 == 0 && block < blocks) sum[block] = own;
    }
    if (vote_any(removed) && LANE == 0) raise_uint32(&space->border[row].removed[a.stage], 1);
}
