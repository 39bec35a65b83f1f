"""BERT's WordPiece tokenizer for uncased vocabularies, in plain Python."""
import unicodedata

LONGEST_WORD = 100
# Ideographs are words of their own: the CJK blocks, as BERT lists them.
_IDEOGRAPHS = ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
               (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F))


def _is_punctuation(character):
    code = ord(character)
    # BERT counts every ASCII symbol as punctuation, also those Unicode calls symbols: $ + < = > ^ ` | ~
    if 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126:
        return True
    return unicodedata.category(character).startswith("P")


def _is_ideograph(character):
    return any(first <= ord(character) <= last for first, last in _IDEOGRAPHS)


def _clean(text):
    kept = []
    for character in text:
        if character in "\t\n\r" or unicodedata.category(character) == "Zs":
            kept.append(" ")
        elif character == "\ufffd" or unicodedata.category(character) in ("Cc", "Cf", "Co"):
            continue
        elif _is_ideograph(character):
            kept.append(f" {character} ")
        else:
            kept.append(character)
    return "".join(kept)


def _without_accents(text):
    return "".join(character for character in unicodedata.normalize("NFD", text)
                   if unicodedata.category(character) != "Mn")


def _lower(text):
    # one character at a time: str.lower() would turn a closing sigma into its final form, which BERT's does not
    return "".join(character.lower() for character in text)


def split_words(text):
    """Lower-cased words and single punctuation marks, accents taken off."""
    words = []
    for chunk in _lower(_without_accents(_clean(text))).split():
        word = ""
        for character in chunk:
            if _is_punctuation(character):
                words += [word, character] if word else [character]
                word = ""
            else:
                word += character
        if word:
            words.append(word)
    return words


class Tokenizer:
    def __init__(self, vocabulary_path, longest=256):
        with open(vocabulary_path, encoding="utf-8") as file:
            self.ids = {line.rstrip("\n"): number for number, line in enumerate(file)}
        missing = [token for token in ("[PAD]", "[UNK]", "[CLS]", "[SEP]") if token not in self.ids]
        if missing:
            raise ValueError(f"{vocabulary_path}: lacks the token {missing[0]}")
        self.longest = longest

    def _pieces(self, word):
        """The longest known piece first, then the longest that goes on, marked ##."""
        if len(word) > LONGEST_WORD:
            return [self.ids["[UNK]"]]
        pieces, start = [], 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = ("##" if start else "") + word[start:end]
                if piece in self.ids:
                    break
            else:
                return [self.ids["[UNK]"]]
            pieces.append(self.ids[piece])
            start = end
        return pieces

    def encode(self, text):
        """Token ids, with [CLS] before and [SEP] behind, cut to the longest the model was trained for."""
        pieces = [piece for word in split_words(text) for piece in self._pieces(word)]
        return [self.ids["[CLS]"], *pieces[:self.longest - 2], self.ids["[SEP]"]]
