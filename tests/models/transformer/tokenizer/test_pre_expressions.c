/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks pre-tokenizers on many scripts: each expression gives the same pieces as another
 * program. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "models/transformer/tokenizer/pre_expressions.h"

#include "tests/support/support.h"

#include <pcre2.h>
#include <string.h>

/* Texts and their pieces, known from Hugging Face's tokenizers 0.23: Split, isolated, by the
 * expression of a published tokenizer.json (Llama 3.1, Qwen 2.5, Qwen 3.5, gpt-oss, Mistral NeMo);
 * gpt-2 is that of ByteLevel. Letters and digits of Latin, Devanagari, Thai, Arabic, Hebrew, Han,
 * kana, Hangul, Cherokee, Georgian, Deseret, Adlam; marks, title case, modifiers, joiners, and
 * white space. */
static const struct {
    const char *pre, *cut;
} known[] = {
    {"gpt-2", "HelloWorld| helloWORLD| I|'|M| don|'|T| 12345| a|1|b|2"},
    {"gpt-2", "e|\u0301|tude| E|\u0301| \u0301\u0301| e|\u20dd\u0301|x"},
    {"gpt-2", "नमस|\u094d|त|\u0947| द|\u0941|न|\u093f|य|\u093e| १२३४| क|\u093c"},
    {"gpt-2", "สว|\u0e31|สด|\u0e35|ชาวโลก| ๑๒๓๔"},
    {"gpt-2", "\u0645\u0631\u062d\u0628\u0627| \u0628\u0627\u0644\u0639\u0627\u0644\u0645|"
              "\u0663\u0664\u0665| \u05d0|\u05b1|\u05dc|\u05b9|\u05d4|\u05b4|\u05d9\u05dd|'s"},
    {"gpt-2", "日本語テキストABCとabc|、|１２３４|。"},
    {"gpt-2", "한국어| 텍스트| ǅungla| ʰaʲB| ªº| Ⅳⅷ| ½²³"},
    {"gpt-2", "https|://|a|.|b|/|c|//|d|\n|/| e| /|\r\n\r\n | x|\t|\t|y"},
    {"gpt-2", "\U0001f600\U0001f469\u200d\U0001f469| \U0001f1e9\U0001f1ea'|ll| ſ|'s| '|ſ| İı| ß"
              "ẞ"},
    {"gpt-2", "Ꭰꭰ| Ადა| აბგ| \U00010400\U00010428| \U0001d518\U0001d52b\U0001d526| "
              "\U0001e900"
              "\U0001e922"},
    {"gpt-2", "a|\u00a0|b|\u3000|c|\u2028|d|\u200b|e|\ufeff|f|\u180e|g"},
    {"llama-bpe", "HelloWorld| helloWORLD| I|'M| don|'T| |123|45| a|1|b|2"},
    {"llama-bpe", "e|\u0301tude| E|\u0301| \u0301\u0301| e|\u20dd\u0301|x"},
    {"llama-bpe", "नमस|\u094dत|\u0947| द|\u0941न|\u093fय|\u093e| |१२३|४| क|\u093c"},
    {"llama-bpe", "สว|\u0e31สด|\u0e35ชาวโลก| |๑๒๓|๔"},
    {"llama-bpe", "\u0645\u0631\u062d\u0628\u0627| \u0628\u0627\u0644\u0639\u0627\u0644\u0645|"
                  "\u0663\u0664\u0665| \u05d0|\u05b1\u05dc|\u05b9\u05d4|\u05b4\u05d9\u05dd|'s"},
    {"llama-bpe", "日本語テキストABCとabc|、|１２３|４|。"},
    {"llama-bpe", "한국어| 텍스트| ǅungla| ʰaʲB| ªº| |Ⅳⅷ| |½²³"},
    {"llama-bpe", "https|://|a|.b|/c|//|d|\n|/| e| /\r\n\r\n| | x|\t|\ty"},
    {"llama-bpe", "\U0001f600\U0001f469\u200d\U0001f469| \U0001f1e9\U0001f1ea'|ll| ſ|'s| '|ſ| İ"
                  "ı| ßẞ"},
    {"llama-bpe",
     "Ꭰꭰ| Ადა| აბგ| \U00010400\U00010428| \U0001d518\U0001d52b\U0001d526| "
     "\U0001e900\U0001e922"},
    {"llama-bpe", "a|\u00a0b|\u3000c|\u2028d|\u200be|\ufefff|\u180eg"},
    {"qwen2", "HelloWorld| helloWORLD| I|'M| don|'T| |1|2|3|4|5| a|1|b|2"},
    {"qwen2", "e|\u0301tude| E|\u0301| \u0301\u0301| e|\u20dd\u0301|x"},
    {"qwen2", "नमस|\u094dत|\u0947| द|\u0941न|\u093fय|\u093e| |१|२|३|४| क|\u093c"},
    {"qwen2", "สว|\u0e31สด|\u0e35ชาวโลก| |๑|๒|๓|๔"},
    {"qwen2", "\u0645\u0631\u062d\u0628\u0627| \u0628\u0627\u0644\u0639\u0627\u0644\u0645|"
              "\u0663|\u0664|\u0665| \u05d0|\u05b1\u05dc|\u05b9\u05d4|\u05b4\u05d9\u05dd|'s"},
    {"qwen2", "日本語テキストABCとabc|、|１|２|３|４|。"},
    {"qwen2", "한국어| 텍스트| ǅungla| ʰaʲB| ªº| |Ⅳ|ⅷ| |½|²|³"},
    {"qwen2", "https|://|a|.b|/c|//|d|\n|/| e| /\r\n\r\n| | x|\t|\ty"},
    {"qwen2", "\U0001f600\U0001f469\u200d\U0001f469| \U0001f1e9\U0001f1ea'|ll| ſ|'s| '|ſ| İı| ß"
              "ẞ"},
    {"qwen2", "Ꭰꭰ| Ადა| აბგ| \U00010400\U00010428| \U0001d518\U0001d52b\U0001d526| "
              "\U0001e900"
              "\U0001e922"},
    {"qwen2", "a|\u00a0b|\u3000c|\u2028d|\u200be|\ufefff|\u180eg"},
    {"qwen35", "HelloWorld| helloWORLD| I|'M| don|'T| |1|2|3|4|5| a|1|b|2"},
    {"qwen35", "e\u0301tude| E\u0301| \u0301\u0301| e\u20dd\u0301x"},
    {"qwen35", "नमस\u094dत\u0947| द\u0941न\u093fय\u093e| |१|२|३|४| क\u093c"},
    {"qwen35", "สว\u0e31สด\u0e35ชาวโลก| |๑|๒|๓|๔"},
    {"qwen35", "\u0645\u0631\u062d\u0628\u0627| \u0628\u0627\u0644\u0639\u0627\u0644\u0645|"
               "\u0663|\u0664|\u0665| \u05d0\u05b1\u05dc\u05b9\u05d4\u05b4\u05d9\u05dd|'s"},
    {"qwen35", "日本語テキストABCとabc|、|１|２|３|４|。"},
    {"qwen35", "한국어| 텍스트| ǅungla| ʰaʲB| ªº| |Ⅳ|ⅷ| |½|²|³"},
    {"qwen35", "https|://|a|.b|/c|//|d|\n|/| e| /\r\n\r\n| | x|\t|\ty"},
    {"qwen35", "\U0001f600\U0001f469\u200d\U0001f469| \U0001f1e9\U0001f1ea'|ll| ſ|'s| '|ſ| İı| "
               "ßẞ"},
    {"qwen35", "Ꭰꭰ| Ადა| აბგ| \U00010400\U00010428| \U0001d518\U0001d52b\U0001d526| "
               "\U0001e900"
               "\U0001e922"},
    {"qwen35", "a|\u00a0b|\u3000c|\u2028d|\u200be|\ufefff|\u180eg"},
    {"gpt-4o", "Hello|World| hello|WORLD| I'M| don'T| |123|45| a|1|b|2"},
    {"gpt-4o", "e\u0301tude| E\u0301| \u0301\u0301| e\u20dd\u0301x"},
    {"gpt-4o", "नमस\u094dत\u0947| द\u0941न\u093fय\u093e| |१२३|४| क\u093c"},
    {"gpt-4o", "สว\u0e31สด\u0e35ชาวโลก| |๑๒๓|๔"},
    {"gpt-4o", "\u0645\u0631\u062d\u0628\u0627| \u0628\u0627\u0644\u0639\u0627\u0644\u0645|"
               "\u0663\u0664\u0665| \u05d0\u05b1\u05dc\u05b9\u05d4\u05b4\u05d9\u05dd's"},
    {"gpt-4o", "日本語テキストABCとabc|、|１２３|４|。"},
    {"gpt-4o", "한국어| 텍스트| ǅungla| ʰaʲ|B| ªº| |Ⅳⅷ| |½²³"},
    {"gpt-4o", "https|://|a|.b|/c|//|d|\n|/| e| /\r\n\r\n| | x|\t|\ty"},
    {"gpt-4o", "\U0001f600\U0001f469\u200d\U0001f469| \U0001f1e9\U0001f1ea'|ll| ſ's| '|ſ| İı| ß"
               "|ẞ"},
    {"gpt-4o", "Ꭰꭰ| Ადა| აბგ| \U00010400\U00010428| \U0001d518\U0001d52b\U0001d526| "
               "\U0001e900"
               "\U0001e922"},
    {"gpt-4o", "a|\u00a0b|\u3000c|\u2028d|\u200be|\ufefff|\u180eg"},
    {"tekken", "Hello|World| hello|WORLD| I|'M| don|'T| |1|2|3|4|5| a|1|b|2"},
    {"tekken", "e\u0301tude| E\u0301| \u0301\u0301| e\u20dd\u0301x"},
    {"tekken", "नमस\u094dत\u0947| द\u0941न\u093fय\u093e| |१|२|३|४| क\u093c"},
    {"tekken", "สว\u0e31สด\u0e35ชาวโลก| |๑|๒|๓|๔"},
    {"tekken", "\u0645\u0631\u062d\u0628\u0627| \u0628\u0627\u0644\u0639\u0627\u0644\u0645|"
               "\u0663|\u0664|\u0665| \u05d0\u05b1\u05dc\u05b9\u05d4\u05b4\u05d9\u05dd|'s"},
    {"tekken", "日本語テキストABCとabc|、|１|２|３|４|。"},
    {"tekken", "한국어| 텍스트| ǅungla| ʰaʲ|B| ªº| |Ⅳ|ⅷ| |½|²|³"},
    {"tekken", "https|://|a|.b|/c|//|d|\n|/| e| /\r\n\r\n| | x|\t|\ty"},
    {"tekken", "\U0001f600\U0001f469\u200d\U0001f469| \U0001f1e9\U0001f1ea'|ll| ſ|'s| '|ſ| İı| "
               "ß|ẞ"},
    {"tekken", "Ꭰꭰ| Ადა| აბგ| \U00010400\U00010428| \U0001d518\U0001d52b\U0001d526| "
               "\U0001e900"
               "\U0001e922"},
    {"tekken", "a|\u00a0b|\u3000c|\u2028d|\u200be|\ufefff|\u180eg"},
};

static spec_piece piece_of(const char *text)
{
    return (spec_piece){text, strlen(text)};
}

static pcre2_code *compiled(const char *pre)
{
    int code;
    size_t at;
    const spec_pre_expression *found = spec_pre_expression_find(piece_of(pre));
    assert_non_null(found);
    pcre2_code *made = pcre2_compile((PCRE2_SPTR)found->expression, PCRE2_ZERO_TERMINATED,
                                     PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED, &code, &at, NULL);
    assert_non_null(made);
    return made;
}

/* Each match, from the end of the one before, is a piece. */
static void assert_cut(const char *pre, const char *cut)
{
    char text[512], found[1024] = "";
    size_t length = 0;
    pcre2_code *code = compiled(pre);
    pcre2_match_data *match = pcre2_match_data_create(1, NULL);
    const size_t *end = pcre2_get_ovector_pointer(match) + 1;
    for (const char *c = cut; *c != '\0'; c++)
        if (*c != '|') text[length++] = *c;
    for (size_t at = 0; at < length; at = *end) {
        assert_true(pcre2_match(code, (PCRE2_SPTR)text, length, at, 0, match, NULL) > 0);
        if (at > 0) strcat(found, "|");
        strncat(found, text + at, *end - at);
    }
    if (strcmp(found, cut) != 0) fail_msg("%s: '%s', not '%s'", pre, found, cut);
    pcre2_match_data_free(match);
    pcre2_code_free(code);
}

TEST(pieces_of_many_scripts_are_those_of_another_program)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_cut(known[i].pre, known[i].cut);
}

TEST(names_share_expressions_and_properties)
{
    static const struct {
        const char *name, *same;
        bool whole_first, begins;
    } names[] = {
        {"", "gpt-2", false, false},           {"default", "gpt-2", false, false},
        {"llama3", "llama-bpe", true, true},   {"llama-v3", "llama-bpe", true, true},
        {"pixtral", "llama-bpe", true, true},  {"smaug-bpe", "llama-bpe", false, false},
        {"glm4", "llama-bpe", true, false},    {"deepseek-r1-qwen", "qwen2", false, false},
        {"starcoder", "smollm", false, false}, {"llama4", "gpt-4o", false, false},
        {"tekken", "tekken", true, true},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const spec_pre_expression *found = spec_pre_expression_find(piece_of(names[i].name));
        const spec_pre_expression *same = spec_pre_expression_find(piece_of(names[i].same));
        assert_non_null(found);
        assert_ptr_equal(found->expression, same->expression);
        assert_int_equal(found->whole_first, names[i].whole_first);
        assert_int_equal(found->begins, names[i].begins);
    }
    assert_null(spec_pre_expression_find(piece_of("kimi-k2")));
    assert_null(spec_pre_expression_find(piece_of("gpt")));
}
