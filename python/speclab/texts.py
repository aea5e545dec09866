# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts that speculation writes, with the origin of each token."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from . import library
from .calls import Handle, call, new_stop
from .library import ffi, lib, struct, text
from .rounds import pair_of, tokens_of

ORIGINS = ("draft", "correction", "bonus", "target")
_ENDINGS = ("goes on", "length", "end of text", "window")


class Text:
    """A text, round by round; `generate` writes it whole.

    token   the tokens so far
    origin  of each: "draft" (accepted), "correction", "bonus", or "target" if nothing was drafted
    ending  "goes on", "length", "end of text" or "window"
    """

    def __init__(self, handle: Handle, stop: object) -> None:
        self._handle, self._stop = handle, stop
        self.token: list[int] = []
        self.origin: list[str] = []
        self.rounds, self.drafted = 0, 0
        self.ending = _ENDINGS[0]
        self._pieces: list[bytes] = []

    def round(self) -> bool:
        """Adds a round; False if the text has ended."""
        if self.ending != _ENDINGS[0]:
            return False
        part = struct("speclab_text_part")
        self._handle.call(lib.speclab_text_round, part, self._handle.pointer, stop=self._stop)
        self.ending = _ENDINGS[part.ending]
        self.rounds += part.n > 0
        self.drafted += part.n_drafted
        begin = 0
        for i in range(part.n):
            self.token.append(part.token[i])
            self.origin.append(ORIGINS[part.origin[i]])
            self._pieces.append(bytes(ffi.buffer(part.bytes + begin, part.end[i] - begin)))
            begin = part.end[i]
        return self.ending == _ENDINGS[0]

    @property
    def accepted(self) -> int:
        """The accepted draft tokens."""
        return self.origin.count("draft")

    def __str__(self) -> str:
        return b"".join(self._pieces).decode(errors="replace")

    def __repr__(self) -> str:
        return (f"<Text of {len(self.token)} tokens in {self.rounds} rounds, "
                f"{self.accepted} of {self.drafted} draft tokens accepted>")

    def _repr_html_(self) -> str:
        spans = [f'<span title="{origin}" style="{_STYLES[origin]}">'
                 f'{escape(piece.decode(errors="replace"))}</span>'
                 for piece, origin in zip(self._pieces, self.origin)]
        return f'<p style="white-space:pre-wrap">{"".join(spans)}</p><p>{escape(repr(self))}</p>'


# Okabe-Ito colours, and a form for readers who do not see them.
_STYLES = {
    "draft": "color:#0072b2;text-decoration:underline",
    "correction": "color:#d55e00;font-weight:bold",
    "bonus": "color:#009e73;font-style:italic",
    "target": "",
}


def generate(target: str, draft: str | None = None, K: int = 4, *,
             prompt: str | Sequence[int] | None = None, most: int = 64, seed: int = 42,
             number: int = 0, rule: str | None = None, drafting: str | None = None,
             policy: str | None = None, whole: bool = True) -> Text:
    """Writes the text of `speclab generate` with the same seed, of at most `most` tokens.

    prompt  a text for the target's tokenizer, or tokens
    number  of the text among those of a seed
    whole   False: opens it without a round, for `Text.round`
    """
    stop = new_stop()
    words = prompt if isinstance(prompt, str) else None
    token, n = tokens_of(None if isinstance(prompt, str) else prompt)
    options = struct("speclab_text_options", seed=seed, number=number, most=most,
                     prompt=text(words), token=token, n_token=n, opt_stop=stop)
    made, lab = ffi.new("speclab_text **"), library.lab()
    call(lib.speclab_text_open, made, lab, pair_of(target, draft, K, drafting, policy, rule),
         options, stop=stop)
    written = Text(Handle(made[0], lib.speclab_text_close, lab, options), stop)
    while whole and written.round():
        pass
    return written
