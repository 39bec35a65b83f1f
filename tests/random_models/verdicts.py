"""What one case shows: everybody agrees, a witness deviates in a way that deviations.py explains, or a difference."""
import blame
from deviations import explain
from random_case import make_case
from random_graph import Reject
from witnesses import NO_STOP, Crash, Layover, OnnxRuntime, Refusal, same, same_bits

SIM_SHARE = 4  # every so many cases run on sim:0, too, and are stopped and moved there and back
# What onnxruntime says of models that are not valid ones: the reference evaluator checks no types, and few shapes.
INVALID = ("INVALID_GRAPH", "INVALID_ARGUMENT", "ShapeInferenceError", "TypeInferenceError", "Type Error")


class Verdict:
    """kind: agree, alone (onnxruntime refuses), rejected, invalid (both refuse), explained, difference."""

    def __init__(self, kind, cause="", detail="", part=None):
        self.kind, self.cause, self.detail, self.part = kind, cause, detail, part

    @property
    def key(self):
        return f"{self.kind}: {self.cause}" if self.cause else self.kind


class Judge:
    def __init__(self, seed):
        self.seed = seed
        self.layover, self.runtime = Layover(), OnnxRuntime()

    def close(self):
        self.layover.stop()

    def judge(self, number):
        try:
            case = make_case(self.seed, number)
        except Reject:
            return None, Verdict("rejected")
        return case, self._judge_case(case)

    def _judge_case(self, case):
        with_sim = case.number % SIM_SHARE == 0
        stop = case.number * 7919 % 1001 if with_sim else NO_STOP
        try:
            runs = self.layover.ask(case.data, [case.inputs[port.name] for port in case.model.graph.input], with_sim, stop)
        except Crash as crash:
            return Verdict("difference", "crash", str(crash), (case.model, case.inputs))
        moved = self._judge_moves(case, runs)
        if moved:
            return moved
        refusal = next((result for result in runs.values() if isinstance(result, Refusal)), None)
        ours = refusal or dict(zip(case.outputs, runs["cpu"]))
        theirs = self._ask_runtime(case.data, case.inputs)
        right, theirs_right = self._is_right(case, ours), self._is_right(case, theirs)
        if right and theirs_right:
            return Verdict("agree")
        if right and isinstance(theirs, Refusal):
            return Verdict("alone")
        if refusal and isinstance(theirs, Refusal) and any(word in str(theirs) for word in INVALID):
            return Verdict("invalid")
        return self._blame(case, refusal, right)

    def _judge_moves(self, case, runs):
        """On another device, and moved there on the way: the same bits."""
        straight = runs.get("cpu")
        if straight is None or isinstance(straight, Refusal):
            return None
        for name, result in runs.items():
            if isinstance(result, Refusal):
                return Verdict("difference", f"refused on {name}", str(result), (case.model, case.inputs))
            if not all(same_bits(one, other) for one, other in zip(result, straight)):
                return Verdict("difference", f"other bits on {name}", "", (case.model, case.inputs))
        return None

    def _ask_runtime(self, data, inputs):
        try:
            return self.runtime.run(data, inputs)
        except Refusal as refusal:
            return refusal

    @staticmethod
    def _is_right(case, results):
        return not isinstance(results, Refusal) and all(
            same(results[name], case.values[name].data, case.values[name].exact, case.is_coarse) for name in case.outputs)

    def _blame(self, case, refusal, right):
        """right: ours is as the reference's, so it is onnxruntime that is apart."""
        witness = blame.Theirs(self.runtime, self.layover) if right else blame.Ours(self.layover)
        node, model, inputs = blame.find(case, witness)
        cause = blame.name_of(node)
        if not right and self._both_refuse(model, inputs):
            return Verdict("invalid")
        who = "onnxruntime" if right else self._who(case, model, inputs)
        reason = explain(who, node, model, inputs, case)
        if reason:
            return Verdict("explained", f"{who}: {reason}", cause, (model, inputs))
        return Verdict("difference", f"{who}: {cause}", str(refusal or ""), (model, inputs))

    def _both_refuse(self, model, inputs):
        try:
            self.layover.run(model, inputs)
        except Refusal:
            theirs = self._ask_runtime(model.SerializeToString(), inputs)
            return isinstance(theirs, Refusal) and any(word in str(theirs) for word in INVALID)
        except Crash:
            pass
        return False

    def _who(self, case, model, inputs):
        """Whose results are not the other two's in this part."""
        theirs = self._ask_runtime(model.SerializeToString(), inputs)
        try:
            ours = self.layover.run(model, inputs)
        except (Refusal, Crash):
            return "layover"
        if isinstance(theirs, Refusal):
            return "one witness"
        if all(same(ours[name], theirs[name], False, case.is_coarse) for name in ours):
            return "onnx"
        return "layover"
