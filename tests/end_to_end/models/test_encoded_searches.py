"""Searches of com.microsoft behind an encoder: as onnxruntime finds the tokens, and stopped at every instruction."""
import numpy as np
import pytest
from encoded_graphs import FEATURES, make_graphs
from harness import REFUSED, write_npz, write_unchecked
from one_node import assert_near, check, expected, model_of, outputs_of

pytestmark = pytest.mark.one_home

FAILED_RUN = 1
# tokens that fill a text up in front are hidden, those behind and between are not
IDS = np.array([[3, 4, 5], [0, 7, 2], [7, 0, 2], [7, 2, 0]], np.int32)
SOUNDS = np.random.default_rng(5).standard_normal((2, FEATURES, 5)).astype(np.float32)
BEGUN = np.array([[2, 5, 3], [2, 6, 3]], np.int32)
WORDS = {"no_timestamps_token_id": 7, "start_of_lm_token_id": 6, "translate_token_id": 3, "transcribe_token_id": 4,
         "beginning_timestamp_token_id": 8}
END = {"eos_token_id": 1, "pad_token_id": 0, "decoder_start_token_id": 2}


def i(*values):
    return np.array(values, np.int32)


def f(*values):
    return np.array(values, np.float32)


def texts(graphs, *others, beams=3, returned=2, most=8, penalty=1.0, outputs=2, **attributes):
    arrays = [IDS, i(most), i(1), i(beams), i(returned), f(1), f(penalty), *others]
    return model_of("BeamSearch", arrays, {**graphs, **END, "model_type": 1, **attributes}, outputs)


def sounds(graphs, begun=None, times=None, heat=None, outputs=2, most=9, **attributes):
    arrays = [SOUNDS, i(most), i(1), i(3), i(2), f(1), f(1), None, None, None, begun, times, None, None, heat]
    return model_of("WhisperBeamSearch", arrays, {**graphs, **END, "model_type": 2, **attributes}, outputs)


def greedy(graphs, most=8, **attributes):
    return model_of("GreedySearch", [IDS, i(most)], {**graphs, **END, "model_type": 1, **attributes}, 1)


SPOKEN = make_graphs(3, sounds=True)
CASES = {
    "texts": texts(make_graphs(3, 3), outputs=3),
    "of_states": texts(make_graphs(3, hidden=True)),
    "cross_alone": texts(make_graphs(3, 3, cross_only=True), outputs=3),
    "layers": texts(make_graphs(4, 3, layers=2), early_stopping=1),
    "ends_at_once": texts(make_graphs(3, 60, layers=2)),
    "one_beam": texts(make_graphs(5), beams=1, returned=1),
    "processed": texts(make_graphs(5), penalty=1.5, no_repeat_ngram_size=2),
    "mask": texts(make_graphs(3), None, None, (IDS % 3 != 0).astype(np.int32)),
    "sounds": sounds(SPOKEN, outputs=3),
    "sounds_of_states": sounds(make_graphs(3, 3, sounds=True, hidden=True)),
    "begun_sounds": sounds(SPOKEN, BEGUN),
    "hot_sounds": sounds(SPOKEN, heat=f(2.5), outputs=3),
    "times": sounds(SPOKEN, times=i(1), **WORDS),
    "begun_times": sounds(make_graphs(3, 3, sounds=True), BEGUN, times=i(1), **WORDS),
    "more_times": sounds(make_graphs(8, sounds=True), times=i(1), most=16, **WORDS),
    "no_times": sounds(SPOKEN, times=i(0), **WORDS),
}
STOPPED = {"texts": texts(make_graphs(3), beams=2, most=4), "sounds": sounds(SPOKEN, times=i(1), most=4, **WORDS)}
REFUSED_CASES = {
    "type": (texts(make_graphs(3), model_type=3), "a model_type other than 0 and 1"),
    "no_start": (texts(make_graphs(3), decoder_start_token_id=-1), "a negative decoder_start_token_id"),
    "no_encoder": (texts({"decoder": make_graphs(3)["decoder"]}), "no encoder"),
    "beside": (texts(make_graphs(3), model_type=0), "an encoder beside model_type 0"),
    "states": (texts(make_graphs(3, cross_only=True, hidden=True)), "an encoder without them"),
    "layers": (texts({**make_graphs(3, layers=2), "decoder": make_graphs(3)["decoder"]}), "decoder: 6 inputs, where 10 are known"),
    "cross": (sounds(SPOKEN, decoder_output_cross_qk=1), "decoder_output_cross_qk"),
    "times": (sounds(SPOKEN, times=i(1)), "logits_processor without beginning_timestamp_token_id"),
    "silence": (sounds(SPOKEN, outputs=[0, 4]), "non_speech_probs without no_speech_token_id"),
    "products": (sounds(SPOKEN, outputs=[0, 3]), "output cross_qk"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_search_finds_what_onnxruntime_finds(home, tmp_path, name):
    model, given = CASES[name]
    assert_near(outputs_of(home, tmp_path, model, given), expected(model, given))


@pytest.mark.parametrize("name", STOPPED)
def test_a_search_is_stopped_at_every_instruction(home, tmp_path, name):
    model, given = STOPPED[name]
    check(home, tmp_path, model, given, expected(model, given))


@pytest.mark.parametrize("cross_only", (False, True))
def test_a_greedy_search_finds_what_one_beam_finds(home, tmp_path, cross_only):
    """onnxruntime has no greedy search behind an encoder; without an end its search of one beam is one."""
    graphs = make_graphs(6, cross_only=cross_only)
    wanted = expected(*texts(graphs, beams=1, returned=1, eos_token_id=50))["y0"][:, 0]
    np.testing.assert_array_equal(outputs_of(home, tmp_path, *greedy(graphs, eos_token_id=50))["y0"], wanted)


def test_the_odds_of_silence_are_those_of_the_first_round(home, tmp_path):
    """onnxruntime's search on a CPU leaves this output as its memory was. The scores of the first round are logarithms of odds."""
    model, given = sounds(SPOKEN, BEGUN, outputs=[0, 2, 4], no_speech_token_id=5)
    made = outputs_of(home, tmp_path, model, given)
    assert made["y4"].shape == (2,)
    np.testing.assert_allclose(made["y4"], np.exp(made["y2"][0, :, 0, 5]), rtol=1e-5)


def test_a_limit_below_the_first_ids_fails(home, tmp_path):
    model, given = sounds(SPOKEN, BEGUN, most=3)
    home.call("register", "m", write_unchecked(tmp_path / "m.onnx", model))
    home.refuses("run", "m", "--input", write_npz(tmp_path / "in.npz", **given), "--output", tmp_path / "out.npz", code=FAILED_RUN,
                 words=("max_length is not above the length of input_ids",))


@pytest.mark.parametrize("name", REFUSED_CASES)
def test_a_file_is_refused_with_its_reason(home, tmp_path, name):
    (model, _), words = REFUSED_CASES[name]
    home.refuses("register", "m", write_unchecked(tmp_path / "m.onnx", model), code=REFUSED, words=(words,))
