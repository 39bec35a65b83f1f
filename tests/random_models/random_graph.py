"""A random graph under construction. Each node is evaluated as soon as it is added, by onnx's reference evaluator: so a
recipe knows the shapes and elements of what there is, and the reference's results come with the graph."""
import random
import warnings

import ml_dtypes
import numpy as np
from onnx import TensorProto, TypeProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import RuntimeContextError

from reference_loop import Loop
from reference_normalization import NORMALIZATIONS
from reference_reduction import ReduceSumSquare

DOMAIN = "random.local"
ELEMENTS_MAX = 6000
MAGNITUDE_MAX = 3e3
FLOATS = (np.dtype("f4"), np.dtype("f8"), np.dtype("f2"), np.dtype(ml_dtypes.bfloat16))
INTEGERS = tuple(map(np.dtype, ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")))
F4, F8, F2, BF16 = FLOATS
I4, I8, U1, I1, BOOL, STRING = (np.dtype(name) for name in ("i4", "i8", "u1", "i1", "?", "O"))
WORDS = ("", "a", "b", "B", "ab", "ba", "7", "-1.5", "été", "the end", "x y", "ß", "0", "12")


# Where a small change of an element changes the result by a step.
FLOAT_NUMBERS = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16)
STEPS = ("Floor", "Ceil", "Round", "Sign", "Greater", "Less", "Equal", "GreaterOrEqual", "LessOrEqual", "ArgMax", "ArgMin", "TopK",
         "Unique", "NonZero", "QuantizeLinear", "DynamicQuantizeLinear", "ThresholdedRelu", "MaxUnpool", "Mod")


class Reject(Exception):
    """The recipe cannot go on with what it has drawn; the graph stays as it was before it."""


class Value:
    """A name and what it holds: an array, a list of arrays, or None. exact: True every evaluator gives these bits, False
    they may differ by rounding, None likewise, and the elements are those of a first round only."""

    def __init__(self, name, data, exact=True):
        self.name, self.data, self.exact = name, data, exact

    @property
    def is_tensor(self):
        return isinstance(self.data, np.ndarray)

    dtype = property(lambda self: self.data.dtype)
    shape = property(lambda self: self.data.shape)
    rank = property(lambda self: self.data.ndim)


def onnx_type(dtype):
    return TensorProto.STRING if dtype == STRING else helper.np_dtype_to_tensor_dtype(dtype)


def to_proto(array, name):
    if array.dtype == STRING:
        return helper.make_tensor(name, TensorProto.STRING, array.shape, [text.encode() for text in array.flat])
    return numpy_helper.from_array(np.array(array, order="C"), name)


def type_proto(value, shape=...):
    """The declared type of a value; shape: None leaves it open."""
    if isinstance(value.data, list):
        inner = helper.make_tensor_type_proto(onnx_type(value.data[0].dtype), None)
        made = TypeProto()
        made.sequence_type.elem_type.CopyFrom(inner)
        return made
    return helper.make_tensor_type_proto(onnx_type(value.dtype), value.shape if shape is ... else shape)


def float_elements(array):
    return array.astype(np.float64) if array.dtype == BF16 else array


def is_tame(array):
    if array.size > ELEMENTS_MAX or array.ndim > 6:
        return False
    if array.dtype in FLOATS and array.size:
        plain = float_elements(array)
        return bool(np.isfinite(plain).all() and np.abs(plain).max() <= MAGNITUDE_MAX)
    return True


def is_short(data):
    """Whether sums of such elements have no rounding errors: not after a few products of products."""
    if isinstance(data, list):
        return all(map(is_short, data))
    if data is None or data.dtype not in FLOATS:
        return True
    plain = float_elements(data) * 2.0 ** 12
    plain = plain[np.isfinite(plain)]
    return bool((plain == np.round(plain)).all() and np.abs(plain).max(initial=0) < 2 ** 23)


def _model_of(node, opset, known):
    """For operators that are functions of their inputs' types."""
    inputs = [helper.make_tensor_value_info(name, onnx_type(known[name].dtype), known[name].shape) for name in node.input if name]
    outputs = [helper.make_value_info(name, TypeProto()) for name in node.output if name]
    graph = helper.make_graph([node], "one", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def evaluate(node, opset, known, functions=()):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        names = [name for name in node.output if name]
        try:
            evaluator = ReferenceEvaluator(node, opsets={"": opset, DOMAIN: 1}, functions=list(functions),
                                           new_ops=[Loop, ReduceSumSquare, *NORMALIZATIONS])
            return dict(zip(names, evaluator.run(names, known)))
        except RuntimeContextError:
            return dict(zip(names, ReferenceEvaluator(_model_of(node, opset, known)).run(names, known)))


def as_array(data):
    if isinstance(data, (list, tuple)):
        return [as_array(item) for item in data]
    if data is None:
        return None
    array = np.asarray(data)
    return array.astype(STRING) if array.dtype.kind in "US" else array


class RandomGraph:
    """The graph, or the body of a node of another one (parent)."""

    def __init__(self, seed, opset, parent=None, is_function=False):
        self.root = parent.root if parent else self
        self.parent, self.is_function = parent, is_function
        self.opset = opset
        self.random = parent.random if parent else random.Random(seed)
        self.nodes, self.inputs, self.initializers, self.pool = [], [], [], []
        self.depth = parent.depth + 1 if parent else 0
        if not parent:
            self.numpy = np.random.default_rng(self.random.getrandbits(63))
            self.functions, self.name_count, self.wild = [], 0, False

    # ---- drawing ----
    def chance(self, probability):
        return self.random.random() < probability

    def choice(self, options):
        options = list(options)
        if not options:
            raise Reject
        return self.random.choice(options)

    def integer(self, low, high):
        """low and high may come."""
        return self.random.randint(low, high)

    def fresh_name(self, stem):
        self.root.name_count += 1
        return f"{stem}_{self.root.name_count}"

    def visible(self):
        """What nodes here may read, the newest last."""
        if self.parent and not self.is_function:
            return self.parent.visible() + self.pool
        return list(self.pool)

    def pick(self, accept=lambda value: True, make=None):
        """A tensor that there is, newer ones first in line; else what make() gives."""
        found = [value for value in self.visible() if value.is_tensor and accept(value)]
        if make and (not found or self.chance(0.08)):
            return make()
        if not found:
            raise Reject
        return found[max(self.random.randrange(len(found)), self.random.randrange(len(found)))]

    def shape(self, low=0, high=4, least=1, most=6):
        sizes = [self.integer(least, most) for _ in range(self.integer(low, high))]
        if sizes and self.root.wild and self.chance(0.2):
            sizes[self.integer(0, len(sizes) - 1)] = 0
        return tuple(sizes)

    def array(self, shape, dtype=F4):
        """Small eighths, small integers, words: sums and products of them have no rounding errors."""
        draw = self.root.numpy
        if dtype == STRING:
            flat = [self.random.choice(WORDS) for _ in range(int(np.prod(shape)))]
            return np.array(flat, STRING).reshape(shape)
        if dtype == BOOL:
            return np.asarray(draw.integers(0, 2, shape), BOOL)
        if dtype in FLOATS:
            return np.asarray(draw.integers(-24, 25, shape) / 8, dtype)
        return np.asarray(draw.integers(0 if dtype.kind == "u" else -9, 10, shape), dtype)

    def real_array(self, shape, scale=1.0, dtype=F4):
        return (self.root.numpy.standard_normal(shape) * scale).astype(dtype)

    # ---- adding ----
    def add_input(self, array, stem="in"):
        value = Value(self.fresh_name(stem), array)
        self.inputs.append(value)
        self.pool.append(value)
        return value

    def constant(self, array, dtype=None, may_be_input=True):
        """An initializer, a Constant node, or an input of the whole graph."""
        array = np.asarray(array, dtype)
        if not self.is_function and may_be_input and array.dtype != BF16 and self.chance(0.12):
            return self.root.add_input(array, "given")
        if not self.is_function and self.chance(0.7):
            value = Value(self.fresh_name("weight"), array)
            (self if self.chance(0.3) else self.root).initializers.append(value)
            return value
        value = Value(self.fresh_name("constant"), array)
        self.nodes.append(helper.make_node("Constant", [], [value.name], value=to_proto(array, value.name)))
        return value

    def fixed(self, array, dtype=None):
        """A constant that is never an input: operators that want theirs known."""
        return self.constant(array, dtype, may_be_input=False)

    def tensor(self, shape, dtype=F4):
        return self.constant(self.array(shape, dtype))

    def known(self, names):
        scope, found = self, {}
        while scope:
            for value in scope.pool + scope.initializers + scope.root.initializers + scope.root.inputs:
                found.setdefault(value.name, value.data)
            scope = None if scope.is_function else scope.parent
        return {name: found[name] for name in names if name in found} if names is not None else found

    def emit(self, kind, *inputs, outputs=1, exact=None, domain="", keep=True, results=None, **attributes):
        """Adds a node; returns its value, or the list of its values. outputs: how many, or a list of whether each is wanted.
        exact: None as exact as the inputs are. results: of nodes that the reference evaluator does not do. Values that are too large reject
        it."""
        wanted = [True] * outputs if isinstance(outputs, int) else outputs
        names = [self.fresh_name(kind.lower()) if want else "" for want in wanted]
        node = helper.make_node(kind, [value.name if value else "" for value in inputs], names, domain=domain, **attributes)
        feeds = {value.name: value.data for value in inputs if value}
        changing = any(value.exact is None for value in inputs if value)
        if changing and (kind in STEPS or kind == "Cast" and attributes["to"] not in FLOAT_NUMBERS):
            raise Reject
        if any(attribute.HasField("g") for attribute in node.attribute):
            feeds = {**self.known(None), **feeds}
        try:
            results = dict(zip(names, results)) if results else evaluate(node, self.opset, feeds, self.root.functions)
        except Exception as error:  # pylint: disable=broad-except  # whatever the reference does not like
            raise Reject from error
        if exact is None:
            exact = all(value.exact for value in inputs if value)
        results = {name: as_array(results[name]) for name in names if name}
        exact = None if changing else exact and all(map(is_short, results.values()))
        made = [Value(name, results[name], exact) if name else None for name in names]
        for value in filter(None, made):
            self.check(value)
        self.nodes.append(node)
        if keep:
            self.pool += [value for value in made if value]
        return made[0] if len(made) == 1 else made

    def check(self, value):
        for array in value.data if isinstance(value.data, list) else [value.data]:
            if not isinstance(array, np.ndarray) or array.size > ELEMENTS_MAX:
                raise Reject
            if not self.root.wild and not is_tame(array):
                raise Reject

    def attempt(self, recipe):
        """True when the recipe went through; else nothing has changed."""
        scopes, root = [self], self.root
        while scopes[-1].parent:
            scopes.append(scopes[-1].parent)
        lists = [(scope.nodes, scope.inputs, scope.initializers, scope.pool) for scope in scopes]
        before = [tuple(map(len, four)) for four in lists] + [len(root.functions)]
        try:
            recipe(self)
            return True
        except (Reject, ValueError, IndexError, OverflowError):
            for four, lengths in zip(lists, before):
                for items, length in zip(four, lengths):
                    del items[length:]
            del root.functions[before[-1]:]
            return False

    # ---- bodies ----
    def child(self, is_function=False):
        return RandomGraph(None, self.opset, self, is_function)

    def body(self, name, inputs, outputs, declared=True):
        """The graph of a child: inputs and outputs are values of it."""
        def info(value):
            made = helper.make_value_info(value.name, type_proto(value, None if not declared else ...))
            return made
        return helper.make_graph(self.nodes, name, [info(value) for value in inputs], [info(value) for value in outputs],
                                 [to_proto(value.data, value.name) for value in self.initializers])
