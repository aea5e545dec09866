/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/ngram/text_unit.h"

#include "base/utf8.h"

#include <stdbool.h>

const char *const spec_tokens_names[] = {"bytes", "chars", "words", "target", NULL};

static bool is_space(uint32_t code)
{
    return code == ' ' || (code >= '\t' && code <= '\r');
}

static bool is_apostrophe(uint32_t code)
{
    return code == '\'' || code == 0x2019;
}

static bool is_letter(uint32_t code)
{
    if (code < 0x80) {
        const uint32_t lower = code | 0x20;
        return (lower >= 'a' && lower <= 'z') || (code >= '0' && code <= '9');
    }
    if (code < 0xC0) return code == 0xAA || code == 0xB5 || code == 0xBA;
    if (code == 0xD7 || code == 0xF7) return false;
    if (code >= 0x2000 && code <= 0x2BFF)
        return false; /* general punctuation to miscellaneous symbols and arrows */
    if (code >= 0x3000 && code <= 0x303F) return false; /* CJK symbols and punctuation */
    if (code >= 0xFF01 && code <= 0xFF0F) return false; /* full-width punctuation */
    if (code >= 0x1F000 && code <= 0x1FAFF) return false; /* emoji */
    return code != SPEC_UTF8_INVALID && code != 0xFFFD;
}

static size_t word_length(const unsigned char *text, size_t length)
{
    uint32_t code;
    size_t end = 0;
    if (text[0] == ' ' && length > 1) {
        spec_utf8_decode(&code, text + 1, length - 1);
        if (is_space(code) || code == SPEC_UTF8_INVALID) return 1;
        end = 1;
    }
    end += spec_utf8_decode(&code, text + end, length - end);
    if (!is_letter(code)) return end;
    while (end < length) {
        size_t next = end + spec_utf8_decode(&code, text + end, length - end);
        if (is_apostrophe(code) && next < length)
            next += spec_utf8_decode(&code, text + next, length - next);
        if (!is_letter(code) || next > SPEC_TEXT_UNIT_MAX) break;
        end = next;
    }
    return end;
}

size_t spec_text_unit_length(spec_tokens tokens, const unsigned char *text, size_t length)
{
    uint32_t code;
    switch (tokens) {
    case SPEC_TOKENS_BYTES: return 1;
    case SPEC_TOKENS_CHARS: return spec_utf8_decode(&code, text, length);
    default: return word_length(text, length);
    }
}
