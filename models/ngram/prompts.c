/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/ngram/prompts.h"

#include "base/noise.h"

#include <string.h>

/* Returns the first word of SplitMix64, so that neither the text nor the draws follow a regular
 * pattern. */
static uint64_t hash(uint64_t word)
{
    return spec_noise_mix(word + 0x9E3779B97F4A7C15u);
}

/* Prompt n begins at a hashed position in stretch n, early enough to end within the stretch, and
 * after the tokens already read. */
static void place(spec_prompts *prompts)
{
    const uint64_t number = (uint64_t)prompts->n, stretch = prompts->stretch;
    prompts->begin = number * stretch + hash(number) % (stretch - SPEC_PROMPT_TOKENS + 1);
    if (prompts->begin < prompts->tokens) prompts->begin = prompts->tokens;
}

void spec_prompts_init(spec_prompts *prompts)
{
    *prompts = (spec_prompts){.stretch = SPEC_PROMPT_TOKENS, .open = -1};
    place(prompts);
}

static void thin_out(spec_prompts *prompts)
{
    for (int i = 0; 2 * i < prompts->n; i++) {
        prompts->length[i] = prompts->length[2 * i];
        memmove(prompts->token[i], prompts->token[2 * i], sizeof prompts->token[i]);
    }
    prompts->n = (prompts->n + 1) / 2;
    prompts->stretch *= 2;
    place(prompts);
}

void spec_prompts_push(spec_prompts *prompts, const int *token, size_t n)
{
    while (n > 0) {
        if (prompts->open < 0 && prompts->begin - prompts->tokens >= n) {
            prompts->tokens += n;
            return;
        }
        if (prompts->open < 0) {
            const size_t skip = (size_t)(prompts->begin - prompts->tokens);
            token += skip;
            n -= skip;
            prompts->tokens += skip;
            if (prompts->n == SPEC_PROMPTS_MAX) {
                thin_out(prompts);
                continue;
            }
            prompts->open = prompts->n++;
            prompts->length[prompts->open] = 0;
        }
        int *length = &prompts->length[prompts->open];
        prompts->token[prompts->open][(*length)++] = *token++;
        prompts->tokens++;
        n--;
        if (*length == SPEC_PROMPT_TOKENS) {
            prompts->open = -1;
            place(prompts);
        }
    }
}

void spec_prompts_boundary(spec_prompts *prompts)
{
    if (prompts->open < 0) return;
    prompts->open = -1;
    place(prompts);
}

size_t spec_prompts_draw(const spec_prompts *prompts, uint64_t index, int *token,
                         size_t capacity)
{
    if (prompts->n == 0) return 0;
    const int chosen = (int)(hash(index) % (uint64_t)prompts->n);
    size_t n = (size_t)prompts->length[chosen];
    if (n > capacity) n = capacity;
    memcpy(token, prompts->token[chosen], n * sizeof *token);
    return n;
}
