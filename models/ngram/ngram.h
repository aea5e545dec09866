/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ngram: an n-gram model of real text, learnt from files when it is opened.
 *     ngram:PATH?order=4&tokens=bytes|chars|words|target&V=0&limit=0
 * An order-n model conditions on n-1 tokens by interpolated Kneser-Ney (models/ngram/kneser_ney.h).
 * PATH is a file, a pipe or a glob(3) pattern. Each file is one text, and n-grams do not cross from
 * one text into the next. The model owns its vocabulary and counts. */
#ifndef SPECLAB_NGRAM_H
#define SPECLAB_NGRAM_H

#include "models/model.h"

/* order   1..6, default 4
 * tokens  bytes (default): V = 256.
 *         chars: the text's UTF-8 characters by first appearance; token 0 is U+FFFD, for
 *         invalid bytes and unknown characters.
 *         words: see models/ngram/text_unit.h; token 0 is <unk>, the others are numbered by
 *         frequency.
 *         target: for a draft; the target's tokenizer, vocabulary and end of text. The
 *         target must outlive the draft. Texts are tokenized in parts of about 256 kB, each
 *         as if it began a text.
 * V       words only: most tokens, <unk> included, 2..2^20; 0: 32768
 * limit   read only this many bytes; 0: all
 *
 * Models with the same path, limit, tokens and V have the same vocabulary, for any order; all byte
 * models do. Text is read in blocks, so memory grows with the number of different n-grams of the
 * highest order, not with the text: about 45 bytes per n-gram while learning (80 if nearly all
 * differ), and 30 afterwards. 100 MB of bytes with 8 million different 5-grams take 390 MB. Words
 * take 4 more bytes per token while learning, since their vocabulary is known only at the end of
 * the text. No token ends a text. Prompts are up to 32 consecutive tokens from anywhere. */
extern const spec_model_kind spec_model_ngram;

#endif
