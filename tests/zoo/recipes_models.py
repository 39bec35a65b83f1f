"""Architectures of transformers and timm with a few small layers: encoders, decoders with a cache, vision, speech."""
from recipe import reals, torch_recipe, whole

TEXT = {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 48,
        "max_position_embeddings": 40}
DECODER = {**TEXT, "num_key_value_heads": 2, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
# The name of a class is that of its config with Config replaced.
ENCODERS = {
    "bert": ("Bert", "Model", TEXT),
    "roberta": ("Roberta", "ForSequenceClassification", TEXT),
    "distilbert": ("DistilBert", "ForTokenClassification", {"vocab_size": 99, "dim": 32, "n_layers": 1, "n_heads": 4,
                                                              "hidden_dim": 48, "max_position_embeddings": 40}),
    "albert": ("Albert", "Model", {**TEXT, "embedding_size": 16, "num_hidden_layers": 2}),
    "electra": ("Electra", "ForPreTraining", {**TEXT, "embedding_size": 16}),
    "deberta": ("DebertaV2", "Model", {**TEXT, "relative_attention": True, "pos_att_type": ["p2c", "c2p"],
                                       "max_relative_positions": 20, "position_biased_input": False}),
    "mpnet": ("MPNet", "Model", TEXT),
    "modernbert": ("ModernBert", "Model", {**TEXT, "pad_token_id": 0, "global_attn_every_n_layers": 2, "num_hidden_layers": 2,
                                           "cls_token_id": 1, "sep_token_id": 2, "local_attention": 4}),
}
CAUSAL = {
    "gpt2": ("GPT2", {"vocab_size": 99, "n_positions": 40, "n_embd": 32, "n_layer": 1, "n_head": 4}),
    "llama": ("Llama", DECODER),
    "qwen2": ("Qwen2", DECODER),
    "qwen3": ("Qwen3", {**DECODER, "head_dim": 8}),
    "gemma": ("Gemma", {**DECODER, "head_dim": 8}),
    "phi": ("Phi", {**DECODER, "partial_rotary_factor": 0.5}),
    "opt": ("OPT", {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "ffn_dim": 48,
                    "word_embed_proj_dim": 32, "max_position_embeddings": 40}),
    "bloom": ("Bloom", {"vocab_size": 99, "hidden_size": 32, "n_layer": 1, "n_head": 4}),
    "gpt_neox": ("GPTNeoX", TEXT),
}


def _config(kind, settings, **more):
    import transformers

    return getattr(transformers, f"{kind}Config")(**settings, **more)


def _model(kind, what, settings, attention="eager"):
    import transformers

    config = _config(kind, settings, attn_implementation=attention)
    return getattr(transformers, f"{kind}{what}")(config)


def wrap(model, call):
    """A module whose forward is call(model, *inputs)."""
    from torch import nn

    class Wrapped(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, *inputs):
            return call(self.model, *inputs)

    return Wrapped()


def encoder(name):
    kind, what, settings = ENCODERS[name]
    return wrap(_model(kind, what, settings), lambda model, ids, mask: model(input_ids=ids, attention_mask=mask)[0])


def decoder(name, cached=True, attention="eager"):
    """One step behind a cache of keys and values: (ids, keys, values) -> (logits, keys, values)."""
    kind, settings = CAUSAL[name]

    def step(model, ids, keys, values):
        from transformers.cache_utils import DynamicCache

        cache = DynamicCache()
        cache.update(keys, values, 0)
        made = model(input_ids=ids, past_key_values=cache, use_cache=True)
        layer = made.past_key_values.layers[0]
        return made.logits, layer.keys, layer.values

    model = _model(kind, {"GPT2": "LMHeadModel"}.get(kind, "ForCausalLM"), settings, attention)
    whole_text = lambda model, ids, mask: model(input_ids=ids, attention_mask=mask, use_cache=False).logits  # noqa: E731
    return wrap(model, step if cached else whole_text)


def cache_specs(name, tokens=1, past=5):
    settings = CAUSAL[name][1]
    heads = settings.get("num_key_value_heads", settings.get("n_head", settings.get("num_attention_heads")))
    return {"ids": whole(1, tokens, high=99), "keys": reals(1, heads, past, 8), "values": reals(1, heads, past, 8)}


def _t5(part):
    settings = {"vocab_size": 99, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 1, "num_heads": 4,
                "feed_forward_proj": "gated-gelu"}
    if part == "encoder":
        return wrap(_model("T5", "EncoderModel", settings), lambda model, ids: model(input_ids=ids)[0])
    model = _model("T5", "ForConditionalGeneration", settings)
    return wrap(model, lambda model, hidden, ids: model(encoder_outputs=(hidden,), decoder_input_ids=ids, use_cache=False).logits)


def _t5_cached():
    """One step of the decoder: its own cache grows, that of the encoder's text stays."""
    settings = {"vocab_size": 99, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 1, "num_heads": 4}

    def step(model, ids, keys, values, far_keys, far_values, hidden):
        from transformers.cache_utils import DynamicCache, EncoderDecoderCache

        cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
        cache.self_attention_cache.update(keys, values, 0)
        cache.cross_attention_cache.update(far_keys, far_values, 0)
        cache.is_updated[0] = True
        made = model(encoder_outputs=(hidden,), decoder_input_ids=ids, past_key_values=cache, use_cache=True)
        layer = made.past_key_values.self_attention_cache.layers[0]
        return made.logits, layer.keys, layer.values

    return wrap(_model("T5", "ForConditionalGeneration", settings), step)


def _whisper(part):
    settings = {"vocab_size": 99, "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 4,
                "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "num_mel_bins": 8,
                "max_source_positions": 16, "max_target_positions": 16, "pad_token_id": 0, "bos_token_id": 1,
                "eos_token_id": 2, "decoder_start_token_id": 1}
    model = _model("Whisper", "Model", settings)
    if part == "encoder":
        return wrap(model.encoder, lambda model, x: model(x)[0])
    return wrap(model.decoder, lambda model, ids, hidden: model(input_ids=ids, encoder_hidden_states=hidden, use_cache=False)[0])


def _wav2vec2():
    model = _model("Wav2Vec2", "ForCTC", {**{k: v for k, v in TEXT.items() if k != "max_position_embeddings"},
                                          "conv_dim": (16, 16), "conv_stride": (5, 2), "conv_kernel": (10, 3),
                                          "num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 2, "vocab_size": 30})
    return wrap(model, lambda model, x: model(x).logits)


def _vision(kind, settings, attention="eager"):
    return wrap(_model(kind, "ForImageClassification", settings, attention), lambda model, x: model(x).logits)


def _segformer():
    model = _model("Segformer", "ForSemanticSegmentation", {
        "num_encoder_blocks": 2, "depths": [1, 1], "sr_ratios": [4, 2], "hidden_sizes": [16, 32], "patch_sizes": [7, 3],
        "strides": [4, 2], "num_attention_heads": [1, 2], "mlp_ratios": [2, 2], "decoder_hidden_size": 16, "num_labels": 5})
    return wrap(model, lambda model, x: model(x).logits)


def _clip():
    small = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 48}
    model = _model("CLIP", "Model", {"text_config": {**small, "vocab_size": 99, "max_position_embeddings": 16, "eos_token_id": 98},
                                     "vision_config": {**small, "image_size": 16, "patch_size": 8}, "projection_dim": 24})
    return wrap(model, lambda model, ids, x: model(input_ids=ids, pixel_values=x).logits_per_text)


def _detr():
    """The transformer over a feature map, its queries, its heads; the backbone is one convolution."""
    import torch
    from torch import nn

    class Detector(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Conv2d(3, 32, 8, 8)
            self.body = nn.Transformer(32, 4, 1, 1, 48, batch_first=True)
            self.place, self.query = nn.Parameter(torch.randn(1, 16, 32)), nn.Parameter(torch.randn(1, 6, 32))
            self.label, self.box = nn.Linear(32, 4), nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4))

        def forward(self, x):
            y = self.stem(x).flatten(2).transpose(1, 2) + self.place
            y = self.body(y, self.query)
            return self.label(y), self.box(y).sigmoid()

    return Detector()


def _time_series():
    model = _model("PatchTST", "ForPrediction", {"num_input_channels": 2, "context_length": 32, "patch_length": 8,
                                                  "patch_stride": 8, "d_model": 16, "num_attention_heads": 2,
                                                  "num_hidden_layers": 1, "ffn_dim": 32, "prediction_length": 6,
                                                  "loss": "mse"})
    return wrap(model, lambda model, x: model(past_values=x).prediction_outputs)


def _coatnet():
    from timm.models.maxxvit import MaxxVit, MaxxVitCfg

    return MaxxVit(MaxxVitCfg(embed_dim=(16, 32), depths=(1, 1), block_type=("C", "T"), stem_width=8, head_hidden_size=None),
                   img_size=32, num_classes=10)


def _mobilevit():
    from timm.models.byobnet import ByobNet, ByoModelCfg
    from timm.models.mobilevit import _mobilevit_block

    return ByobNet(ByoModelCfg(blocks=(_mobilevit_block(d=1, c=16, s=2, transformer_dim=16, transformer_depth=1),) * 2,
                               stem_chs=8, stem_type="3x3", stem_pool="", num_features=32, act_layer="silu"), num_classes=10)


def _mixer():
    from timm.models.mlp_mixer import MlpMixer
    from torch import nn

    net = MlpMixer(img_size=32, patch_size=8, num_blocks=1, embed_dim=32, num_classes=10)
    nn.init.normal_(net.head.weight)  # else zero
    return net


def _poolformer():
    from timm.models.metaformer import MetaFormer, Pooling

    return MetaFormer(depths=(1, 1), dims=(16, 32), token_mixers=Pooling, num_classes=10)


def _xcit():
    from timm.models.xcit import Xcit

    return Xcit(img_size=32, patch_size=8, embed_dim=32, depth=1, num_heads=4, cls_attn_layers=1, num_classes=10, eta=1.0)


SMALL_VIT = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 48, "image_size": 32,
             "patch_size": 8, "num_labels": 10}
SWIN = {"image_size": 32, "patch_size": 4, "embed_dim": 16, "depths": [2], "num_heads": [2], "window_size": 4, "num_labels": 10}
IDS = {"ids": whole(2, 9, high=99)}
MASKED = {**IDS, "mask": whole(2, 9, low=1, high=2)}
IMAGE = {"x": reals(1, 3, 32, 32)}
BOTH = ((False, "script"), (True, "dynamo"))


def _both(name, kind, build, specs, **options):
    return [torch_recipe(f"{name}_{exporter}", kind, build, specs, dynamo=dynamo, **options) for dynamo, exporter in BOTH]


RECIPES = [
    *[recipe for name in ENCODERS for recipe in _both(name, "encoder", lambda name=name: encoder(name), MASKED)],
    *[torch_recipe(f"{name}_cache_dynamo", "decoder with cache", lambda name=name: decoder(name), cache_specs(name))
      for name in CAUSAL],
    *[torch_recipe(f"{name}_script", "decoder", lambda name=name: decoder(name, False), MASKED, dynamo=False)
      for name in CAUSAL],
    *_both("t5_encoder", "encoder", lambda: _t5("encoder"), IDS),
    torch_recipe("t5_decoder_dynamo", "decoder", lambda: _t5("decoder"), {"hidden": reals(1, 7, 32), "ids": whole(1, 4, high=99)}),
    torch_recipe("t5_cache_dynamo", "decoder with cache", _t5_cached,
                 {"ids": whole(1, 1, high=99), **{name: reals(1, 4, 3, 8) for name in ("keys", "values")},
                  **{name: reals(1, 4, 7, 8) for name in ("far_keys", "far_values")}, "hidden": reals(1, 7, 32)}),
    *_both("whisper_encoder", "speech", lambda: _whisper("encoder"), {"x": reals(1, 8, 32)}),
    torch_recipe("whisper_decoder_dynamo", "speech", lambda: _whisper("decoder"),
                 {"ids": whole(1, 4, high=99), "hidden": reals(1, 16, 32)}),
    *_both("wav2vec2", "speech", _wav2vec2, {"x": reals(1, 400)}),
    *_both("vit", "classification", lambda: _vision("ViT", SMALL_VIT), IMAGE),
    *_both("swin", "classification", lambda: _vision("Swin", SWIN), IMAGE),
    torch_recipe("beit_dynamo", "classification", lambda: _vision("Beit", {**SMALL_VIT, "use_relative_position_bias": True}), IMAGE),
    torch_recipe("dinov2_dynamo", "classification", lambda: _vision("Dinov2", {**SMALL_VIT, "use_swiglu_ffn": True}), IMAGE),
    *_both("segformer", "segmentation", _segformer, IMAGE),
    torch_recipe("clip_dynamo", "encoder", _clip, {"ids": whole(2, 7, high=98), "x": reals(1, 3, 16, 16)}),
    *_both("detr", "detection", _detr, IMAGE),
    torch_recipe("patchtst_dynamo", "time series", _time_series, {"x": reals(2, 32, 2)}),
    torch_recipe("gpt2_attention_23", "decoder", lambda: decoder("gpt2", False, "sdpa"), MASKED, opset=23),
    torch_recipe("llama_attention_23", "decoder with cache", lambda: decoder("llama", True, "sdpa"), cache_specs("llama"), opset=23),
    torch_recipe("vit_attention_23", "classification", lambda: _vision("ViT", SMALL_VIT, "sdpa"), IMAGE, opset=23),
    torch_recipe("coatnet_dynamo", "classification", _coatnet, IMAGE),
    torch_recipe("mobilevit_dynamo", "classification", _mobilevit, IMAGE),
    torch_recipe("mixer_dynamo", "classification", _mixer, IMAGE),
    torch_recipe("poolformer_dynamo", "classification", _poolformer, IMAGE),
    torch_recipe("xcit_dynamo", "classification", _xcit, IMAGE),
]
