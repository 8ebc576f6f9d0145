"""Token ids as the texts that they stand for, whatever alphabet a tokenizer writes them in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from evenodds.places import BUNDLED, bundled_folder

LARGEST = 200 << 20  # bytes of a tokenizer.json that is still read
REPLACED = {"▁": " "}  # what SentencePiece writes for a space


@cache
def byte_alphabet() -> dict[str, int]:
    """The printable character that byte-level vocabularies write for each of the 256 bytes.

    Bytes that print as one character of Latin-1 stand for themselves; the others, in order, for
    the characters from U+0100. (The alphabet of GPT-2, which all byte-level tokenizers share.)
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(printable)]
    moved = {chr(256 + place): byte for place, byte in enumerate(others)}
    return {**{chr(byte): byte for byte in printable}, **moved}


@dataclass(frozen=True)
class Vocabulary:
    """What the ids of a run's tokenizer stand for.

    byte_level: pieces are written in `byte_alphabet`. byte_fallback: `<0xF0>` is one byte.
    added: texts that were added to the vocabulary as they are, by id.
    """

    tokenizer: Any
    byte_level: bool
    byte_fallback: bool
    added: dict[int, str] = field(default_factory=dict[int, str])

    def bytes_of(self, number: int) -> bytes | None:
        """The bytes of a token; None for an id that the vocabulary does not have."""
        if number in self.added:
            return self.added[number].encode("utf-8", "replace")
        piece = self.tokenizer.id_to_token(number) if 0 <= number < 1 << 31 else None
        if piece is None:
            return None
        if self.byte_level:
            table = byte_alphabet()
            if all(char in table for char in piece):
                return bytes(table[char] for char in piece)
        if self.byte_fallback and len(piece) == 6 and piece.startswith("<0x"):
            return _one_byte(piece) or piece.encode()
        for written, meant in REPLACED.items():
            piece = piece.replace(written, meant)
        return piece.encode("utf-8", "replace")

    def texts(self, ids: Iterable[int]) -> list[str]:
        """The text of each token of one answer; `⟨#12⟩` for an id that is not in the vocabulary."""
        numbers = [int(number) for number in ids]
        known = {number: self.bytes_of(number) for number in set(numbers)}
        return pieces([_or_number(known[number], number) for number in numbers])


def _one_byte(piece: str) -> bytes | None:
    try:
        return bytes([int(piece[3:5], 16)])
    except ValueError:
        return None


def _or_number(found: bytes | None, number: int) -> bytes:
    return f"⟨#{number}⟩".encode() if found is None else found


def numbered(ids: Iterable[int]) -> list[str]:
    """What is shown where there is no tokenizer: the ids themselves."""
    return [f"{int(number)} " for number in ids]


def pieces(tokens: Sequence[bytes]) -> list[str]:
    """The text of each token of a UTF-8 text that tokens may cut within a character.

    Such a character stands whole in the token that ends it; earlier ones show their bytes, as
    `⟨F0 9F⟩`, and so does what is no UTF-8 at all.
    """
    try:
        return [token.decode() for token in tokens]
    except UnicodeDecodeError:
        return _joined(tokens)


def _joined(tokens: Sequence[bytes]) -> list[str]:
    text = b"".join(tokens).decode("utf-8", "surrogateescape")
    owners = [place for place, token in enumerate(tokens) for _ in token]
    shown: list[list[str | int]] = [[] for _ in tokens]
    at = 0
    for char in text:
        encoded = char.encode("utf-8", "surrogateescape")
        last = owners[at + len(encoded) - 1]
        is_lone = 0xDC80 <= ord(char) <= 0xDCFF  # a byte that is no part of a character
        for owner, byte in zip(owners[at : at + len(encoded)], encoded, strict=True):
            if is_lone or owner != last:
                shown[owner].append(byte)
        if not is_lone:
            shown[last].append(char)
        at += len(encoded)
    return [_text(parts) for parts in shown]


def _text(parts: Sequence[str | int]) -> str:
    """Characters as they are; runs of single bytes as one escape."""
    written: list[str] = []
    run: list[str] = []
    for part in [*parts, ""]:
        if isinstance(part, int):
            run.append(f"{part:02X}")
            continue
        if run:
            written.append(f"⟨{' '.join(run)}⟩")
            run = []
        written.append(part)
    return "".join(written)


def read_vocabulary(path: Path) -> Vocabulary | None:
    """The vocabulary of a tokenizer.json, or None where there is none that can be read."""
    from tokenizers import Tokenizer

    try:
        if path.stat().st_size > LARGEST:
            return None
        made: Any = Tokenizer.from_file(str(path))
        decoder = repr(made.decoder)
        added = {int(n): str(token.content) for n, token in made.get_added_tokens_decoder().items()}
    except Exception:  # the reader raises bare Exceptions
        return None
    return Vocabulary(made, "ByteLevel" in decoder, "ByteFallback" in decoder, added)


def find_tokenizer(folder: Path, policy: str) -> Path | None:
    """The tokenizer.json that a run's tokens were made with: its own copy, or its policy's.

    policy: `policy.name` of its config; a name of the hub is looked up in the local cache alone.
    """
    name = "tokenizer.json"
    saved = sorted((folder / "checkpoints").glob("step-*/policy"), reverse=True)
    own = bundled_folder() if policy == BUNDLED else Path(policy)
    places = [place / name for place in (folder / "model", *saved, own)]
    found = next((place for place in places if _is_file(place)), None)
    return found or _cached(policy, name)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that is too long, or no name of a file at all
        return False


def _cached(policy: str, name: str) -> Path | None:
    from huggingface_hub import try_to_load_from_cache

    try:
        found = try_to_load_from_cache(policy, name)
    except Exception:  # what is no name of the hub
        return None
    return Path(found) if isinstance(found, str) else None
