"""Real architectures with seeded random weights, written the way exporters write them."""
import numpy as np
from onnx import helper

from graph_builder import BOOL, FLOAT, INT64, GraphBuilder, value


def mlp(sizes=(784, 512, 256, 10), seed=1):
    g = GraphBuilder("mlp", seed)
    x = "x"
    for i, (fan_in, fan_out) in enumerate(zip(sizes, sizes[1:])):
        x = g.op("Gemm", x, g.random_weight(f"w{i}", (fan_out, fan_in), (2.0 / fan_in) ** 0.5),
                 g.random_weight(f"b{i}", (fan_out,), 0.01), transB=1)
        if i < len(sizes) - 2:
            x = g.op("Relu", x)
    g.op("Softmax", x, axis=-1, name="y")
    return g.model([value("x", FLOAT, ["N", sizes[0]])], [value("y", FLOAT, ["N", sizes[-1]])])


def bert(layers=4, width=256, heads=4, inner=1024, vocabulary=5000, positions=512, seed=13, builder=GraphBuilder):
    g = builder("bert", seed)
    head = width // heads
    batch, length = g.dimension("input_ids", 0), g.dimension("input_ids", 1)
    mask = g.op("Cast", g.op("Unsqueeze", "attention_mask", g.constant([1, 2])), to=FLOAT)
    penalty = g.op("Mul", g.op("Sub", g.float_constant(1), mask), g.float_constant(-10000.0))
    position_ids = g.weight("position_ids", np.arange(positions, dtype=np.int64)[None])
    used_positions = g.op("Slice", position_ids, g.constant([0]),
                          g.op("Unsqueeze", length, g.constant([0])), g.constant([1]))
    tokens = g.op("Gather", g.random_weight("token", (vocabulary, width), 0.02), "input_ids")
    types = g.op("Gather", g.random_weight("type", (2, width), 0.02), "token_type_ids")
    places = g.op("Gather", g.random_weight("position", (positions, width), 0.02), used_positions)
    x = g.layer_norm(g.op("Add", g.op("Add", tokens, types), places), "embedding.norm", width, 1e-12)
    for layer in range(layers):
        prefix = f"layer{layer}"

        def linear(tensor, name, fan_in, fan_out):
            return g.linear(tensor, g.random_weight(f"{prefix}.{name}.w", (fan_in, fan_out), fan_in ** -0.5),
                            g.random_weight(f"{prefix}.{name}.b", (fan_out,), 0.02))

        def split_heads(tensor, order):
            return g.op("Transpose", g.op("Reshape", tensor, g.shape_vector(batch, length, heads, head)),
                        perm=order)

        query = split_heads(linear(x, "q", width, width), [0, 2, 1, 3])
        key = split_heads(linear(x, "k", width, width), [0, 2, 3, 1])
        content = split_heads(linear(x, "v", width, width), [0, 2, 1, 3])
        scores = g.op("Div", g.op("MatMul", query, key), g.float_constant(np.sqrt(head)))
        scores = g.op("Softmax", g.op("Add", scores, penalty), axis=-1)
        context = g.op("Transpose", g.op("MatMul", scores, content), perm=[0, 2, 1, 3])
        context = g.op("Reshape", context, g.shape_vector(batch, length, width))
        x = g.layer_norm(g.op("Add", linear(context, "o", width, width), x), f"{prefix}.norm1", width, 1e-12)
        wide = g.erf_gelu(linear(x, "f1", width, inner))
        x = g.layer_norm(g.op("Add", linear(wide, "f2", inner, width), x), f"{prefix}.norm2", width, 1e-12)
    g.op("Identity", x, name="last_hidden_state")
    first = g.op("Gather", x, g.constant(0), axis=1)
    g.op("Tanh", g.op("Gemm", first, g.random_weight("pool.w", (width, width), width ** -0.5),
                      g.random_weight("pool.b", (width,), 0.02), transB=1), name="pooled")
    inputs = [value(name, INT64, ["B", "S"]) for name in ("input_ids", "attention_mask", "token_type_ids")]
    return g.model(inputs, [value("last_hidden_state", FLOAT, ["B", "S", width]),
                            value("pooled", FLOAT, ["B", width])])


def gpt2_gen(layers, width, heads, vocabulary, positions, seed, end_token=-1, builder=GraphBuilder):
    """Greedy generation as one Loop whose body both reads the prompt and adds a token.

    Carried: the tokens to process [1, T] (the prompt first, one token afterwards), all ids [1, L], and each
    layer's keys and values [1, heads, P, head], which start with P = 0. The scan output is the log-probability
    of each chosen token; the loop ends early at end_token (default: never).
    """
    head = width // heads
    g = builder("gpt2_gen", seed)
    b = g.child("step")
    embedding = g.random_weight("wte", (vocabulary, width), 0.02 * (width / 64) ** 0.5)
    places = g.random_weight("wpe", (positions, width), 0.1)
    past, count = b.dimension("past_k0", 2), b.dimension("tokens", 1)
    total = b.op("Add", past, count)
    query_places = b.op("Range", past, total, b.constant(1))
    key_places = b.op("Range", b.constant(0), total, b.constant(1))
    visible = b.op("LessOrEqual", b.op("Unsqueeze", key_places, b.constant([0])),
                   b.op("Unsqueeze", query_places, b.constant([1])))
    x = b.op("Add", b.op("Gather", embedding, "tokens"), b.op("Gather", places, query_places))
    caches = []
    for layer in range(layers):
        prefix = f"h{layer}"

        def linear(tensor, name, fan_in, fan_out):
            return b.linear(tensor, b.random_weight(f"{prefix}.{name}.w", (fan_in, fan_out), fan_in ** -0.5),
                            b.random_weight(f"{prefix}.{name}.b", (fan_out,), 0.02))

        def split_heads(tensor):
            return b.op("Transpose", b.op("Reshape", tensor, b.constant([1, -1, heads, head])),
                        perm=[0, 2, 1, 3])

        normal = b.layer_norm(x, f"{prefix}.norm1", width, 1e-5)
        q, k, v = b.op("Split", linear(normal, "qkv", width, 3 * width), outputs=3, axis=2)
        k = b.op("Concat", f"past_k{layer}", split_heads(k), axis=2, name=f"k{layer}")
        v = b.op("Concat", f"past_v{layer}", split_heads(v), axis=2, name=f"v{layer}")
        caches += [k, v]
        scores = b.op("MatMul", split_heads(q), b.op("Transpose", k, perm=[0, 1, 3, 2]))
        scores = b.op("Mul", scores, b.float_constant(head ** -0.5))
        scores = b.op("Softmax", b.op("Where", visible, scores, b.float_constant(-1e9)), axis=-1)
        context = b.op("Transpose", b.op("MatMul", scores, v), perm=[0, 2, 1, 3])
        context = b.op("Reshape", context, b.constant([1, -1, width]))
        x = b.op("Add", x, linear(context, "proj", width, width))
        wide = b.tanh_gelu(linear(b.layer_norm(x, f"{prefix}.norm2", width, 1e-5), "fc", width, 4 * width))
        x = b.op("Add", x, linear(wide, "fc2", 4 * width, width))
    last = b.op("Gather", b.layer_norm(x, "final.norm", width, 1e-5), b.constant(-1), axis=1)
    logits = b.op("MatMul", last, g.random_weight("lm_head", (width, vocabulary), 3 * width ** -0.5))
    chosen = b.op("ArgMax", logits, axis=-1, keepdims=1, name="chosen")
    b.op("ReduceMax", b.op("LogSoftmax", logits, axis=-1), axes=[1], keepdims=0, name="log_probability")
    b.op("Concat", "ids", chosen, axis=1, name="ids_out")
    b.op("Squeeze", b.op("Not", b.op("Equal", chosen, b.constant([[end_token]]))), b.constant([0, 1]),
         name="go_on")
    b.op("Identity", chosen, name="tokens_out")
    pasts = [f"past_{kind}{layer}" for layer in range(layers) for kind in "kv"]
    cache_shape = [1, heads, None, head]
    body = b.subgraph(
        [value("iteration", INT64, []), value("condition", BOOL, []), value("tokens", INT64, [1, None]),
         value("ids", INT64, [1, None])] + [value(name, FLOAT, cache_shape) for name in pasts],
        [value("go_on", BOOL, []), value("tokens_out", INT64, [1, None]), value("ids_out", INT64, [1, None])]
        + [value(name, FLOAT, cache_shape) for name in caches] + [value("log_probability", FLOAT, [1])])
    empty = g.weight("empty_cache", np.zeros((1, heads, 0, head), np.float32))
    always = g.weight("always", np.array(True))
    outputs = [g.fresh_name("last_tokens"), "generated"] + [g.fresh_name("cache") for _ in pasts]
    g.op("Loop", "max_new_tokens", always, "input_ids", "input_ids", *[empty] * len(pasts),
         name=outputs + ["log_probabilities"], body=body)
    return g.model([value("input_ids", INT64, [1, "T"]), value("max_new_tokens", INT64, [])],
                   [value("generated", INT64, [1, "TN"]), value("log_probabilities", FLOAT, ["N", 1])])


def _language_model(g, x, final_h, final_c, vocabulary, width):
    """The logits of hidden states x, and the states for the next tokens."""
    g.op("Add", g.op("MatMul", x, g.random_weight("out.w", (width, vocabulary), 3 * width ** -0.5)),
         g.random_weight("out.b", (vocabulary,), 0.02), name="logits")
    g.op("Concat", *final_h, axis=0, name="hn")
    g.op("Concat", *final_c, axis=0, name="cn")

    def state(name):
        return value(name, FLOAT, [len(final_h), "B", width])

    return g.model([value("tokens", INT64, ["S", "B"]), state("h0"), state("c0")],
                   [value("logits", FLOAT, ["S", "B", vocabulary]), state("hn"), state("cn")])


def scan_lm(vocabulary=5000, embedding=256, width=512, layers=2, seed=5):
    """A language model whose LSTM cells are written out inside Scan."""
    g = GraphBuilder("scan_lm", seed)
    x = g.op("Gather", g.random_weight("embedding", (vocabulary, embedding), 1.0), "tokens")
    final_h, final_c = [], []
    for layer in range(layers):
        fan_in = embedding if layer == 0 else width
        w = g.random_weight(f"w{layer}", (fan_in, 4 * width), fan_in ** -0.5)
        r = g.random_weight(f"r{layer}", (width, 4 * width), width ** -0.5)
        bias = g.random_weight(f"b{layer}", (4 * width,), 0.03)
        b = g.child(f"cell{layer}")
        mixed = b.op("Add", b.op("Add", b.op("MatMul", f"x_{layer}", w), b.op("MatMul", f"h_{layer}", r)), bias)
        gate_in, gate_out, gate_forget, candidate = b.op("Split", mixed, outputs=4, axis=1)
        kept = b.op("Mul", b.op("Sigmoid", gate_forget), f"c_{layer}")
        added = b.op("Mul", b.op("Sigmoid", gate_in), b.op("Tanh", candidate))
        c_new = b.op("Add", kept, added, name=f"c_new_{layer}")
        h_new = b.op("Mul", b.op("Sigmoid", gate_out), b.op("Tanh", c_new), name=f"h_new_{layer}")
        y = b.op("Identity", h_new, name=f"y_{layer}")
        body = b.subgraph([value(f"h_{layer}", FLOAT, [None, width]), value(f"c_{layer}", FLOAT, [None, width]),
                           value(f"x_{layer}", FLOAT, [None, fan_in])],
                          [value(name, FLOAT, [None, width]) for name in (h_new, c_new, y)])
        start = [g.op("Squeeze", g.op("Slice", state, g.constant([layer]), g.constant([layer + 1]),
                                      g.constant([0])), g.constant([0])) for state in ("h0", "c0")]
        h, c, x = g.op("Scan", *start, x, outputs=3, num_scan_inputs=1, body=body)
        final_h.append(g.op("Unsqueeze", h, g.constant([0])))
        final_c.append(g.op("Unsqueeze", c, g.constant([0])))
    return _language_model(g, x, final_h, final_c, vocabulary, width)


def lstm_lm(vocabulary=5000, embedding=256, width=512, layers=2, seed=5):
    """A language model of LSTM operators."""
    g = GraphBuilder("lstm_lm", seed)
    x = g.op("Gather", g.random_weight("embedding", (vocabulary, embedding), 1.0), "tokens")
    final_h, final_c = [], []
    for layer in range(layers):
        fan_in = embedding if layer == 0 else width
        w = g.random_weight(f"w{layer}", (1, 4 * width, fan_in), fan_in ** -0.5)
        r = g.random_weight(f"r{layer}", (1, 4 * width, width), width ** -0.5)
        bias = g.random_weight(f"b{layer}", (1, 8 * width), 0.02)
        h0, c0 = (g.op("Slice", state, g.constant([layer]), g.constant([layer + 1]), g.constant([0]))
                  for state in ("h0", "c0"))
        y, h, c = g.op("LSTM", x, w, r, bias, "", h0, c0, outputs=3, hidden_size=width)
        x = g.op("Squeeze", y, g.constant([1]))
        final_h.append(h)
        final_c.append(c)
    return _language_model(g, x, final_h, final_c, vocabulary, width)


def resnet50(width=64, classes=1000, seed=2):
    """ResNet-50 whose strides are in the 3x3 convolutions, as newer exporters write it."""
    g = GraphBuilder("resnet50_v15", seed)

    def convolution(x, channels, out, size, stride, damped=False):
        name = g.fresh_name("layer")
        y = g.op("Conv", x, g.random_weight(f"{name}.w", (out, channels, size, size),
                                            (2.0 / (channels * size * size)) ** 0.5),
                 kernel_shape=[size, size], strides=[stride, stride], pads=[size // 2] * 4)

        def drawn(part, low, high, scale=1.0):
            return g.weight(f"{name}.{part}", (scale * g.random.uniform(low, high, out)).astype(np.float32))

        return g.op("BatchNormalization", y, drawn("scale", 0.8, 1.2, 0.25 if damped else 1.0), drawn("bias", -0.1, 0.1),
                    drawn("mean", -0.1, 0.1), drawn("variance", 0.8, 1.2))

    def relu(x):
        return g.op("Relu", x)

    x = g.op("MaxPool", relu(convolution("x", 3, width, 7, 2)), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = width
    for stage, blocks in enumerate((3, 4, 6, 3)):
        inner, out = width << stage, 4 * width << stage
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            y = relu(convolution(relu(convolution(x, channels, inner, 1, 1)), inner, inner, 3, stride))
            y = convolution(y, inner, out, 1, 1, damped=True)
            shortcut = convolution(x, channels, out, 1, stride) if block == 0 else x
            x, channels = relu(g.op("Add", y, shortcut)), out
    x = g.op("Flatten", g.op("GlobalAveragePool", x), axis=1)
    g.op("Gemm", x, g.random_weight("fc.w", (classes, channels), channels ** -0.5),
         g.random_weight("fc.b", (classes,), 0.01), transB=1, name="logits")
    return g.model([value("x", FLOAT, ["N", 3, 224, 224])], [value("logits", FLOAT, ["N", classes])])


def vad(width=128, seed=6):
    """Streaming voice detection: If on the sample rate, a convolutional front end, one LSTM step."""
    g = GraphBuilder("vad", seed)

    def front_end(name, window, hop):
        b = g.child(name)
        padded = b.op("Pad", b.op("Unsqueeze", "audio", b.constant([1])),
                      b.constant([0, 0, window // 4, 0, 0, window // 4]), mode="reflect")
        spectrum = b.op("Conv", padded, g.random_weight(f"{name}.stft", (window + 2, 1, window), window ** -0.5),
                        strides=[hop], kernel_shape=[window])
        real, imaginary = b.op("Split", spectrum, outputs=2, axis=1)
        x = b.op("Sqrt", b.op("Add", b.op("Mul", real, real), b.op("Mul", imaginary, imaginary)))
        channels = window // 2 + 1
        for i, (out, stride) in enumerate(((width, 1), (width // 2, 2), (width // 2, 2), (width, 1))):
            weight = g.random_weight(f"{name}.c{i}.w", (out, channels, 3), (2 / (3 * channels)) ** 0.5)
            bias = g.random_weight(f"{name}.c{i}.b", (out,), 0.02)
            x = b.op("Relu", b.op("Conv", x, weight, bias, strides=[stride], pads=[1, 1], kernel_shape=[3]))
            channels = out
        b.op("ReduceMean", x, axes=[2], keepdims=0, name=f"{name}_out")
        return b.subgraph([], [value(f"{name}_out", FLOAT, [None, width])])

    wide, narrow = front_end("rate_16k", 256, 128), front_end("rate_8k", 128, 64)
    features = g.op("If", g.op("Equal", "sr", g.constant(16000)), then_branch=wide, else_branch=narrow)
    h0 = g.op("Gather", "state", g.constant([0]), axis=0)
    c0 = g.op("Gather", "state", g.constant([1]), axis=0)
    _, h, c = g.op("LSTM", g.op("Unsqueeze", features, g.constant([0])),
                   g.random_weight("w", (1, 4 * width, width), width ** -0.5),
                   g.random_weight("r", (1, 4 * width, width), width ** -0.5),
                   g.random_weight("b", (1, 8 * width), 0.02), "", h0, c0, outputs=3, hidden_size=width)
    g.op("Concat", h, c, axis=0, name="state_out")
    score = g.op("Gemm", g.op("Relu", g.op("Squeeze", h, g.constant([0]))),
                 g.random_weight("out.w", (width, 1), width ** -0.5), g.random_weight("out.b", (1,), 0.02))
    g.op("Sigmoid", score, name="probability")
    return g.model([value("audio", FLOAT, ["B", "samples"]), value("state", FLOAT, [2, "B", width]),
                    value("sr", INT64, [])],
                   [value("probability", FLOAT, ["B", 1]), value("state_out", FLOAT, [2, "B", width])])
