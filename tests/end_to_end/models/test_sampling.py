"""Sampling of com.microsoft: the tokens that onnxruntime draws from the same seed, and what must hold of all draws."""
import numpy as np
import pytest
from encoded_graphs import make_graphs
from harness import load, write_npz, write_unchecked
from one_node import check, expected, model_of, outputs_of
from test_searches import IDS, NO_TOKEN, TOKENS, decoder, greedy, i

pytestmark = pytest.mark.one_home

FAILED_RUN = 1
LAST_SEED = 2**31 - 1
LIKELY = decoder(0, scale=0.3)
PENALIZED = (6, 7)
PRESENT = np.zeros((len(IDS), TOKENS), np.int32)
PRESENT[:, PENALIZED] = 1


def sampling(seed, graph=LIKELY, most=10, presence=None, **attributes):
    given = None if seed is None else i(seed)
    return model_of("Sampling", [IDS, i(most), None, None, None, None, None, presence, given],
                    {"decoder": graph, "eos_token_id": NO_TOKEN, "pad_token_id": 0, "top_p": 0.9, **attributes}, 1)


# None of these ends before its last round: behind the end of all texts onnxruntime leaves what its memory holds.
CASES = {
    "first": sampling(0),
    "last": sampling(LAST_SEED),
    "seed": sampling(123456, most=16),
    "all": sampling(7, top_p=1.0),
    "few": sampling(7, top_p=0.3),
    "hot": sampling(7, top_p=0.7, temperature=3.0),
    "cold": sampling(7, top_p=0.8, temperature=0.3),
    "least": sampling(7, top_p=0.5, min_tokens_to_keep=4),
    "weak_filter": sampling(7, top_p=0.5, filter_value=-3.0),
    "endless_filter": sampling(7, top_p=0.5, filter_value=float("-inf")),
    "custom": sampling(7, top_p=0.5, custom=1),
    "no_repeats": sampling(7, no_repeat_ngram_size=2),
}
SEEDS = range(12)


def tokens_of(home, folder, case):
    """The drawn tokens, [texts, rounds]."""
    model, given = case
    return outputs_of(home, folder, model, given)["y0"][:, IDS.shape[1]:]


def tokens_of_seeds(home, folder, **attributes):
    """The same model with many seeds, [seeds, texts, rounds]."""
    home.call("register", "m", write_unchecked(folder / "m.onnx", sampling(0, **attributes)[0]))
    drawn = []
    for seed in SEEDS:
        given = sampling(seed, **attributes)[1]
        home.call("run", "m", "--input", write_npz(folder / "in.npz", **given), "--output", folder / "out.npz")
        drawn.append(load(folder / "out.npz")["y0"][:, IDS.shape[1]:])
    return np.stack(drawn)


@pytest.mark.parametrize("name", CASES)
def test_the_tokens_are_those_that_onnxruntime_draws(home, tmp_path, name):
    np.testing.assert_array_equal(tokens_of(home, tmp_path, CASES[name]), expected(*CASES[name])["y0"][:, IDS.shape[1]:])


def test_a_sampling_is_stopped_at_every_instruction(home, tmp_path):
    case = sampling(7, most=5)
    check(home, tmp_path, *case, expected(*case))


@pytest.mark.parametrize("top_p", (0.0, 1e-6))
def test_with_a_top_p_near_0_the_best_token_is_taken(home, tmp_path, top_p):
    """onnxruntime filters the best token too where top_p is 0, and then draws any."""
    np.testing.assert_array_equal(tokens_of(home, tmp_path, sampling(7, top_p=top_p)),
                                  expected(*greedy(LIKELY, 10, eos_token_id=NO_TOKEN))["y0"][:, IDS.shape[1]:])


def test_tokens_with_a_high_presence_penalty_are_not_drawn(home, tmp_path):
    """onnxruntime's CPU doesn't take the penalty from the odds."""
    plain = tokens_of_seeds(home, tmp_path, top_p=1.0)
    assert np.isin(plain, PENALIZED).any()
    penalized = tokens_of_seeds(home, tmp_path, top_p=1.0, presence=PRESENT, presence_penalty=1000.0)
    assert not np.isin(penalized, PENALIZED).any()


def test_filtered_tokens_are_never_drawn(home, tmp_path):
    """In the first round the three likeliest tokens have more than top_p together."""
    first = np.concatenate([tokens[:, 0] for tokens in tokens_of_seeds(home, tmp_path, most=4, top_p=0.3)])
    wide = np.concatenate([tokens[:, 0] for tokens in tokens_of_seeds(home, tmp_path, most=4, top_p=1.0)])
    assert set(first) < set(wide)


def test_without_a_seed_a_run_is_that_of_seed_0(home, tmp_path):
    np.testing.assert_array_equal(tokens_of(home, tmp_path, sampling(None)), expected(*sampling(0))["y0"][:, IDS.shape[1]:])


def test_an_ended_text_is_filled_up(home, tmp_path):
    tokens = tokens_of(home, tmp_path, sampling(7, eos_token_id=6))
    ends = [list(row).index(0) for row in tokens]
    assert max(ends) < tokens.shape[1] and all((row[end:] == 0).all() for row, end in zip(tokens, ends))


def test_sampling_behind_an_encoder_with_a_top_p_of_0_is_greedy(home, tmp_path):
    graphs = make_graphs(6)
    common = {**graphs, "eos_token_id": NO_TOKEN, "pad_token_id": 0, "decoder_start_token_id": 2, "model_type": 1}
    wanted = tokens_of(home, tmp_path, model_of("GreedySearch", [IDS, i(8)], common, 1))
    np.testing.assert_array_equal(tokens_of(home, tmp_path, model_of("Sampling", [IDS, i(8)], common, 1)), wanted)


def test_a_negative_seed_fails(home, tmp_path):
    model, given = sampling(-1)
    with pytest.raises(Exception):
        expected(model, given)
    home.call("register", "m", write_unchecked(tmp_path / "m.onnx", model))
    home.refuses("run", "m", "--input", write_npz(tmp_path / "in.npz", **given), "--output", tmp_path / "out.npz", code=FAILED_RUN,
                 words=("seed is below 0",))
