"""Searches of com.microsoft for the tokens that follow a text: as onnxruntime finds them, and stopped at every instruction."""
import numpy as np
import pytest
from harness import write_npz, write_unchecked
from one_node import assert_near, check, expected, model_of, outputs_of
from onnx import TensorProto, helper, numpy_helper

pytestmark = pytest.mark.one_home

TOKENS, HEADS, SIZE = 11, 3, 2
WIDTH = HEADS * SIZE
FAILED_RUN = 1
NO_TOKEN = 50
IDS = np.array([[3, 4, 5], [0, 7, 2]], np.int32)
MASK = np.ones(TOKENS, np.int32)
MASK[[2, 3, 5]] = 0
FIRST = np.ones((2, TOKENS), np.int32)
FIRST[0, :6] = FIRST[1, 6:] = 0
SEEN = np.array([[1, 1, 0], [0, 1, 1]], np.int32)


def i(*values):
    return np.array(values, np.int32)


def f(*values):
    return np.array(values, np.float32)


def decoder(seed, end=0.0, scale=1.0):
    """A small graph whose logits depend on ids, places, mask and cache; `end`: how likely token 1 is."""
    random = np.random.default_rng(seed)

    def weights(name, *shape, times=1.0):
        return numpy_helper.from_array((random.standard_normal(shape) * times).astype(np.float32), name)

    def numbers(name, *values):
        return numpy_helper.from_array(np.array(values, np.int64), name)

    likely = random.standard_normal(TOKENS).astype(np.float32)
    likely[1] += end
    constants = [weights("words", TOKENS, WIDTH), weights("places", 64, WIDTH), weights("out", WIDTH, TOKENS, times=scale),
                 numpy_helper.from_array(likely, "likely"), numpy_helper.from_array(np.float32(0.1), "tenth"),
                 numbers("heads", 0, 0, HEADS, SIZE), numbers("all", 0, -1), numbers("zero", 0), numbers("one", 1),
                 numbers("mask_axes", 0, 2, 4), numbers("sum_axes", 0, 3)]
    node = helper.make_node
    nodes = [node("Gather", ["words", "input_ids"], ["word"]), node("Gather", ["places", "position_ids"], ["place"]),
             node("Add", ["word", "place"], ["x"]), node("Reshape", ["x", "heads"], ["split"]),
             node("Transpose", ["split"], ["turned"], perm=[0, 2, 1, 3]), node("Unsqueeze", ["turned", "zero"], ["keys"]),
             node("Mul", ["keys", "tenth"], ["values"]), node("Concat", ["keys", "values"], ["both"], axis=0),
             node("Concat", ["past_0", "both"], ["present_0"], axis=3), node("Cast", ["attention_mask"], ["seen"], to=1),
             node("Unsqueeze", ["seen", "mask_axes"], ["factor"]), node("Mul", ["present_0", "factor"], ["masked"]),
             node("ReduceSum", ["masked", "sum_axes"], ["sum"], keepdims=0), node("Reshape", ["sum", "all"], ["flat"]),
             node("Unsqueeze", ["flat", "one"], ["context"]), node("Add", ["x", "context"], ["hidden"]),
             node("Tanh", ["hidden"], ["curve"]), node("MatMul", ["curve", "out"], ["product"]),
             node("Add", ["product", "likely"], ["logits"])]
    value, whole, real = helper.make_tensor_value_info, TensorProto.INT32, TensorProto.FLOAT
    inputs = [value("input_ids", whole, ["b", "s"]), value("position_ids", whole, ["b", "s"]),
              value("attention_mask", whole, ["b", "t"]), value("past_0", real, [2, "b", HEADS, "p", SIZE])]
    outputs = [value("logits", real, ["b", "s", TOKENS]), value("present_0", real, [2, "b", HEADS, "t", SIZE])]
    return helper.make_graph(nodes, "decoder", inputs, outputs, constants)


def greedy(graph, most, *others, **attributes):
    return model_of("GreedySearch", [IDS, i(most), *others], {"decoder": graph, "eos_token_id": 1, "pad_token_id": 0, **attributes}, 1)


def beams(graph, count, returned, *others, outputs=2, most=9, least=1, length=1.0, penalty=1.0, **attributes):
    arrays = [IDS, i(most), i(least), i(count), i(returned), f(length), f(penalty), *others]
    return model_of("BeamSearch", arrays, {"decoder": graph, "eos_token_id": 1, "pad_token_id": 0, **attributes}, outputs)


# Behind the end of all texts onnxruntime's greedy search leaves what its memory holds: here none ends before its last
# round.
GREEDY = {
    "plain": greedy(decoder(0), 9),
    "other_end": greedy(decoder(1), 9, eos_token_id=10, pad_token_id=9),
    "first_graph": greedy(decoder(1), 9, init_decoder=decoder(7), eos_token_id=NO_TOKEN),
    "penalty": greedy(decoder(4), 9, None, f(1.7), eos_token_id=NO_TOKEN),
    "no_repeats_1": greedy(decoder(4), 9, no_repeat_ngram_size=1, eos_token_id=NO_TOKEN),
    "no_repeats_2": greedy(decoder(4), 13, no_repeat_ngram_size=2, eos_token_id=NO_TOKEN),
    "no_repeats_4": greedy(decoder(4), 9, no_repeat_ngram_size=4, eos_token_id=NO_TOKEN),
    "least": greedy(decoder(1, 60), 6, i(6)),
    "mask": greedy(decoder(4), 9, None, None, MASK),
    "first_mask": greedy(decoder(4), 9, None, None, None, FIRST),
    "attention_mask": greedy(decoder(4), 9, None, None, None, None, SEEN),
}
BEAMS = {
    **{f"of_{seed}": beams(decoder(seed), 3, 2) for seed in range(3)},
    **{f"all_{end}": beams(decoder(2, end), 4, 4, length=0.5) for end in (1, 3, 6, 60)},
    **{f"early_{end}": beams(decoder(2, end), 3, 2, early_stopping=1) for end in (1, 3, 6, 60)},
    "one": beams(decoder(2), 1, 1),
    "first_graph": beams(decoder(2), 3, 2, init_decoder=decoder(8)),
    "least": beams(decoder(2, 6), 3, 2, least=7, length=2.0),
    "scores": beams(decoder(3), 3, 2, outputs=3),
    "many": beams(decoder(3), 12, 2, most=6),
    "penalty": beams(decoder(3), 3, 2, penalty=1.5),
    "no_repeats": beams(decoder(3), 3, 2, no_repeat_ngram_size=2),
    "mask": beams(decoder(3), 3, 2, MASK),
    "first_mask": beams(decoder(3), 3, 2, None, FIRST),
    "attention_mask": beams(decoder(3), 3, 2, None, None, SEEN),
}
CASES = {f"{kind}_{name}": case for kind, cases in (("greedy", GREEDY), ("beams", BEAMS)) for name, case in cases.items()}
STOPPED = {"greedy": greedy(decoder(0), 5), "beams": beams(decoder(2, 2), 2, 2, most=5)}
FAILED = {
    "too_short": (greedy(decoder(0), 3), "max_length is not above the length of input_ids"),
    "no_such_token": (greedy(decoder(0), 9, None, f(0)), "repetition_penalty is not above 0"),
    "no_beams": (beams(decoder(0), 0, 0), "num_beams is not 1 to 128"),
    "too_many_beams": (beams(decoder(0), 129, 1), "num_beams is not 1 to 128"),
    "too_many_returned": (beams(decoder(0), 2, 3), "num_return_sequences is not 1 to num_beams"),
    "too_long": (beams(decoder(0), 2, 2, most=4097), "max_length is above 4096"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_search_finds_what_onnxruntime_finds(home, tmp_path, name):
    model, given = CASES[name]
    assert_near(outputs_of(home, tmp_path, model, given), expected(model, given))


@pytest.mark.parametrize("name", STOPPED)
def test_a_search_is_stopped_at_every_instruction(home, tmp_path, name):
    model, given = STOPPED[name]
    check(home, tmp_path, model, given, expected(model, given))


def test_a_search_that_ends_early_is_filled_up(home, tmp_path):
    model, given = greedy(decoder(1, 60), 7)
    assert outputs_of(home, tmp_path, model, given)["y0"].tolist() == [[3, 4, 5, 0, 0, 0, 0], [0, 7, 2, 0, 0, 0, 0]]


@pytest.mark.parametrize("name", FAILED)
def test_a_search_that_onnxruntime_refuses_fails(home, tmp_path, name):
    (model, given), words = FAILED[name]
    with pytest.raises(Exception):
        expected(model, given)
    home.call("register", "m", write_unchecked(tmp_path / "m.onnx", model))
    home.refuses("run", "m", "--input", write_npz(tmp_path / "in.npz", **given), "--output", tmp_path / "out.npz", code=FAILED_RUN,
                 words=(words,))
