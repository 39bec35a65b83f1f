"""The MiniLM example's own parts, without the runtime: tokenizer, graph, reference, neighbours."""
import os
import sys

import numpy as np
import pytest

from harness import ROOT

sys.path.append(os.path.join(ROOT, "examples", "minilm"))

import minilm  # noqa: E402
import onnx_graph  # noqa: E402
import reference  # noqa: E402
import tokenizer  # noqa: E402
from weights import load_weights, package_file  # noqa: E402


@pytest.fixture(scope="module")
def words():
    return tokenizer.Tokenizer(package_file("vocab.txt"))


@pytest.mark.parametrize("text, expected", [
    ("Hello, World!", [101, 7592, 1010, 2088, 999, 102]),
    ("Zürich ΣΊΣ", [101, 10204, 1173, 18199, 29733, 102]),
    ("unaffable", [101, 14477, 20961, 3468, 102]),
    ("", [101, 102]),
    ("a\x00b\u200bc", [101, 5925, 102]),
    ("\t\n  \u3000", [101, 102]),
])
def test_known_texts_give_known_tokens(words, text, expected):
    assert words.encode(text) == expected


def test_accents_and_case_do_not_matter(words):
    assert words.encode("ZÜRICH Café") == words.encode("zurich cafe")


def test_ideographs_are_words_of_their_own():
    assert tokenizer.split_words("日本x") == ["日", "本", "x"]


def test_an_endless_word_is_unknown_and_a_long_text_is_cut(words):
    assert words.encode("x" * 101) == [101, 100, 102]
    ids = words.encode("word " * 400)
    assert len(ids) == 256 and ids[-1] == 102


def test_the_graph_equals_the_numpy_reference_and_topics_find_each_other(tmp_path):
    import onnxruntime

    weights = load_weights()
    path = str(tmp_path / "minilm.onnx")
    with open(path, "wb") as file:
        file.write(onnx_graph.build_model(weights).SerializeToString(deterministic=True))
    sentences = minilm.read_sentences(minilm.DEFAULT_TEXT)
    feed = minilm.encode_sentences(sentences)
    embedding, = onnxruntime.InferenceSession(path).run(None, feed)
    np.testing.assert_allclose(embedding, reference.embed(weights, **feed), rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(embedding, axis=1), 1, rtol=1e-5)

    def similarity(first, second):
        rows = [next(i for i, text in enumerate(sentences) if text.startswith(start)) for start in (first, second)]
        return float(embedding[rows[0]] @ embedding[rows[1]])

    for first, second, stranger in (("A cat sleeps", "A kitten is napping", "The central bank"),
                                    ("The telescope found", "Astronomers measured", "She kneads"),
                                    ("Our striker", "The home team", "The doctor told"),
                                    ("Bake the bread", "For a good loaf", "The train to")):
        assert similarity(first, second) > similarity(first, stranger) + 0.2


def test_padding_does_not_change_an_embedding():
    weights = load_weights()
    feed = minilm.encode_sentences(["A short one.", "A sentence that is a good deal longer than the other one."])
    alone = minilm.encode_sentences(["A short one."])
    padded = reference.embed(weights, **feed)[0]
    np.testing.assert_allclose(padded, reference.embed(weights, **alone)[0], rtol=1e-5, atol=1e-6)
