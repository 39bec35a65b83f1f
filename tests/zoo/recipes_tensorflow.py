"""What TensorFlow's converter writes: Keras models, functions with loops and signals, quantised TensorFlow Lite files."""
import os
import tempfile

import numpy as np
from recipe import Recipe, reals, seed, whole

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", KERAS_BACKEND="tensorflow", CUDA_VISIBLE_DEVICES="-1")


def _start(name):
    import tensorflow

    seed(name)
    tensorflow.keras.utils.set_random_seed(1)
    return tensorflow


def converted(name, kind, build, specs, opset=17):
    """build(tensorflow) gives what is called with the inputs in their order."""
    def make():
        tensorflow = _start(name)
        import tf2onnx

        call = build(tensorflow)
        signature = [tensorflow.TensorSpec(spec["shape"], spec["dtype"], name=key) for key, spec in specs.items()]
        model, _ = tf2onnx.convert.from_function(tensorflow.function(lambda *inputs: call(*inputs)), input_signature=signature,
                                                 opset=opset)
        return model, specs

    return Recipe(name, "tf2onnx", kind, make)


def keras(name, kind, build, shape):
    """Keras' own export."""
    def make():
        tensorflow = _start(name)
        import onnx

        net = build(tensorflow.keras)
        net(np.zeros(shape, np.float32))  # or Keras does not know its sizes
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            net.export(path, format="onnx", verbose=False)
            made = onnx.load(path)
        return made, {made.graph.input[0].name: reals(*shape)}

    return Recipe(name, "keras", kind, make)


def lite(name, kind, build, shape, quantised):
    """Through TensorFlow Lite; quantised: weights and activations of eight bits, calibrated."""
    def make():
        tensorflow = _start(name)
        import tf2onnx

        converter = tensorflow.lite.TFLiteConverter.from_keras_model(build(tensorflow.keras))
        if quantised:
            random = np.random.RandomState(1)
            converter.optimizations = [tensorflow.lite.Optimize.DEFAULT]
            converter.representative_dataset = lambda: ([random.standard_normal(shape).astype(np.float32)] for _ in range(4))
            converter.target_spec.supported_ops = [tensorflow.lite.OpsSet.TFLITE_BUILTINS_INT8]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.tflite")
            with open(path, "wb") as file:
                file.write(converter.convert())
            made, _ = tf2onnx.convert.from_tflite(path, opset=17)
        return made, {made.graph.input[0].name: reals(*shape)}

    return Recipe(name, "tf2onnx, TensorFlow Lite", kind, make, "quantised" if quantised else "plain")


def _pictures(k):
    layers = k.layers
    return k.Sequential([k.Input((24, 24, 3), batch_size=1), layers.Conv2D(16, 3, padding="same", activation="relu"),
                         layers.MaxPooling2D(), layers.SeparableConv2D(24, 3, activation="swish"), layers.BatchNormalization(),
                         layers.GlobalAveragePooling2D(), layers.Dense(10, activation="softmax")])


def _lite_pictures(k):
    layers = k.layers
    x = k.Input((24, 24, 3), batch_size=1)
    y = layers.ReLU(6.0)(layers.Conv2D(16, 3, 2, padding="same")(x))
    z = layers.DepthwiseConv2D(3, padding="same", activation="relu")(y)
    y = layers.AveragePooling2D(2)(layers.Concatenate()([layers.Add()([y, layers.Conv2D(16, 1)(z)]), z]))
    return k.Model(x, layers.Softmax()(layers.Dense(10)(layers.Flatten()(y))))


def _series(k):
    layers = k.layers
    return k.Sequential([k.Input((16, 4)), layers.Conv1D(16, 3, padding="causal", dilation_rate=2, activation="relu"),
                         layers.Bidirectional(layers.LSTM(12, return_sequences=True)), layers.GRU(8), layers.Dense(2)])


def _attention(k):
    layers = k.layers
    x = k.Input((10, 16))
    y = layers.LayerNormalization()(layers.Add()([x, layers.MultiHeadAttention(2, 8)(x, x)]))
    return k.Model(x, layers.Dense(3)(layers.GlobalMaxPooling1D()(layers.Dense(16, activation="tanh")(y))))


def _recommender(k):
    layers = k.layers
    x = k.Input((6,))
    parts = [layers.Embedding(20, 8)(layers.Lambda(lambda x, i=i: abs(x[:, i]) * 5)(x)) for i in range(2)]
    return k.Model(x, layers.Dense(1, activation="sigmoid")(layers.Concatenate()([layers.Dot(1)(parts), layers.Dense(8)(x)])))


def _loop(tf):
    def call(x, turns):
        weight = tf.constant(np.random.RandomState(1).standard_normal((8, 8)).astype(np.float32) * 0.3)
        _, x, rows = tf.while_loop(lambda i, x, rows: i < turns, lambda i, x, rows: (i + 1, tf.tanh(x @ weight), rows.write(i, x)),
                                   (0, x, tf.TensorArray(tf.float32, turns, element_shape=(2, 8))))
        return x, rows.stack()

    return call


def _resized(tf):
    def call(x):
        kernel = tf.constant(np.random.RandomState(2).standard_normal((3, 3, 3, 8)).astype(np.float32) * 0.2)
        y = tf.nn.atrous_conv2d(x, kernel, 2, "SAME")
        y = tf.nn.space_to_depth(tf.nn.leaky_relu(y), 2)
        y = tf.image.resize(tf.nn.depth_to_space(y, 2), (20, 20))
        return tf.image.resize(y, (9, 9), "nearest"), tf.reduce_logsumexp(y, (1, 2))

    return call


def _chosen(tf):
    def call(boxes, scores):
        kept = tf.image.non_max_suppression(boxes, scores, 4, 0.4)
        best, index = tf.nn.top_k(scores, 3)
        return tf.gather(boxes, kept), best, tf.gather_nd(boxes, tf.expand_dims(index, -1))

    return call


def _spectrum(tf):
    def call(x):
        power = tf.abs(tf.signal.stft(x, 32, 16, 32)) ** 2
        return tf.math.log(1.0 + tf.tensordot(power, tf.constant(np.eye(17, 8, dtype=np.float32)), 1))

    return call


def _branches(tf):
    def call(x, which):
        return tf.cond(which > 5, lambda: tf.math.segment_sum(x, [0, 0, 1, 1]), lambda: tf.cumsum(tf.reverse(x, [0]), 0)[:2])

    return call


IMAGE = {"x": reals(1, 16, 16, 3)}
RECIPES = [
    keras("keras_pictures", "classification", _pictures, (1, 24, 24, 3)),
    keras("keras_series", "time series", _series, (1, 16, 4)),
    keras("keras_attention", "encoder", _attention, (1, 10, 16)),
    keras("keras_recommender", "recommender", _recommender, (4, 6)),
    converted("tensorflow_loop", "control flow", _loop, {"x": reals(2, 8), "turns": {"values": 5, "dtype": "int32", "shape": []}}),
    converted("tensorflow_resized", "images", _resized, IMAGE),
    converted("tensorflow_chosen", "detection", _chosen,
              {"boxes": {"values": [[0, 0, 2, 2], [0, 0.1, 2, 2], [1, 1, 3, 3], [4, 4, 5, 5], [0, 0, 1, 1]], "dtype": "float32",
                         "shape": [5, 4]}, "scores": reals(5)}),
    converted("tensorflow_spectrum", "speech", _spectrum, {"x": reals(1, 128)}),
    converted("tensorflow_branches", "control flow", _branches, {"x": reals(4, 3), "which": whole(low=1, high=3, dtype="int32")}),
    lite("lite_pictures", "classification", _lite_pictures, (1, 24, 24, 3), False),
    lite("lite_pictures_quantised", "quantised", _lite_pictures, (1, 24, 24, 3), True),
    lite("lite_attention", "encoder", _attention, (1, 10, 16), False),
]
