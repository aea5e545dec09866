/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/tokenizer/pre_expressions.h"

#include <stddef.h>

/* White space is the Unicode property of that name; \s in PCRE covers only a part of it. */
#define SPACE "\\t-\\r\\x{85}\\p{Z}"
#define BLANKS "[" SPACE "]+(?![^" SPACE "])|[" SPACE "]+"
#define OTHERS " ?[^" SPACE "\\p{L}\\p{N}]++"
#define SHORT_FORMS "'(?:s|t|re|ve|m|ll|d)"
#define LINES "[" SPACE "]*[\\r\\n]++|" BLANKS
#define WORDS(numbers)                                                                             \
    "(?i:" SHORT_FORMS ")|[^\\r\\n\\p{L}\\p{N}]?\\p{L}++|" numbers "|" OTHERS "[\\r\\n]*+|" LINES

/* Words divide where a small letter comes before a capital; marks and letters without case belong
 * to both kinds. */
#define CAPITALS "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define SMALLS "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define CASED(ending, numbers)                                                                     \
    "[^\\r\\n\\p{L}\\p{N}]?" CAPITALS "*" SMALLS "++" ending "|[^\\r\\n\\p{L}\\p{N}]?" CAPITALS    \
    "++" SMALLS "*+" ending "|" numbers "|" OTHERS "[\\r\\n/]*+|" LINES

/* Regular expressions that split a text into pieces without gaps. Repetitions are possessive where
 * backtracking cannot help, so that time is linear. In `digits`, digits are first split off one by
 * one, so that blanks before them stay together. */
static const char gpt2[] = SHORT_FORMS "| ?\\p{L}++| ?\\p{N}++|" OTHERS "|" BLANKS;
static const char llama3[] = WORDS("\\p{N}{1,3}+");
static const char qwen2[] = WORDS("\\p{N}");
static const char qwen35[] =
    "(?i:" SHORT_FORMS ")|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]++|\\p{N}| ?[^" SPACE
    "\\p{L}\\p{M}\\p{N}]++[\\r\\n]*+|" LINES;
static const char digits[] =
    "\\p{N}|" SHORT_FORMS "| ?\\p{L}++|" OTHERS "|[" SPACE "]+(?![^" SPACE "\\p{N}])|[" SPACE "]+";
static const char gpt4o[] = CASED("(?i:" SHORT_FORMS ")?+", "\\p{N}{1,3}+");
static const char tekken[] = CASED("", "\\p{N}");

/* The names and the two properties are llama.cpp's. */
static const spec_pre_expression expressions[] = {
    {"", gpt2, false, false},
    {"default", gpt2, false, false},
    {"gpt-2", gpt2, false, false},
    {"phi-2", gpt2, false, false},
    {"olmo", gpt2, false, false},
    {"mpt", gpt2, false, false},
    {"jais", gpt2, false, false},
    {"exaone4", gpt2, false, false},
    {"gigachat", gpt2, false, false},
    {"a.x-4.0", gpt2, false, false},
    {"mellum", gpt2, false, false},
    {"trillion", gpt2, false, false},
    {"granite-docling", gpt2, false, false},
    {"llama-bpe", llama3, true, true},
    {"llama3", llama3, true, true},
    {"llama-v3", llama3, true, true},
    {"falcon3", llama3, true, true},
    {"falcon-h1", llama3, true, true},
    {"pixtral", llama3, true, true},
    {"midm-2.0", llama3, true, true},
    {"lfm2", llama3, true, true},
    {"glm4", llama3, true, false},
    {"chatglm-bpe", llama3, false, false},
    {"dbrx", llama3, false, false},
    {"smaug-bpe", llama3, false, false},
    {"qwen2", qwen2, false, false},
    {"deepseek-r1-qwen", qwen2, false, false},
    {"stablelm2", qwen2, false, false},
    {"megrez", qwen2, false, false},
    {"hunyuan", qwen2, false, false},
    {"solar-open", qwen2, false, false},
    {"grok-2", qwen2, false, false},
    {"kormo", qwen2, false, false},
    {"f2llmv2", qwen2, false, false},
    {"qwen35", qwen35, false, false},
    {"smollm", digits, false, false},
    {"starcoder", digits, false, false},
    {"refact", digits, false, false},
    {"command-r", digits, false, false},
    {"codeshell", digits, false, false},
    {"exaone", digits, false, false},
    {"minerva-7b", digits, false, false},
    {"mellum2", digits, false, false},
    {"gpt-4o", gpt4o, false, false},
    {"llama4", gpt4o, false, false},
    {"kanana2", gpt4o, false, false},
    {"talkie", gpt4o, false, false},
    {"minimax-m2", gpt4o, false, false},
    {"tekken", tekken, true, true},
};

const char spec_pre_expression_names[] =
    "gpt-2, llama-bpe, qwen2, qwen35, smollm, gpt-4o, tekken, and llama.cpp's other names of these";

const spec_pre_expression *spec_pre_expression_find(spec_piece name)
{
    for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++)
        if (spec_piece_is(name, expressions[i].name)) return &expressions[i];
    return NULL;
}
