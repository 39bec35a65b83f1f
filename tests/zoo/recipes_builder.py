"""Graphs that model builders write with the operators of com.microsoft: older ones, channels last, loops that generate text."""
import numpy as np
import recipes_models
from onnx import TensorProto, helper
from recipe import Recipe, export, given, reals, seed, whole
from recipes_script import MICROSOFT, _node, _normal, _value, _weights, built

INT32, INT64 = TensorProto.INT32, TensorProto.INT64
TINY_GPT2 = {"vocab_size": 40, "n_positions": 24, "n_embd": 16, "n_layer": 1, "n_head": 2}


def _indexing():
    nodes = [_node("Range", ["zero", "limit", "two"], ["steps"]), helper.make_node("Cast", ["steps"], ["steps64"], to=INT64),
             helper.make_node("Unsqueeze", ["steps64", "last"], ["index"]), _node("GatherND", ["x", "index"], ["a"]),
             _node("Pad", ["a", "pads", "fill"], ["b"], mode="constant"), _node("Trilu", ["b"], ["c"], upper=0),
             _node("UnfoldTensor", ["c"], ["d"], dim=1, size=3, step=2), _node("ExpandDims", ["d", "zero"], ["out"]),
             helper.make_node("Reshape", ["x", "last"], ["flat"]), helper.make_node("Round", ["flat"], ["whole"]),
             _node("Unique", ["whole"], ["values", "first", "counts"])]
    weights = _weights(zero=np.array(0, np.int32), limit=np.array(6, np.int32), two=np.array(2, np.int32), last=np.array([-1]),
                       pads=np.array([1, 0, 0, 2]), fill=np.array([0.5], np.float32))
    outputs = [_value("out", None), _value("values", None), _value("first", None, INT64), _value("counts", None, INT64)]
    return built("older_indexing", nodes, [_value("x", [6, 5])], outputs, weights, {"x": reals(6, 5)})


def _pictures():
    nodes = [_node("ConvTransposeWithDynamicPads", ["x", "w", "pads"], ["a"], strides=[2, 2], kernel_shape=[3, 3]),
             _node("GridSample", ["a", "grid"], ["b"], align_corners=0, mode="bilinear", padding_mode="border"),
             _node("MaxpoolWithMask", ["b", "mask"], ["c"], kernel_shape=[2, 2], strides=[2, 2]),
             _node("Inverse", ["c"], ["out"])]
    weights = _weights(w=_normal(2, 3, 3, 3), pads=np.array([1, 1, 1, 1]), grid=np.clip(_normal(1, 6, 6, 2) * 3, -1, 1),
                       mask=np.ones((1, 3, 6, 6), np.int32))
    return built("older_pictures", nodes, [_value("x", [1, 2, 5, 5])], [_value("out", [1, 3, 3, 3])], weights,
                 {"x": reals(1, 2, 5, 5)})


def _texts():
    nodes = [_node("MurmurHash3", ["x"], ["hash"], seed=7, positive=1),
             _node("NGramRepeatBlock", ["ids", "scores"], ["low"], ngram_size=2),
             helper.make_node("Clip", ["low", "least"], ["blocked"]),
             _node("DynamicTimeWarping", ["cost"], ["path"])]
    return built("hashes_and_repeats", nodes,
                 [_value("x", [4], INT32), _value("ids", [1, 6], INT64), _value("scores", [1, 9]), _value("cost", [1, 4, 5])],
                 [_value("hash", [4], TensorProto.UINT32), _value("blocked", [1, 9]), _value("path", None, INT32)],
                 _weights(least=np.array(-100, np.float32)),
                 {"x": whole(4, high=1000, dtype="int32"), "ids": given([[1, 2, 3, 1, 4, 1]], "int64"), "scores": reals(1, 9),
                  "cost": reals(1, 4, 5)})


def _characters():
    nodes = [_node("WordConvEmbedding", ["x", "w", "b", "table"], ["y"], embedding_size=12, conv_window_size=3,
                   char_embedding_size=8)]
    return built("characters_of_words", nodes, [_value("x", [4, 7], INT32)], [_value("y", None)],
                 _weights(w=_normal(12, 1, 3, 8), b=_normal(12), table=_normal(30, 8)),
                 {"x": whole(4, 7, low=1, high=30, dtype="int32")})


def _scales(**numbers):
    return [item for name, (scale, zero) in numbers.items()
            for item in _weights(**{f"{name}_scale": np.array(scale, np.float32), f"{name}_zero": np.array(zero, np.uint8)})]


def _channels_last():
    """A quantised network whose activations have their channels last."""
    nodes = [_node("QuantizeLinear", ["x", "x_scale", "x_zero"], ["a"]),
             _node("QLinearConv", ["a", "x_scale", "x_zero", "w", "w_scale", "w_zero", "y_scale", "y_zero", "b"], ["c"],
                   channels_last=1, kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
             _node("NhwcMaxPool", ["c"], ["d"], kernel_shape=[2, 2], strides=[2, 2]),
             _node("QLinearWhere", ["choice", "d", "y_scale", "y_zero", "other", "x_scale", "x_zero", "y_scale", "y_zero"], ["e"]),
             _node("DequantizeLinear", ["e", "y_scale", "y_zero"], ["y"])]
    random = np.random.RandomState(2)
    weights = _scales(x=(0.02, 128), w=(0.01, 120), y=(0.03, 100)) + _weights(
        w=random.randint(0, 256, (8, 3, 3, 3)).astype(np.uint8), b=random.randint(-500, 500, 8).astype(np.int32),
        choice=random.rand(1, 4, 4, 8) > 0.3, other=random.randint(0, 256, (1, 4, 4, 8)).astype(np.uint8))
    return built("channels_last_quantised", nodes, [_value("x", [1, 8, 8, 3])], [_value("y", [1, 4, 4, 8])], weights,
                 {"x": reals(1, 8, 8, 3)}, "quantised", "quantised")


def _wide_integers():
    nodes = [_node("QuantizeLinear", ["x", "scale", "zero"], ["a"]), _node("MatMulInteger16", ["a", "w"], ["b"]),
             helper.make_node("Cast", ["b"], ["c"], to=1), _node("DequantizeLinear", ["a", "scale", "zero"], ["back"])]
    random = np.random.RandomState(3)
    return built("integers_of_16_bits", nodes, [_value("x", [3, 16])], [_value("c", [3, 8]), _value("back", [3, 16])],
                 _weights(scale=np.array(0.001, np.float32), zero=np.array(0, np.int16),
                          w=random.randint(-300, 300, (16, 8)).astype(np.int16)), {"x": reals(3, 16)}, "quantised", "quantised")


def _quantised_experts():
    random = np.random.RandomState(4)
    nodes = [helper.make_node("MatMul", ["x", "gate"], ["score"]),
             _node("QMoE", ["x", "score", "up", "up_scale", "", "down", "down_scale"], ["y"], k=2, activation_type="silu",
                   normalize_routing_weights=1, expert_weight_bits=4)]
    return built("quantised_experts", nodes, [_value("x", [5, 32])], [_value("y", [5, 32])],
                 _weights(gate=_normal(32, 4), up=random.randint(0, 256, (4, 64, 16)).astype(np.uint8),
                          up_scale=np.abs(_normal(4, 64)) * 0.1, down=random.randint(0, 256, (4, 32, 32)).astype(np.uint8),
                          down_scale=np.abs(_normal(4, 32)) * 0.1), {"x": reals(5, 32)}, "quantised", "quantised")


def _masked_heads():
    """One token behind a cache whose buffer is as long as the text may become."""
    inputs = ["q", "k", "v", "", "", "past_k", "past_v", "behind"]
    nodes = [_node("DecoderMaskedMultiHeadAttention", inputs, ["y", "next_k", "next_v"], num_heads=4, past_present_share_buffer=1)]
    cache = {"past_k": reals(1, 4, 8, 8), "past_v": reals(1, 4, 8, 8)}
    specs = {name: reals(1, 1, 32) for name in "qkv"} | cache | {"behind": given([3], "int32")}
    inputs = [_value(name, spec.get("shape", [1]), INT32 if name == "behind" else 1) for name, spec in specs.items()]
    return built("masked_heads", nodes, inputs, [_value("y", [1, 1, 32])], [], specs, "decoder with cache")


def _step():
    """GPT-2 for a search: ids, places, mask and one array of keys and values a layer."""
    def step(model, ids, places, mask, past):
        import torch
        from transformers.cache_utils import DynamicCache

        cache = DynamicCache()
        cache.update(past[0], past[1], 0)
        made = model(input_ids=ids, position_ids=places, attention_mask=mask, past_key_values=cache, use_cache=True)
        layer = made.past_key_values.layers[0]
        return made.logits, torch.stack([layer.keys, layer.values])

    return recipes_models.wrap(recipes_models._model("GPT2", "LMHeadModel", TINY_GPT2), step)


def _search(name, operator, inputs, outputs, **attributes):
    def make():
        seed(name)
        specs = {"input_ids": whole(2, 3, high=40, dtype="int32"), "position_ids": whole(2, 3, high=5, dtype="int32"),
                 "attention_mask": whole(2, 6, low=1, high=2, dtype="int32"), "past_0": reals(2, 2, 2, 3, 8)}
        free = {"input_ids": {0: "b", 1: "s"}, "position_ids": {0: "b", 1: "s"}, "attention_mask": {0: "b", 1: "t"},
                "past_0": {1: "b", 3: "p"}, "logits": {0: "b", 1: "s"}, "present_0": {1: "b", 3: "t"}}
        decoder = export(_step, specs, ["logits", "present_0"], False, free, 17)
        node = _node(operator, list(inputs), list(outputs), decoder=decoder.graph, eos_token_id=39, pad_token_id=39, model_type=0,
                     **attributes)
        numbers = {key: array for key, array in inputs.items() if key and array is not None}
        graph = helper.make_graph([node], name, [_value("input_ids", ["b", "n"], INT32)],
                                  [_value(key, None, kind) for key, kind in outputs.items()], _weights(**numbers))
        imports = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=imports, ir_version=8), {"input_ids": whole(2, 4, high=39, dtype="int32")}

    return Recipe(name, "onnx helper, com.microsoft", "decoder with cache", make)


MOST, LEAST, ONE = np.array([12], np.int32), np.array([1], np.int32), np.array([1.0], np.float32)
GREEDY = {"input_ids": None, "most": MOST, "least": LEAST, "penalty": np.array([1.3], np.float32)}
BEAMS = {"input_ids": None, "most": MOST, "least": LEAST, "beams": np.array([3], np.int32), "returned": np.array([2], np.int32),
         "length": ONE, "penalty": ONE}
RECIPES = [
    _indexing(), _pictures(), _texts(), _characters(), _channels_last(), _wide_integers(), _quantised_experts(), _masked_heads(),
    _search("search_greedy", "GreedySearch", GREEDY, {"sequences": INT32}),
    _search("search_beams", "BeamSearch", BEAMS, {"sequences": INT32, "scores": 1}),
]
