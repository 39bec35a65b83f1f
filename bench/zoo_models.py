"""The zoo's kinds in full size: recipes for bench/zoo.py, made with the packages in tests/zoo/requirements.txt."""
import importlib.util
import os
import sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "zoo"))

import recipes_models  # noqa: E402
import recipes_optimized  # noqa: E402
import recipes_quantized  # noqa: E402
import recipes_sequence  # noqa: E402
from recipe import Recipe, given, reals, torch_recipe, whole  # noqa: E402

IMAGE = {"x": reals(1, 3, 224, 224)}
TEXT = {"ids": whole(1, 128, high=30000), "mask": whole(1, 128, low=1, high=2)}
ENCODER = {"vocab_size": 30522, "hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536}
LLAMA = {"vocab_size": 32000, "hidden_size": 512, "num_hidden_layers": 6, "num_attention_heads": 8, "num_key_value_heads": 4,
         "intermediate_size": 1408, "max_position_embeddings": 512}
GPT2 = {"vocab_size": 50257, "n_positions": 512, "n_embd": 512, "n_layer": 6, "n_head": 8}
PAST = 64


def vision(name, **settings):
    """A classifier of torchvision with its own sizes."""
    def build():
        import torchvision

        return torchvision.models.get_model(name, weights=None, **settings)

    return build


def timm(name):
    def build():
        import timm as package

        return package.create_model(name, pretrained=False)

    return build


def segmenter():
    import torchvision

    model = torchvision.models.segmentation.deeplabv3_mobilenet_v3_large(weights=None, weights_backbone=None)
    return recipes_models.wrap(model, lambda model, x: model(x)["out"])


def encoder(kind, settings=None):
    settings = settings or ENCODER
    return recipes_models.wrap(recipes_models._model(kind, "Model", settings),
                               lambda model, ids, mask: model(input_ids=ids, attention_mask=mask)[0])


def decoder(kind, what, settings):
    """One step behind PAST tokens; the caches of all layers are one input each for keys and values."""
    def step(model, ids, keys, values):
        import torch
        from transformers.cache_utils import DynamicCache

        cache = DynamicCache()
        for i in range(keys.shape[0]):
            cache.update(keys[i], values[i], i)
        made = model(input_ids=ids, past_key_values=cache, use_cache=True)
        layers = made.past_key_values.layers
        return made.logits, torch.stack([layer.keys for layer in layers]), torch.stack([layer.values for layer in layers])

    return recipes_models.wrap(recipes_models._model(kind, what, settings), step)


def whisper():
    settings = {"d_model": 384, "encoder_layers": 4, "decoder_layers": 1, "encoder_attention_heads": 6, "encoder_ffn_dim": 1536}
    return recipes_models.wrap(recipes_models._model("Whisper", "Model", settings).encoder, lambda model, x: model(x)[0])


def segformer():
    model = recipes_models._model("Segformer", "ForSemanticSegmentation", {"num_labels": 20})
    return recipes_models.wrap(model, lambda model, x: model(x).logits)


def packaged(name, kind, package, path, specs):
    """A model that a Python package ships, as it is."""
    def make():
        import onnx

        found = importlib.util.find_spec(package)
        if found is None:
            raise FileNotFoundError(f"the package {package} is not installed")
        return onnx.load(os.path.join(os.path.dirname(found.origin), path)), specs

    return Recipe(name, f"package {package}", kind, make)


def forest(trees, rows, build):
    """A table of 30 numbers; `trees` trees of depth 8."""
    def make():
        from skl2onnx import to_onnx
        from skl2onnx.common.data_types import FloatTensorType

        random = np.random.RandomState(3)
        x = random.standard_normal((2000, 30)).astype(np.float32)
        model = build(trees).fit(x, np.sin(x[:, :5]).sum(1) + x[:, 6] * x[:, 7])
        return to_onnx(model, initial_types=[("x", FloatTensorType([None, 30]))]), {"x": reals(rows, 30)}

    return make


def _random_forest(trees):
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(n_estimators=trees, max_depth=8, random_state=0)


def _boosting(trees):
    from sklearn.ensemble import GradientBoostingRegressor

    return GradientBoostingRegressor(n_estimators=trees, max_depth=6, random_state=0)


def from_base(name, kind, base, change, tolerance="quantised"):
    """What a tool makes of another recipe's model: change(model, specs)."""
    def make():
        model, specs = PLAIN[base].make()
        return change(model, specs), specs

    return Recipe(name, "onnxruntime", kind, make, tolerance)


def _dynamic(model, _):
    """Weights of 7 bits. onnxruntime adds pairs of byte products in 16 bits, with saturation, on processors without VNNI: with weights
    of 8 bits the network of lstm_dynamic is there 0.13 of its largest value from what its operators mean, Layover 0.002."""
    return recipes_quantized._dynamic(model, weight_type=recipes_quantized._type("QInt8"), per_channel=True, reduce_range=True)


def _static(form, activation):
    def change(model, specs):
        return recipes_quantized._static(model, "full", specs, form, weight_type=recipes_quantized._type("QInt8"),
                                         activation_type=recipes_quantized._type(activation), per_channel=form == "QDQ")

    return change


def _blocks(model, _):
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    quantizer = MatMulNBitsQuantizer(model, bits=4, block_size=32, is_symmetric=True, accuracy_level=4)
    quantizer.process()
    return quantizer.model.model


def _fused(model, _):
    return recipes_optimized.fuse(model, "bert", heads=12, width=384)


def _optimized(model, _):
    return recipes_optimized._graph_optimizer(model, "extended")


def _caches(layers, heads, width):
    cache = reals(layers, 1, heads, PAST, width)
    return {"ids": whole(1, 1, high=30000), "keys": cache, "values": cache}


def _both(name, kind, build, specs, **options):
    return [torch_recipe(f"{name}_{word}", kind, build, specs, dynamo=dynamo, **options)
            for dynamo, word in ((False, "script"), (True, "dynamo"))]


STATE = {"input": reals(1, 512), "state": reals(2, 1, 128), "sr": given(16000, "int64")}
_PLAIN = [
    *_both("resnet50", "classification", vision("resnet50"), IMAGE),
    *_both("mobilenet_v3_large", "classification", vision("mobilenet_v3_large"), IMAGE),
    torch_recipe("efficientnet_b0_dynamo", "classification", vision("efficientnet_b0"), IMAGE),
    torch_recipe("convnext_tiny_dynamo", "classification", vision("convnext_tiny"), IMAGE),
    torch_recipe("shufflenet_v2_script", "classification", vision("shufflenet_v2_x1_0"), IMAGE, dynamo=False),
    torch_recipe("regnet_y_800mf_dynamo", "classification", vision("regnet_y_800mf"), IMAGE),
    torch_recipe("swin_t_dynamo", "classification", vision("swin_t"), IMAGE),
    torch_recipe("vit_b_32_script", "classification", vision("vit_b_32"), IMAGE, dynamo=False),
    torch_recipe("nf_resnet50_dynamo", "classification", timm("nf_resnet50"), IMAGE),
    torch_recipe("coatnet_dynamo", "classification", timm("coatnet_nano_rw_224"), IMAGE),
    torch_recipe("mobilevit_s_dynamo", "classification", timm("mobilevit_s"), {"x": reals(1, 3, 256, 256)}),
    torch_recipe("deeplab_script", "segmentation", segmenter, IMAGE, dynamo=False),
    *_both("segformer", "segmentation", segformer, {"x": reals(1, 3, 256, 256)}),
    *_both("bert", "encoder", lambda: encoder("Bert"), TEXT, opset=17),
    torch_recipe("modernbert_dynamo", "encoder", lambda: encoder("ModernBert", {**ENCODER, "pad_token_id": 0}), TEXT),
    torch_recipe("gpt2_cache_dynamo", "decoder with cache", lambda: decoder("GPT2", "LMHeadModel", GPT2), _caches(6, 8, 64)),
    torch_recipe("llama_cache_dynamo", "decoder with cache", lambda: decoder("Llama", "ForCausalLM", LLAMA), _caches(6, 4, 64)),
    torch_recipe("whisper_encoder_dynamo", "speech", whisper, {"x": reals(1, 80, 3000)}),
    torch_recipe("lstm_dynamo", "language", lambda: recipes_sequence._recurrent("LSTM", 2, True),
                 {"x": whole(1, 400, high=100)}),
    packaged("silero_vad", "speech", "silero_vad", "data/silero_vad.onnx", STATE),
    packaged("magika", "bytes", "magika", "models/standard_v3_3/model.onnx", {"bytes": whole(1, 2048, high=257, dtype="int32")}),
    packaged("rapidocr_detector", "detection", "rapidocr_onnxruntime", "models/ch_PP-OCRv4_det_infer.onnx",
             {"x": reals(1, 3, 320, 320)}),
    packaged("rapidocr_reader", "language", "rapidocr_onnxruntime", "models/ch_PP-OCRv4_rec_infer.onnx",
             {"x": reals(1, 3, 48, 320)}),
    Recipe("forest_1000", "skl2onnx", "trees", forest(1000, 10000, _random_forest)),
    Recipe("boosting_100", "skl2onnx", "trees", forest(100, 1000, _boosting)),
    Recipe("boosting_100_one_row", "skl2onnx", "trees", forest(100, 1, _boosting)),
]
PLAIN = {recipe.name: recipe for recipe in _PLAIN}
RECIPES = [
    *_PLAIN,
    from_base("resnet50_qdq", "quantised", "resnet50_script", _static("QDQ", "QUInt8")),
    from_base("resnet50_qoperator", "quantised", "resnet50_script", _static("QOperator", "QUInt8")),
    from_base("mobilenet_v3_large_qdq", "quantised", "mobilenet_v3_large_script", _static("QDQ", "QUInt8")),
    from_base("vit_b_32_qdq", "quantised", "vit_b_32_script", _static("QDQ", "QInt8")),
    from_base("bert_dynamic", "quantised", "bert_script", _dynamic),
    from_base("lstm_dynamic", "quantised", "lstm_dynamo", _dynamic),
    from_base("llama_cache_4", "quantised", "llama_cache_dynamo", _blocks),
    from_base("bert_fused", "optimised", "bert_script", _fused, "plain"),
    from_base("resnet50_optimised", "optimised", "resnet50_script", _optimized, "plain"),
]
