"""Graphs that onnxruntime's quantizers wrote."""
import hollow
from recipe import Recipe
from recipes_optimized import base, through_files


def _dynamic(model, **options):
    from onnxruntime.quantization import quantize_dynamic

    return through_files(model, lambda source, target: quantize_dynamic(source, target, **options))


def _reader(name, specs):
    from onnxruntime.quantization import CalibrationDataReader

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.feeds = iter([hollow.make_inputs(f"{name}{i}", specs) for i in range(4)])

        def get_next(self):
            return next(self.feeds, None)

    return Reader()


def _static(model, name, specs, form, prepare=True, **options):
    from onnxruntime.quantization import QuantFormat, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    def convert(source, target):
        if prepare:
            quant_pre_process(source, source, skip_symbolic_shape=True)
        quantize_static(source, target, _reader(name, specs), quant_format=getattr(QuantFormat, form), **options)

    return through_files(model, convert)


def _type(name):
    from onnxruntime.quantization import QuantType

    return getattr(QuantType, name)


def dynamic(name, base_name, weight="QInt8", **options):
    def make():
        model, specs = base(base_name)
        return _dynamic(model, weight_type=_type(weight), **options), specs

    return Recipe(name, "onnxruntime quantize_dynamic", "quantised", make, "quantised")


def static(name, base_name, form="QDQ", weight="QInt8", activation="QUInt8", opset=None, **options):
    def make():
        import onnx

        model, specs = base(base_name)
        if opset:
            model = onnx.version_converter.convert_version(model, opset)
        return _static(model, base_name, specs, form, weight_type=_type(weight), activation_type=_type(activation), **options), specs

    return Recipe(name, f"onnxruntime quantize_static, {form}", "quantised", make, "quantised")


def blocks(name, base_name, bits=4, form="QOperator", operators=("MatMul",), **options):
    """Weights in blocks of few bits."""
    def make():
        from onnxruntime.quantization import QuantFormat
        from onnxruntime.quantization.matmul_nbits_quantizer import (DefaultWeightOnlyQuantConfig, MatMulNBitsQuantizer)

        model, specs = base(base_name)
        axes = {"MatMul": 0, "Gather": 1}
        config = DefaultWeightOnlyQuantConfig(bits=bits, quant_format=getattr(QuantFormat, form), op_types_to_quantize=operators,
                                              quant_axes=tuple(axes.items()), **options)
        quantizer = MatMulNBitsQuantizer(model, algo_config=config)
        quantizer.process()
        return quantizer.model.model, specs

    return Recipe(name, "onnxruntime MatMulNBits quantizer", "quantised", make, "quantised")


def _bnb4():
    from onnxruntime.quantization.matmul_bnb4_quantizer import MatMulBnb4Quantizer

    model, specs = base("llama_cache_dynamo")
    quantizer = MatMulBnb4Quantizer(model, MatMulBnb4Quantizer.NF4, 32)
    quantizer.process()
    return quantizer.model.model, specs


RECIPES = [
    dynamic("dense_dynamic", "dense"),
    dynamic("dense_dynamic_unsigned_channels", "dense", "QUInt8", per_channel=True, reduce_range=True),
    dynamic("bert_dynamic", "bert_17"),
    dynamic("bert_dynamic_channels", "bert_17", per_channel=True),
    dynamic("bert_fused_dynamic", "bert_17_fused", extra_options={"DefaultTensorType": 1}),
    dynamic("gpt2_cache_dynamic", "gpt2_cache_dynamo"),
    dynamic("lstm_dynamic", "lstm_tagger_script"),
    dynamic("whisper_encoder_dynamic", "whisper_encoder_script"),
    dynamic("pictures_dynamic", "pictures", "QUInt8"),
    dynamic("llama_cache_dynamic", "llama_cache_dynamo"),
    static("pictures_qdq", "pictures"),
    static("pictures_qdq_channels", "pictures", per_channel=True, activation="QInt8"),
    static("pictures_qdq_16", "pictures", activation="QUInt16", opset=21),
    static("pictures_qdq_16_microsoft", "pictures", activation="QInt16"),
    static("pictures_qdq_microsoft", "pictures", extra_options={"UseQDQContribOps": True}),
    static("dense_qdq_16_microsoft", "dense", weight="QInt16", activation="QInt16", extra_options={"UseQDQContribOps": True}),
    static("pictures_qdq_symmetric", "pictures", activation="QInt8", extra_options={"ActivationSymmetric": True}),
    static("resnet_qdq", "resnet_script", per_channel=True),
    static("mobilenet_v3_qdq", "mobilenet_v3_script", per_channel=True),
    static("unet_qdq", "unet_script", activation="QInt8"),
    static("shufflenet_qdq", "shufflenet_script", opset=13),
    static("deeplab_qdq", "deeplab_script", per_channel=True, activation="QInt8"),
    static("bert_qdq", "bert_17"),
    static("vit_qdq", "vit_script", per_channel=True),
    static("dense_qdq", "dense", activation="QInt8"),
    static("dense_qdq_4", "dense", weight="QInt4", activation="QInt8", opset=21),
    static("whisper_encoder_qdq", "whisper_encoder_script"),
    static("keywords_qdq", "keywords_script", per_channel=True),
    static("pictures_qoperator", "pictures", "QOperator", "QUInt8"),
    static("pictures_qoperator_channels", "pictures", "QOperator", per_channel=True),
    static("resnet_qoperator", "resnet_script", "QOperator"),
    static("mobilenet_v3_qoperator", "mobilenet_v3_script", "QOperator"),
    static("dense_qoperator", "dense", "QOperator", activation="QInt8"),
    static("bert_qoperator", "bert_17", "QOperator"),
    static("lstm_qoperator", "lstm_tagger_script", "QOperator"),
    blocks("llama_cache_4", "llama_cache_dynamo", block_size=32, is_symmetric=True),
    blocks("llama_cache_4_zero_points", "llama_cache_dynamo", block_size=16, is_symmetric=False),
    blocks("llama_cache_4_accuracy", "llama_cache_dynamo", block_size=16, is_symmetric=True, accuracy_level=4),
    blocks("llama_cache_4_gather", "llama_cache_dynamo", block_size=16, is_symmetric=False, operators=("MatMul", "Gather")),
    blocks("llama_cache_4_qdq", "llama_attention_23", form="QDQ", block_size=16, is_symmetric=True),
    blocks("llama_cache_8", "llama_cache_dynamo", bits=8, block_size=32, is_symmetric=True),
    blocks("bert_4", "bert_17", block_size=16, is_symmetric=False),
    blocks("whisper_decoder_4", "whisper_decoder_dynamo", block_size=32, is_symmetric=True),
    Recipe("llama_cache_nf4", "onnxruntime MatMulBnb4 quantizer", "quantised", _bnb4, "quantised"),
]
