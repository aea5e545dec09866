/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/gpu/kernels_sampling.h"

#include "models/gpu/sampling_rows.h"

enum { WARPS = SAMPLING_THREADS / WARP_LANES };

/* ---- the largest ----------------------------------------------------------------------------- */

DEVICE void clear_border(const sampling_space *space, int row, int filters)
{
    const sampling_border none = {0};
    if (filters != 0 && BLOCK_X == 0 && THREAD == 0) space->border[row] = none;
    if ((filters & (SAMPLING_TOP_K | SAMPLING_TOP_P)) == 0) return;
    for (int i = BLOCK_X * SAMPLING_THREADS + THREAD; i < SAMPLING_BINS;
         i += GRID_X * SAMPLING_THREADS) {
        space->count[row * SAMPLING_BINS + i] = 0;
        space->mass[row * SAMPLING_BINS + i] = 0;
    }
}

KERNEL(sampling_largest, 128)
{
    SHARED sampling_largest of_warp[WARPS];
    after_previous();
    const sampling_space *space = &a.space;
    const int row = BLOCK_Y, vocab = space->vocab;
    const float *logits = sampling_logits(space, row);
    sampling_law *keep = sampling_keep(space);
    float *copy = keep != 0 ? (float *)((char *)keep + SAMPLING_LAW_BYTES) : (float *)0;
    sampling_largest best = sampling_no_largest();
    clear_border(space, row, a.filters);
    for (int tile = BLOCK_X; tile * SAMPLING_TILE < vocab; tile += GRID_X) {
        float logit[SAMPLING_EACH];
        sampling_read(logit, logits, tile, vocab);
        UNROLL
        for (int i = 0; i < SAMPLING_EACH; i++) {
            const int token = sampling_token(tile, i);
            const bool finite = (bits_of_float(logit[i]) & 0x7f800000u) != 0x7f800000u;
            const sampling_largest own = {logit[i], finite ? token : -1};
            if (token >= vocab) continue;
            best = sampling_larger(best, own);
            if (copy != 0) copy[token] = logit[i];
        }
    }
    best = sampling_largest_of_lanes(best);
    if (LANE == 0) of_warp[WARP] = best;
    sync_block();
    if (THREAD != 0) return;
    for (int w = 1; w < WARPS; w++) best = sampling_larger(best, of_warp[w]);
    space->largest[row * SAMPLING_SPREAD + BLOCK_X] = best;
}

/* ---- exponentials ---------------------------------------------------------------------------- */

enum { MASS_BITS = 19, PIECES = SAMPLING_TILE / SAMPLING_PIECE, LANES = 16 };

/* Adds a token's exponential, in units of 2^-38, as separate high and low bits: 4096 of either fit
 * in 32 bits. */
DEVICE void count_token(uint32_t *count, uint32_t *high, uint32_t *low, int bin, double e,
                        bool masses)
{
    add_uint32(&count[bin], 1);
    if (!masses) return;
    const uint64_t mass = (uint64_t)(e * SAMPLING_BIN_ONE + 0.5);
    if (mass == 0) return;
    add_uint32(&high[bin], (uint32_t)(mass >> MASS_BITS));
    add_uint32(&low[bin], (uint32_t)(mass & ((1u << MASS_BITS) - 1)));
}

KERNEL(sampling_exps, 128)
{
    SHARED double e[SAMPLING_TILE];
    SHARED double eighth[8];
    SHARED uint32_t count[SAMPLING_BINS], high[SAMPLING_BINS], low[SAMPLING_BINS];
    after_previous();
    const sampling_space *space = &a.space;
    const int row = BLOCK_Y, vocab = space->vocab;
    const bool masses = (a.filters & SAMPLING_TOP_P) != 0,
               counts = masses || (a.filters & SAMPLING_TOP_K) != 0;
    const float *logits = sampling_logits(space, row);
    const sampling_law law = sampling_begin_law(space, row);
    if (law.bad) return;
    sampling_eighths(eighth);
    for (int i = THREAD; counts && i < SAMPLING_BINS; i += SAMPLING_THREADS)
        count[i] = high[i] = low[i] = 0;
    for (int tile = BLOCK_X; tile * SAMPLING_TILE < vocab; tile += GRID_X) {
        float logit[SAMPLING_EACH];
        sampling_read(logit, logits, tile, vocab);
        sync_block();
        UNROLL
        for (int i = 0; i < SAMPLING_EACH; i++) {
            const double own = sampling_exp(sampling_exponent(&law, logit[i]), eighth);
            e[i * SAMPLING_THREADS + THREAD] = own;
            if (counts && sampling_token(tile, i) < vocab)
                count_token(count, high, low, sampling_bin(&law, logit[i]), own, masses);
        }
        sync_block();
        if (WARP != 0) continue;
        const int piece = LANE / LANES, begin = tile * SAMPLING_TILE + piece * SAMPLING_PIECE;
        const int left = vocab - begin, n = left < SAMPLING_PIECE ? left : SAMPLING_PIECE;
        double sum = 0.0;
        for (int i = LANE % LANES; i < n; i += LANES) sum += e[piece * SAMPLING_PIECE + i];
        UNROLL
        for (int apart = LANES / 2; apart > 0; apart /= 2) sum += shuffle_xor_double(sum, apart);
        if (LANE % LANES == 0 && n > 0) sampling_row_exps(space, row)[tile * PIECES + piece] = sum;
    }
    sync_block();
    for (int i = THREAD; counts && i < SAMPLING_BINS; i += SAMPLING_THREADS) {
        if (count[i] == 0) continue;
        add_uint32(&space->count[row * SAMPLING_BINS + i], count[i]);
        const uint64_t mass = ((uint64_t)high[i] << MASS_BITS) + low[i];
        if (mass != 0) add_uint64(&space->mass[row * SAMPLING_BINS + i], mass);
    }
}

/* ---- decisions ------------------------------------------------------------------------------- */

/* A token that is certainly accepted or certainly rejected consumes no uniform. */
DEVICE void judge_chain(const sampling_space *space, const double *target, const double *draft,
                        bool bad)
{
    const sampling_job *job = space->job;
    sampling_verdict *verdict = space->verdict;
    int accepted = 0, used = 0;
    bool goes_on = true;
    while (goes_on && accepted < job->n) {
        const double have = target[accepted], of = draft[accepted];
        const bool certain = have >= of;
        space->answer->chance[accepted] = certain ? 1.0 : have / of;
        goes_on = certain || (have > 0.0 && job->uniform[used++] * of < have);
        accepted += goes_on ? 1 : 0;
    }
    verdict->n_accepted = accepted;
    verdict->corrects = !goes_on;
    verdict->used = used;
    verdict->bad = bad;
}

KERNEL(sampling_accept, 512)
{
    enum { ACCEPT_WARPS = SAMPLING_ACCEPT_THREADS / WARP_LANES };
    SHARED double eighth[8], target[SAMPLING_ROWS], draft[SAMPLING_ROWS];
    SHARED uint32_t bad;
    after_previous();
    const sampling_space *space = &a.space;
    const sampling_job *job = space->job;
    sampling_eighths(eighth);
    if (THREAD == 0) bad = 0;
    sync_block();
    for (int row = WARP; row <= job->n; row += ACCEPT_WARPS) {
        const sampling_law law = sampling_end_law(space, row, a.stages);
        sync_warp(); /* so that the warp has read the data before it is overwritten */
        if (LANE != 0) continue;
        space->row[row] = law;
        if (law.bad) add_uint32(&bad, 1);
        if (law.bad || row == job->n) continue;
        const int token = job->token[row];
        const float *kept = (const float *)((const char *)job->law[row] + SAMPLING_LAW_BYTES);
        target[row] = sampling_value(&law, sampling_logits(space, row)[token], token, eighth);
        draft[row] = sampling_value(job->law[row], kept[token], token, eighth);
    }
    sync_block();
    if (THREAD == 0) judge_chain(space, target, draft, bad != 0);
}

/* Returns the target's excess over the draft for a token, at the position of the rejected draft. */
DEVICE double excess_of(const sampling_law *target, const sampling_law *draft, float logit,
                        float kept, int token, const double *eighth)
{
    const double left =
        sampling_value(target, logit, token, eighth) - sampling_value(draft, kept, token, eighth);
    return left > 0.0 ? left : 0.0;
}

/* Writes the excesses of a piece into shared memory, with the whole block. A barrier must
 * follow. */
DEVICE void fill_excess(double *left, const sampling_space *space, int piece, const double *eighth)
{
    const int row = space->verdict->n_accepted, begin = piece * SAMPLING_PIECE,
              n = space->vocab - begin;
    const sampling_law target = space->row[row], draft = *space->job->law[row];
    const float *logits = sampling_logits(space, row) + begin;
    const float *kept =
        (const float *)((const char *)space->job->law[row] + SAMPLING_LAW_BYTES) + begin;
    for (int i = THREAD; i < SAMPLING_PIECE; i += SAMPLING_THREADS)
        left[i] = i < n ? excess_of(&target, &draft, logits[i], kept[i], begin + i, eighth) : 0.0;
}

KERNEL(sampling_excess, 128)
{
    SHARED double left[SAMPLING_PIECE], eighth[8];
    after_previous();
    const sampling_space *space = &a.space;
    if (space->verdict->bad || !space->verdict->corrects) return;
    sampling_eighths(eighth);
    sync_block();
    fill_excess(left, space, BLOCK_X, eighth);
    sync_block();
    if (WARP != 0) return;
    const int end = space->vocab - BLOCK_X * SAMPLING_PIECE,
              n = end < SAMPLING_PIECE ? end : SAMPLING_PIECE;
    const double sum = sampling_eight(left, LANE < 8 ? n : 0);
    if (LANE == 0) space->excess[BLOCK_X] = sum;
}

/* ---- the last draw --------------------------------------------------------------------------- */

/* Writes the probabilities of tokens begin..begin+n-1 into shared memory, with the whole block. A
 * barrier must follow. */
DEVICE void fill_values(double *value, const sampling_space *space, int row,
                        const sampling_law *law, int begin, int n, const double *eighth)
{
    const float *logits = sampling_logits(space, row) + begin;
    for (int i = THREAD; i < n; i += SAMPLING_THREADS)
        value[i] = sampling_value(law, logits[i], begin + i, eighth);
}

/* A row is summed piece by piece, either its exponentials or the probabilities that the filters
 * kept. Finds the tokens of one piece. */
DEVICE void tokens_of_piece(int *begin, int *n, const sampling_space *space, bool filtered,
                            int piece)
{
    const int blocks = space->vocab / SAMPLING_KEPT,
              size = filtered ? SAMPLING_KEPT : SAMPLING_PIECE;
    const bool single = filtered && piece >= blocks;
    *begin = single ? blocks * SAMPLING_KEPT + piece - blocks : piece * size;
    *n = single ? 1 : space->vocab - *begin < size ? space->vocab - *begin : size;
}

/* Draws a token from a row. The whole block takes part, and the first warp gets the result. */
DEVICE int pick_of_row(const sampling_space *space, int row, const sampling_law *law, int stages,
                       double uniform, double *value, double *block, const double *eighth)
{
    SHARED int piece;
    SHARED double before;
    const bool filtered = stages > 0;
    int begin = 0, n = space->vocab, token = 0;
    if (n <= SAMPLING_WHOLE) {
        fill_values(value, space, row, law, 0, n, eighth);
        sync_block();
        return WARP == 0 ? sampling_choose(block, value, n, uniform) : 0;
    }
    const double *sum = filtered ? sampling_row_kept(space, row) : sampling_row_exps(space, row);
    if (WARP == 0) {
        const int pieces = filtered ? sampling_kept_sums(space) : sampling_pieces(space);
        const sampling_blocks all = sampling_weigh(block, sum, pieces);
        double cumulated;
        const int at =
            sampling_seek(&cumulated, &all, block, sum, pieces, 0.0, uniform * all.total);
        if (LANE == 0) {
            piece = at;
            before = cumulated / all.total;
        }
    }
    sync_block();
    tokens_of_piece(&begin, &n, space, filtered, piece);
    fill_values(value, space, row, law, begin, n, eighth);
    sync_block();
    if (WARP == 0) {
        const sampling_blocks all = sampling_weigh(block, value, n);
        double cumulated;
        token = begin + sampling_seek(&cumulated, &all, block, value, n, before, uniform);
    }
    return token;
}

/* Draws from the residual: first a piece, then one of its tokens. Returns -1 if rounding left
 * nothing. */
DEVICE int pick_of_excess(const sampling_space *space, const double *uniform, double *value,
                          double *block, const double *eighth)
{
    SHARED int piece;
    const int pieces = sampling_pieces(space);
    if (WARP == 0) {
        double sum = 0.0;
        for (int i = LANE; i < pieces; i += WARP_LANES) sum += space->excess[i];
        const bool some = vote_any(sum > 0.0);
        const int at =
            some && pieces > 1 ? sampling_choose(block, space->excess, pieces, uniform[0]) : 0;
        if (LANE == 0) piece = some ? at : -1;
    }
    sync_block();
    if (piece < 0) return -1;
    fill_excess(value, space, piece, eighth);
    sync_block();
    const int begin = piece * SAMPLING_PIECE, left = space->vocab - begin;
    const int n = left < SAMPLING_PIECE ? left : SAMPLING_PIECE;
    return WARP == 0 ? begin + sampling_choose(block, value, n, uniform[pieces > 1 ? 1 : 0]) : 0;
}

/* Ends the draw of a draft's token. The next column follows the last one of this pass in the text
 * and in the cache. If nothing could be drawn, token is -1, and the next pass is wasted on token
 * 0. */
DEVICE void end_draw(const sampling_space *space, int token)
{
    pass_batch *next = space->opt_next;
    const int n = space->job->n++;
    space->answer->token[n] = token;
    if (n + 1 == space->job->draws) return;
    const int place = next->slot[next->n - 1] + 1;
    next->n = 1;
    next->first = 0;
    next->token[0] = token < 0 ? 0 : token;
    next->position[0] = next->slot[0] = next->past[0] = next->path[0] = place;
    next->path_begin[0] = 0;
    next->path_begin[1] = 1;
}

/* Only one block is launched, so it may have all the registers that it needs. */
KERNEL_RESIDENT(sampling_pick, 128, 1)
{
    SHARED double value[SAMPLING_WHOLE], block[SAMPLING_BLOCKS], eighth[8];
    SHARED sampling_law law;
    after_previous();
    const sampling_space *space = &a.space;
    const sampling_verdict *verdict = space->verdict;
    const int row = a.chain ? verdict->n_accepted : 0;
    const double *uniform = space->job->uniform + (a.chain ? verdict->used : space->job->n);
    sampling_eighths(eighth);
    if (WARP == 0) {
        const sampling_law own = a.chain ? space->row[row] : sampling_end_law(space, row, a.stages);
        if (LANE == 0) {
            law = own;
            if (!a.chain) *sampling_keep(space) = own;
        }
    }
    sync_block();
    const bool bad = a.chain ? verdict->bad != 0 : law.bad != 0;
    int token = -1, more = 1;
    if (!bad && a.chain && verdict->corrects) {
        token = pick_of_excess(space, uniform, value, block, eighth);
        if (token >= 0) more = sampling_pieces(space) > 1 ? 2 : 1;
    }
    if (!bad && token < 0 && law.hot >= 0) token = law.hot;
    if (!bad && token < 0)
        token = pick_of_row(space, row, &law, a.stages, uniform[0], value, block, eighth);
    if (THREAD != 0) return;
    if (!a.chain) {
        end_draw(space, token);
        return;
    }
    space->answer->token[0] = token;
    space->answer->n_accepted = verdict->n_accepted;
    space->answer->used = verdict->used + more;
    space->answer->bad = verdict->bad;
}
