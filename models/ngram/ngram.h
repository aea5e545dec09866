/* ngram: an n-gram model of real text, learnt from files when it is opened.
 *     ngram:PATH?order=4&tokens=bytes|chars|words|target&V=0&limit=0
 * An order-n model conditions on n-1 tokens by interpolated Kneser-Ney (models/ngram/kneser_ney.h). PATH is a file, a
 * pipe or a pattern of glob(3), each file one text; n-grams do not cross from one to the next. Owns all it learnt. */
#ifndef SPECLAB_NGRAM_H
#define SPECLAB_NGRAM_H

#include "models/model.h"

/* order   1..6, default 4
 * tokens  bytes (default): V = 256. chars: the text's UTF-8 characters by first appearance; token 0 is U+FFFD, which
 *         stands for invalid bytes and unknown characters. words: see models/ngram/piece.h; token 0 is <unk>, the
 *         others are numbered by frequency.
 *         target: for a draft, the tokens of its target's tokenizer, its vocabulary and its end of text; the target
 *         outlives it. Texts are tokenized in parts of about 256 kB, each as if it began a text.
 * V       words only: most tokens, <unk> included, 2..2^20; 0: 32768
 * limit   read the first so many bytes; 0: all
 *
 * Models of the same path, limit, tokens and V share their vocabulary, whatever their orders; all byte models do.
 * Text is read in blocks, so memory grows with the different n-grams of the highest order, not with the text: about 45
 * bytes for each while learning (80 where nearly all differ), and 30 kept. 100 MB of bytes with 8 million different
 * 5-grams take 390 MB. Words also take 4 bytes for each token of the text while learning, since their vocabulary is
 * known only at its end.
 * No token ends a text (end_of_text is -1). Prompts are pieces of up to 32 tokens from all over the text. */
extern const spec_model_kind spec_model_ngram;

#endif
