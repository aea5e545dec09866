/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks where tokens end: UTF-8 by its definition, words by example; and that units cover every
 * text. */
#include "base/utf8.h"
#include "models/ngram/text_unit.h"

#include "tests/support/support.h"

#include <gsl/gsl_rng.h>
#include <string.h>

/* Writes the encoding of a code point, from its definition (RFC 3629, section 3). */
static size_t encode(unsigned char *text, uint32_t code)
{
    if (code < 0x80) {
        text[0] = (unsigned char)code;
        return 1;
    }
    const size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned lead[5] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = n - 1; i > 0; i--, code >>= 6) text[i] = (unsigned char)(0x80 | (code & 0x3F));
    text[0] = (unsigned char)(lead[n] | code);
    return n;
}

TEST(every_code_point_is_read_back)
{
    for (uint32_t code = 0; code <= 0x10FFFF; code++) {
        unsigned char text[8] = {0};
        uint32_t found;
        const size_t n = encode(text, code), used = spec_utf8_decode(&found, text, sizeof text);
        const int surrogate = code >= 0xD800 && code <= 0xDFFF;
        if (found != (surrogate ? SPEC_UTF8_INVALID : code) || used != (surrogate ? 1 : n))
            fail_msg("code %x", code);
    }
}

TEST(invalid_bytes_are_units_of_one_byte)
{
    static const struct {
        const char *text;
        size_t length;
    } wrong[] = {
        {"\x80", 1}, {"\xBF\x80", 2},                          /* stray continuation */
        {"\xC3", 1}, {"\xE2\x82", 2}, {"\xF0\x9F\x98", 3},     /* cut at the end */
        {"\xC3(", 2}, {"\xE2(\xA1", 3}, {"\xE2\x82(", 3},      /* missing continuation */
        {"\xF0\x9F\x98(", 4},
        {"\xC0\x80", 2}, {"\xC1\xBF", 2}, {"\xE0\x9F\xBF", 3}, /* over-long */
        {"\xF0\x8F\xBF\xBF", 4},
        {"\xF4\x90\x80\x80", 4}, {"\xF5\x80\x80\x80", 4}, {"\xFF", 1}, {"\xFE\x80", 2},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        uint32_t code = 0;
        assert_int_equal(
            spec_utf8_decode(&code, (const unsigned char *)wrong[i].text, wrong[i].length), 1);
        assert_true(code == SPEC_UTF8_INVALID);
    }
}

/* Returns the units of a text, separated by bars. */
static void cut(char *out, spec_tokens tokens, const char *text, size_t length)
{
    char *to = out;
    for (size_t at = 0; at < length;) {
        const size_t n =
            spec_text_unit_length(tokens, (const unsigned char *)text + at, length - at);
        if (at > 0) *to++ = '|';
        memcpy(to, text + at, n);
        to += n;
        at += n;
    }
    *to = '\0';
}

TEST(words_take_the_space_before_them)
{
    static const char *const example[][2] = {
        {"The cat sat.", "The| cat| sat|."},
        {"don't, 'quoted' o'", "don't|,| '|quoted|'| o|'"},
        {"rock'n'roll ''x", "rock'n'roll| '|'|x"},
        {"a  b   c\td\n\n e ", "a| | b| | | c|\t|d|\n|\n| e| "},
        {" \n x", " |\n| x"},
        {"x=3.14;y[0]", "x|=|3|.|14|;|y|[|0|]"},
        {"na\xC3\xAFve caf\xC3\xA9s", "na\xC3\xAFve| caf\xC3\xA9s"},
        {"\xE2\x80\x9CWe don\xE2\x80\x99t\xE2\x80\x9D",
         "\xE2\x80\x9C|We| don\xE2\x80\x99t|\xE2\x80\x9D"},
        {"3\xC3\x97"
         "4 \xC2\xB5m \xF0\x9F\x98\x80",
         "3|\xC3\x97|4| \xC2\xB5m| \xF0\x9F\x98\x80"},
        {"a\xFF"
         "b \xFF",
         "a|\xFF|b| |\xFF"},
    };
    for (size_t i = 0; i < sizeof example / sizeof example[0]; i++) {
        char out[200];
        cut(out, SPEC_TOKENS_WORDS, example[i][0], strlen(example[i][0]));
        assert_string_equal(out, example[i][1]);
    }
}

TEST(a_long_word_is_cut)
{
    char text[200];
    memset(text, 'q', sizeof text);
    text[0] = ' ';
    assert_int_equal(spec_text_unit_length(SPEC_TOKENS_WORDS, (unsigned char *)text, sizeof text),
                     SPEC_TEXT_UNIT_MAX);
    for (size_t i = 0; i + 2 < sizeof text; i += 2) memcpy(text + i, "\xC3\xA9", 2);
    assert_int_equal(spec_text_unit_length(SPEC_TOKENS_WORDS, (unsigned char *)text, sizeof text),
                     SPEC_TEXT_UNIT_MAX);
    text[0] = 'q';
    memmove(text + 1, text + 2, sizeof text - 2);
    assert_int_equal(spec_text_unit_length(SPEC_TOKENS_WORDS, (unsigned char *)text, sizeof text),
                     SPEC_TEXT_UNIT_MAX - 1);
}

/* Text after the first SPEC_TEXT_UNIT_AHEAD bytes changes no unit; reading in blocks relies on it.
 */
TEST(a_unit_depends_on_a_bounded_look_ahead, STATISTICS)
{
    static const char alphabet[] = "aZ9'' \n.\xC3\xA9\xE2\x80\x99\xF0\x9F\x98\x80\xFF";
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    unsigned char text[3 * SPEC_TEXT_UNIT_AHEAD];
    for (uint64_t i = 0; i < spec_test_samples(20000); i++) {
        const double letters = gsl_rng_uniform(rng) < 0.5 ? 0.97 : 0.2;
        for (size_t j = 0; j < sizeof text; j++) {
            text[j] = gsl_rng_uniform(rng) < letters
                          ? 'x'
                          : (unsigned char)alphabet[gsl_rng_uniform_int(rng, sizeof alphabet)];
        }
        for (int tokens = 0; tokens < 3; tokens++) {
            const size_t whole = spec_text_unit_length((spec_tokens)tokens, text, sizeof text);
            assert_int_equal(spec_text_unit_length((spec_tokens)tokens, text, SPEC_TEXT_UNIT_AHEAD),
                             whole);
            assert_in_range(whole, 1, SPEC_TEXT_UNIT_MAX);
            for (size_t length = 1; length <= SPEC_TEXT_UNIT_AHEAD; length += 5) {
                assert_in_range(spec_text_unit_length((spec_tokens)tokens, text, length), 1,
                                length);
            }
        }
    }
}
