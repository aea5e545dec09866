/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads tokenizer.json: its pieces, types, merges and scores, and tokenizers that are not
 * supported. */
#include "models/import/folder_vocabulary.h"

#include "tests/support/folder.h"
#include "tests/support/support.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTES "{'type':'ByteLevel','add_prefix_space':false,'use_regex':%s}"
#define CASED(ending, numbers)                                                                     \
    "[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?[\\\\p{Lu}\\\\p{Lt}\\\\p{Lm}\\\\p{Lo}\\\\p{M}]*[\\\\p{Ll}"      \
    "\\\\p{Lm}\\\\p{Lo}"                                                                           \
    "\\\\p{M}]+" ending                                                                            \
    "|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?[\\\\p{Lu}\\\\p{Lt}\\\\p{Lm}\\\\p{Lo}\\\\p{M}]+"               \
    "[\\\\p{Ll}\\\\p{Lm}\\\\p{Lo}\\\\p{M}]*" ending "|" numbers                                    \
    "| ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n/]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+"
#define WORDS(numbers)                                                                             \
    "(?i:`s|`t|`re|`ve|`m|`ll|`d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|" numbers                \
    "| ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+"

enum { VOCAB = 10 };

/* Writes a file, replacing ' by " and ` by '. */
static void write_text(const char *path, const char *text)
{
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    for (; *text != '\0'; text++) fputc(*text == '\'' ? '"' : *text == '`' ? '\'' : *text, out);
    assert_int_equal(fclose(out), 0);
}

/* Writes a tokenizer of the letters a, b, c, with merges; `head` has its other members. */
static void write_tokenizer(const char *head, const char *model)
{
    char text[4096];
    snprintf(text, sizeof text,
             "{%s%s'added_tokens':[{'id':8,'content':'<|end|>','special':true},"
             "{'id':6,'content':'<tool>','special':false}],"
             "'model':{'type':'BPE',%s}}",
             head, *head != '\0' ? "," : "", model);
    write_text("hf/tokenizer.json", text);
}

#define BPE "'vocab':{'a':0,'b':1,'c':2,'ab':3,'abc':4,'<|end|>':8},'merges':['a b',['ab','c']]"
#define SPM                                                                                        \
    "'byte_fallback':true,'unk_token':'<unk>','vocab':{'<unk>':0,'a':1,'b':2,'c':3,'ab':4,"        \
    "'abc':5,'<0x41>':7},'merges':['a b','ab c','a bc']"
#define SPM_STEPS                                                                                  \
    "'normalizer':{'type':'Sequence','normalizers':[{'type':'Prepend','prepend':'\xe2\x96\x81'},"  \
    "{'type':'Replace','pattern':{'String':' '},'content':'\xe2\x96\x81'}]},'pre_tokenizer':null"

static int load(spec_folder_vocabulary *ret, spec_error *error)
{
    return spec_folder_vocabulary_load(ret, "hf", VOCAB, error);
}

static void loads(spec_folder_vocabulary *ret)
{
    assert_works(load(ret, &error));
}

static void assert_piece(const spec_folder_vocabulary *v, int token, const char *text, int type)
{
    if (!spec_piece_is(v->data.piece[token], text))
        fail_msg("%.*s, not %s", (int)v->data.piece[token].length, v->data.piece[token].bytes,
                 text);
    assert_int_equal(v->data.opt_type[token], type);
}

TEST(a_folder_may_have_no_vocabulary)
{
    OWNED(spec_folder_vocabulary) v;
    mkdir("hf", 0700);
    loads(&v);
    assert_int_equal(v.data.vocab, 0);
}

TEST(byte_level_bpe_is_read)
{
    OWNED(spec_folder_vocabulary) v;
    char steps[200];
    snprintf(steps, sizeof steps, "'pre_tokenizer':" BYTES, "true");
    write_tokenizer(steps, BPE);
    loads(&v);
    assert_int_equal(v.data.kind, SPEC_TOKENIZER_BPE);
    assert_int_equal(v.data.vocab, VOCAB);
    assert_int_equal(v.data.unknown, -1);
    assert_string_equal(v.data.pre, "gpt-2");
    assert_piece(&v, 4, "abc", SPEC_PIECE_NORMAL);
    assert_piece(&v, 8, "<|end|>", SPEC_PIECE_CONTROL);
    assert_piece(&v, 6, "<tool>", SPEC_PIECE_USER);
    assert_piece(&v, 5, "[PAD5]", SPEC_PIECE_UNUSED);
    assert_piece(&v, 9, "[PAD9]", SPEC_PIECE_UNUSED);
    assert_int_equal(v.data.n_merges, 2);
    assert_true(spec_piece_is(v.data.merge[0], "a b") && spec_piece_is(v.data.merge[1], "ab c"));
    spec_tokenizer *tokenizer;
    int token[8];
    assert_works(spec_tokenizer_init(&tokenizer, &v.data, &error));
    assert_int_equal(spec_tokenizer_encode(tokenizer, "abcab<tool>c", 12, token, 8), 4);
    assert_true(token[0] == 4 && token[1] == 3 && token[2] == 6 && token[3] == 2);
    spec_tokenizer_free(tokenizer);
}

TEST(pre_tokenizers_have_the_names_of_gguf)
{
    static const char split[] = "{'type':'Sequence','pretokenizers':[{'type':'Split','pattern':"
                                "{'Regex':'%s'},'behavior':'Isolated','invert':false},%s]}";
    static const char digits[] = "{'type':'Sequence','pretokenizers':[{'type':'Digits',"
                                 "'individual_digits':true},%s]}";
    static const char gpt2[] = "`s|`t|`re|`ve|`m|`ll|`d| ?\\\\p{L}+| ?\\\\p{N}+| "
                               "?[^\\\\s\\\\p{L}\\\\p{N}]+|\\\\s+(?!\\\\S)|\\\\s+";
    static const char marks[] =
        "(?i:`s|`t|`re|`ve|`m|`ll|`d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?[\\\\p{L}\\\\p{M}]+|\\\\p{N}| "
        "?[^\\\\s\\\\p{L}\\\\p{M}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|"
        "\\\\s+";
    char whole[100], parts[100], steps[1200];
    snprintf(whole, sizeof whole, BYTES, "true");
    snprintf(parts, sizeof parts, BYTES, "false");
    static const char *const names[] = {"llama-bpe", "qwen2",  "gpt-2",  "smollm",   "gpt-2",
                                        "qwen35",    "gpt-4o", "tekken", "smaug-bpe"};
    for (int i = 0; i < 9; i++) {
        OWNED(spec_folder_vocabulary) v;
        size_t n = (size_t)snprintf(steps, sizeof steps, "'normalizer':%s,'pre_tokenizer':",
                                    i == 1 ? "{'type':'NFC'}" : "null");
        if (i < 3 || i > 4)
            snprintf(steps + n, sizeof steps - n, split,
                     i == 0 || i == 8 ? WORDS("\\\\p{N}{1,3}")
                     : i == 1         ? WORDS("\\\\p{N}")
                     : i == 2         ? gpt2
                     : i == 5         ? marks
                     : i == 6         ? CASED("(?i:`s|`t|`re|`ve|`m|`ll|`d)?", "\\\\p{N}{1,3}")
                                      : CASED("", "\\\\p{N}"),
                     parts);
        else if (i == 3)
            snprintf(steps + n, sizeof steps - n, digits, whole);
        else
            snprintf(steps + n, sizeof steps - n, "%s", whole);
        write_tokenizer(steps, i == 0 || i == 7 ? "'ignore_merges':true," BPE : BPE);
        loads(&v);
        assert_string_equal(v.data.pre, names[i]);
    }
}

TEST(sentencepiece_is_read_from_its_merges)
{
    OWNED(spec_folder_vocabulary) v;
    write_tokenizer(SPM_STEPS, SPM);
    loads(&v);
    assert_int_equal(v.data.kind, SPEC_TOKENIZER_SPM);
    assert_true(v.data.adds_space);
    assert_int_equal(v.data.unknown, 0);
    assert_piece(&v, 0, "<unk>", SPEC_PIECE_UNKNOWN);
    assert_piece(&v, 7, "<0x41>", SPEC_PIECE_BYTE);
    assert_true(v.data.opt_score[4] > v.data.opt_score[5]);
    assert_true(v.data.opt_score[5] > v.data.opt_score[1]); /* nothing merges to a */
    spec_folder_vocabulary_free(&v);
    write_tokenizer("'pre_tokenizer':{'type':'Metaspace','replacement':'\xe2\x96\x81',"
                    "'prepend_scheme':'never','split':false}",
                    SPM);
    loads(&v);
    assert_false(v.data.adds_space);
    spec_folder_vocabulary_free(&v);
    /* Gemma's tokenizer: after the replacement there is no blank to split at. */
    write_tokenizer("'normalizer':{'type':'Replace','pattern':{'String':' '},'content':"
                    "'\xe2\x96\x81'},'pre_tokenizer':{'type':'Split','pattern':{'String':' '},"
                    "'behavior':'MergedWithPrevious','invert':false}",
                    SPM);
    loads(&v);
    assert_int_equal(v.data.kind, SPEC_TOKENIZER_SPM);
    assert_false(v.data.adds_space);
}

TEST(texts_begin_and_end_as_the_folder_says)
{
    spec_folder_vocabulary v;
    char steps[400];
    snprintf(steps, sizeof steps,
             "'post_processor':{'type':'Sequence','processors':[{'type':'ByteLevel'},{'type':"
             "'TemplateProcessing','single':[{'SpecialToken':{'id':'c'}},{'Sequence':{}}]}]},"
             "'pre_tokenizer':" BYTES,
             "true");
    write_tokenizer(steps, BPE);
    loads(&v);
    assert_true(v.adds_begin && v.begin_of_text == 2 && v.end_of_text == -1);
    spec_folder_vocabulary_free(&v);
    write_text("hf/tokenizer_config.json",
               "{'add_bos_token':false,'bos_token':'b','eos_token':{'content':'<|end|>'}}");
    loads(&v);
    assert_true(v.adds_begin && v.begin_of_text == 1 && v.end_of_text == 8);
    spec_folder_vocabulary_free(&v);
    write_text("hf/tokenizer_config.json", "{'bos_token':'no token'}");
    loads(&v);
    assert_true(v.adds_begin && v.begin_of_text == 2);
    spec_folder_vocabulary_free(&v);
    /* A post_processor that adds no begin token, and no post_processor, in which case the other
     * file decides. */
    write_text("hf/tokenizer_config.json", "{'add_bos_token':true,'bos_token':'b'}");
    snprintf(steps, sizeof steps, "'post_processor':{'type':'ByteLevel'},'pre_tokenizer':" BYTES,
             "true");
    write_tokenizer(steps, BPE);
    loads(&v);
    assert_true(!v.adds_begin && v.begin_of_text == 1);
    spec_folder_vocabulary_free(&v);
    snprintf(steps, sizeof steps, "'post_processor':null,'pre_tokenizer':" BYTES, "true");
    write_tokenizer(steps, BPE);
    loads(&v);
    assert_true(v.adds_begin && v.begin_of_text == 1);
    spec_folder_vocabulary_free(&v);
    unlink("hf/tokenizer_config.json");
}

static void refused(const char *steps, const char *model, const char *expected)
{
    spec_folder_vocabulary v;
    spec_error error = {""};
    write_tokenizer(steps, model);
    assert_int_equal(load(&v, &error), GSL_EINVAL);
    assert_memory_equal(error.text, "hf/tokenizer.json: ", 19);
    if (strstr(error.text, expected) == NULL) fail_msg("'%s' lacks '%s'", error.text, expected);
    assert_null(strchr(error.text, '\n'));
    assert_null(v.root);
    assert_null(v.piece);
}

TEST(tokenizers_that_are_not_known_are_refused)
{
    static const char *const pres[] = {
        "'pre_tokenizer':null",
        "'pre_tokenizer':{'type':'Whitespace'}",
        "'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':true,'use_regex':true}",
        "'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':false,'use_regex':false}",
        ("'pre_tokenizer':{'type':'Sequence','pretokenizers':[{'type':'Split','pattern':{'Regex':"
         "'\\\\s+'},'behavior':'Isolated'},{'type':'ByteLevel','add_prefix_space':false,"
         "'use_regex':false}]}"),
        ("'pre_tokenizer':{'type':'Sequence','pretokenizers':[{'type':'Digits'},{'type':"
         "'ByteLevel','add_prefix_space':false}]}"),
    };
    for (size_t i = 0; i < sizeof pres / sizeof pres[0]; i++)
        refused(
            pres[i], BPE,
            "is not one of gpt-2, llama-bpe, qwen2, qwen35, smollm, gpt-4o and tekken; move the "
            "file away");
    char steps[200];
    snprintf(steps, sizeof steps, "'pre_tokenizer':" BYTES, "true");
    refused(steps, "'ignore_merges':true," BPE, "is not one of gpt-2");
    refused("'normalizer':{'type':'Lowercase'}", BPE,
            "its normalizer 'Lowercase' is not supported");
    refused("", "'dropout':0.1," BPE, "its model 'BPE' is not plain BPE");
    refused("", "'end_of_word_suffix':'</w>'," BPE, "its model 'BPE' is not plain BPE");
    refused("'normalizer':{'type':'Replace','pattern':{'String':' '},'content':'\xe2\x96\x81'},"
            "'pre_tokenizer':{'type':'Split','pattern':{'String':'\xe2\x96\x81'},"
            "'behavior':'MergedWithPrevious'}",
            SPM, "normalizer 'Replace' and pre_tokenizer 'Split' are not SentencePiece's");
    refused("'pre_tokenizer':null", SPM, "are not SentencePiece's");
    refused("'pre_tokenizer':{'type':'Metaspace','replacement':'_','split':false}", SPM,
            "and pre_tokenizer 'Metaspace' are not SentencePiece's");
    write_text("hf/tokenizer.json", "{'model':{'type':'Unigram'}}");
    spec_folder_vocabulary v;
    assert_fails_with(load(&v, &error), GSL_EINVAL, "its model 'Unigram' is not plain BPE");
}

TEST(pieces_and_merges_must_fit)
{
    char steps[200];
    snprintf(steps, sizeof steps, "'pre_tokenizer':" BYTES, "true");
    refused(steps, "'vocab':{'a':10}",
            "token 'a' has the number 10, which is not below the 10 rows of the embedding");
    refused(steps, "'vocab':{'a':-1}", "token 'a' has the number -1");
    refused(steps, "'vocab':{'a':'0'}", "token 'a' has the number -1");
    refused(steps, "'vocab':{'a':6}", "tokens 'a' and '<tool>' have the same number");
    refused(steps, "'vocab':{'a':0},'merges':['ab']", "merge 0 is not a pair of pieces");
    refused(steps, "'vocab':{'a':0},'merges':[['a']]", "merge 0 is not a pair of pieces");
    refused(steps, "'vocab':{'a':0},'merges':[3]", "merge 0 is not a pair of pieces");
    refused(SPM_STEPS, "'byte_fallback':true,'vocab':{'a':0},'merges':['a a']",
            "merge 0 makes 'aa', which is not a piece");
    refused(SPM_STEPS, "'byte_fallback':true,'vocab':{'a':0},'merges':[3]",
            "merge 0 is not a pair of pieces");
    refused(SPM_STEPS,
            "'byte_fallback':true,'vocab':{'a':0,'b':1,'ab':2,'aba':3,'ba':4},"
            "'merges':['a b','ab a','b a','a ba']",
            "the merges into 'aba' are not neighbours");
}

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave);
