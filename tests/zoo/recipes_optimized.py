"""Graphs that onnxruntime's optimizers and float16 converters wrote, from the graphs of PyTorch's exporters."""
import os
import tempfile

import hollow
import recipes_convolution
import recipes_models
import recipes_sequence
from recipe import Recipe, reals, torch_recipe, whole


def _dense():
    from torch import nn

    return nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, 48), nn.GELU(), nn.Linear(48, 5), nn.Softmax(-1))


def _pictures():
    """What quantizers meet in a convolutional network: pools, sums, joins, several activations."""
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Conv2d(3, 16, 3, 2, 1), nn.Conv2d(16, 16, 3, 1, 1)
            self.deep, self.last = nn.Conv2d(16, 16, 3, 1, 1, groups=16), nn.Conv2d(32, 24, 1)
            self.head = nn.Linear(24, 10)

        def forward(self, x):
            x = nn.functional.max_pool2d(self.first(x).relu(), 2)
            y = nn.functional.leaky_relu(self.second(x) + x, 0.1)
            y = torch.cat([self.deep(y).sigmoid() * y, nn.functional.avg_pool2d(y, 3, 1, 1)], 1)
            y = nn.functional.adaptive_avg_pool2d(self.last(y).clamp(0, 6), 1).flatten(1)
            return self.head(y).softmax(-1)

    return Net()


OWN = {
    "dense": torch_recipe("dense", "tabular", _dense, {"x": reals(4, 24)}, dynamo=False, opset=17),
    "pictures": torch_recipe("pictures", "classification", _pictures, {"x": reals(1, 3, 32, 32)}, dynamo=False, opset=17),
    "bert_17": torch_recipe("bert_17", "encoder", lambda: recipes_models.encoder("bert"),
                            {"ids": whole(2, 9, high=99), "mask": whole(2, 9, low=1, high=2, dtype="int32")}, dynamo=False,
                            opset=17, free={"ids": {0: "b", 1: "n"}, "mask": {0: "b", 1: "n"}}),
}


def base(name):
    """(model, specs) of another recipe."""
    if name == BERT_FUSED:
        model, specs = base("bert_17")
        return fuse(model, "bert"), specs
    if name in OWN:
        return OWN[name].make()
    import recipes_quantized

    for module in (recipes_convolution, recipes_sequence, recipes_models, recipes_quantized):
        for recipe in module.RECIPES:
            if recipe.name == name:
                return recipe.make()
    raise KeyError(name)


BERT_FUSED = "bert_17_fused"


def through_files(model, convert):
    """convert(source, target) writes a model; gives what it wrote."""
    import onnx

    with tempfile.TemporaryDirectory() as folder:
        source, target = os.path.join(folder, "in.onnx"), os.path.join(folder, "out.onnx")
        onnx.save(model, source)
        convert(source, target)
        return onnx.load(target)


def _graph_optimizer(model, level):
    import onnxruntime

    def convert(source, target):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, f"ORT_ENABLE_{level.upper()}")
        options.optimized_model_filepath, options.log_severity_level = target, 3
        onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])

    return through_files(model, convert)


def optimized(name, level, tolerance="plain"):
    def make():
        model, specs = base(name)
        return _graph_optimizer(model, level), specs

    kind = "optimised" if tolerance == "plain" else "quantised"
    return Recipe(f"{name}_ort_{level}", f"onnxruntime graph optimizer, {level}", kind, make, tolerance)


def fuse(model, kind, half=False, heads=4, width=32, **switches):
    from onnxruntime.transformers import optimizer
    from onnxruntime.transformers.fusion_options import FusionOptions

    options = FusionOptions(kind)
    for switch, value in switches.items():
        assert hasattr(options, switch), switch
        setattr(options, switch, value)

    def convert(source, target):
        fused = optimizer.optimize_model(source, model_type=kind, num_heads=heads, hidden_size=width, opt_level=0,
                                         optimization_options=options)
        if half:
            fused.convert_float_to_float16(keep_io_types=True)
        fused.save_model_to_file(target)

    return through_files(model, convert)


def fused(name, base_name, kind, specs=None, **options):
    def make():
        model, base_specs = base(base_name)
        return fuse(model, kind, **options), specs or base_specs

    return Recipe(name, "onnxruntime transformers optimizer", "optimised", make, "half" if options.get("half") else "plain")


def half(name, keep_io):
    def make():
        from onnxconverter_common import float16

        model, specs = base(name)
        made = float16.convert_float_to_float16(model, keep_io_types=keep_io)
        if not keep_io:
            specs = {key: {**spec, "dtype": "float16"} if spec["dtype"] == "float32" else spec for key, spec in specs.items()}
        return made, specs

    return Recipe(f"{name}_float16{'' if keep_io else '_io'}", "onnxconverter float16", "half precision", make, "half")


def mixed(name):
    """float16 where the outputs stay near."""
    def make():
        from onnxconverter_common import auto_mixed_precision

        model, specs = base(name)
        feed = hollow.make_inputs(name, specs)
        return auto_mixed_precision.auto_convert_mixed_precision(model, feed, rtol=1e-2, atol=1e-3, keep_io_types=True), specs

    return Recipe(f"{name}_mixed", "onnxconverter float16", "half precision", make, "half")


RECIPES = [
    *[optimized(name, level) for name in ("pictures", "bert_17", "dense") for level in ("basic", "extended", "all")],
    *[optimized(name, "extended") for name in ("whisper_encoder_script", "lstm_tagger_script", "convnext_script", "vit_script",
                                               "unet_script", "detector_script", "gpt2_cache_dynamo")],
    *[optimized(name, "extended", "quantised") for name in ("bert_dynamic", "pictures_qdq", "bert_fused_dynamic", "dense_qdq",
                                                            "mobilenet_v3_qdq", "bert_qdq", "lstm_dynamic", "unet_qdq")],
    optimized("resnet_script", "all"),
    optimized("mobilenet_v3_script", "all"),
    fused("bert_fused", "bert_17", "bert"),
    fused("bert_fused_half", "bert_17", "bert", half=True),
    fused("bert_fused_heads", "bert_17", "bert", use_multi_head_attention=True, enable_embed_layer_norm=False),
    fused("bert_fused_approximate", "bert_17", "bert", enable_gelu_approximation=True, enable_skip_layer_norm=False),
    fused("roberta_fused", "roberta_script", "bert"),
    fused("distilbert_fused", "distilbert_script", "bert"),
    fused("gpt2_fused", "gpt2_script", "gpt2"),
    fused("llama_cache_fused", "llama_cache_dynamo", "gpt2"),
    fused("t5_fused", "t5_encoder_script", "t5"),
    fused("vit_fused", "vit_script", "vit"),
    fused("whisper_fused", "whisper_encoder_script", "bart"),
    fused("clip_fused", "clip_dynamo", "clip"),
    fused("unet_fused", "unet_script", "unet", enable_nhwc_conv=False, enable_group_norm=False),
    half("pictures", True),
    half("pictures", False),
    half("bert_17", True),
    half("convnext_script", False),
    mixed("dense"),
]
