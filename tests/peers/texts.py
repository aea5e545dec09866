# SPDX-License-Identifier: GPL-3.0-or-later
"""Generated texts of many scripts, for training vocabularies and for comparing tokens."""
import random

# Ranges of letters, by script; marks are listed apart, as they follow a letter.
SCRIPTS = {
    "latin": ["a-z", ""], "accents": ["à-öø-ÿāēīōūčšžğış", ""], "greek": ["α-ω", ""],
    "cyrillic": ["а-яё", ""], "hebrew": ["א-ת", "ְִֶַּ"], "arabic": ["ء-غف-ي", "َُِّ"],
    "hindi": ["क-ह", "ािीुेो्"], "thai": ["ก-ฮ", "ะัาิีุ่้"], "khmer": ["ក-អ", "ាិីុេោ្"],
    "han": ["一丁七万三上下不与中九事二人今他会作你来俄信做儿全公共关其再写冬冰决", ""],
    "kana": ["ぁ-んァ-ン", ""], "hangul": ["가각간갈감강개거건고공과관구국군그기나남내너", ""],
    "georgian": ["ა-ჰ", ""], "title": ["ǅǈǋ", ""], "modifier": ["ʰʲʷˀ", ""],
    "combined": ["aeou", "\u0301\u0308\u0330\u20dd"],
}
CODE = ["if (x == 0) return -1;\n", "for i in range(10):\n    print(i ** 2)\n",
        "\t\tint *p = &a[3];",
        "#include <stdio.h>\r\n", "a+=b<<2|c&~d;", "https://example.org/a?b=c&d=%20#e", "x_1, y_2",
        "{\"key\": [1.5e-3, null, true]}", "// NOTE: what's this?", "```c\nmain(){}\n```",
        "$HOME/*",
        "SELECT * FROM t WHERE a<>'b';", "\\frac{1}{2} \\alpha_{ij}^2", "C++/C#", "!!!???...---==="]
SIGNS = ["😀", "🚀🚀", "👩\u200d👩\u200d👧", "🇩🇪", "✅", "👍🏽", "→", "«»", "“quoted”", "…", "€5", "½",
         "²³", "٣٤٥", "①②", "Ⅳ", "ﬁ", "\u00a0", "\u3000", "\u2028", "\u200b", "\ufeff", "\x01",
         "\x7f", "\x1b[0m", "\u0300", "\u0085", "𝔘𝔫𝔦", "🫠", "\U0010ffff"]
SUFFIXES = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'LL", "’s", "'x", "ſ", "'ſ"]
SPACES = [" ", " ", " ", " ", " ", "  ", "   ", "\n", "\n\n", "\t", " \n ", "\r\n", "\n\n\n",
          "     ", "", "\u00a0", "\v\f"]


def letters_of(ranges):
    found = []
    at = 0
    while at < len(ranges):
        if ranges[at + 1:at + 2] == "-":
            found += [chr(c) for c in range(ord(ranges[at]), ord(ranges[at + 2]) + 1)]
            at += 3
        else:
            found.append(ranges[at])
            at += 1
    return found


class Writer:
    """Texts whose words repeat, so that merges are learned; `latin` of 10 words are Latin."""

    def __init__(self, seed, latin=6):
        self.chance = random.Random(seed)
        words = random.Random(1)  # all writers share their words
        self.latin = latin
        self.words = {name: [self.invent(words, *parts) for _ in range(60)]
                      for name, parts in SCRIPTS.items()}

    @staticmethod
    def invent(words, ranges, marks):
        letters = letters_of(ranges)
        made = ""
        for _ in range(words.choice([1, 2, 3, 3, 4, 5, 7])):
            made += words.choice(letters)
            if marks and words.random() < 0.4:
                made += words.choice(marks)
        return made

    def word(self):
        roll, pick = self.chance.random(), self.chance.choice
        if roll < 0.05:
            return pick(CODE)
        if roll < 0.10:
            return pick(SIGNS)
        if roll < 0.16:
            return str(self.chance.randrange(10 ** self.chance.randrange(1, 12)))
        if roll < 0.17:
            return pick("ab-=. \n") * self.chance.randrange(5, 70)
        script = "latin" if self.chance.random() * 10 < self.latin else pick(list(SCRIPTS))
        word = self.words[script][min(int(self.chance.expovariate(0.08)), 59)]
        how = self.chance.random()
        word = word.capitalize() if how < 0.15 else word.upper() if how < 0.2 else word
        if how > 0.93:
            word += pick(SUFFIXES)
        elif how > 0.85:
            word += pick(",.;:!?)")
        elif how > 0.82:
            word += self.words["latin"][0].capitalize()
        return word

    def text(self, words):
        return "".join(self.word() + self.chance.choice(SPACES) for _ in range(words))


def hard_texts():
    """Single cases: empty ends, blanks, and each sign beside letters."""
    texts = ["a", " ", "  ", " a", "a ", "\n", "\n\n", " \n", "\n ", "a\n\nb", "a \n\n b", "\t\t",
             "\r\n\r\n", "x" * 300, " " * 100, "\n" * 40, "1234567890" * 5, "a" + " " * 17 + "b",
             "I'M I'm i'M", "don't DON'T", "''s", "'sa", "HELLOWorld helloWORLD HelloWorld",
             "éÉ e\u0301E\u0301",
             "1,234.5", "a1b2", "日本語のテキスト", "مرحبا بالعالم", "नमस्ते", "สวัสดี", "▁", "a▁b", "<s>",
             "<|x|>"]
    texts += [f"a{s}b {s} {s}{s}" for s in SIGNS + SUFFIXES]
    texts += [f"{c}x {c}1{c}{c}\n{c}" for c in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"]
    return texts
