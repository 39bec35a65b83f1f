"""Prometheus' text exposition format, read as strictly as its parser reads it."""
import math
import re

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_HELP = re.compile(rf"# HELP ({_NAME}) (.+)")
_TYPE = re.compile(rf"# TYPE ({_NAME}) (counter|gauge|histogram|summary|untyped)")
_SAMPLE = re.compile(rf"({_NAME})(?:\{{(.*)\}})? (\S+)")
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(,|$)')


class Family:
    def __init__(self, name):
        self.name, self.help, self.kind, self.samples = name, None, None, {}


def _labels(text):
    found, at = {}, 0
    while at < len(text):
        match = _LABEL.match(text, at)
        assert match, f"not labels: {text!r}"
        assert match[1] not in found, text
        found[match[1]] = match[2].replace(r"\n", "\n").replace(r"\"", '"').replace("\\\\", "\\")
        at = match.end()
    return found


def _family_of(families, sample):
    for ending in ("", "_bucket", "_sum", "_count"):
        name = sample[:-len(ending)] if ending and sample.endswith(ending) else sample
        if name in families and (not ending or families[name].kind == "histogram"):
            return families[name]
    raise AssertionError(f"{sample} has no TYPE before it")


def _check_histogram(family):
    series = {}
    for (name, labels), value in family.samples.items():
        if name.endswith("_bucket"):
            own = tuple(pair for pair in labels if pair[0] != "le")
            series.setdefault(own, []).append((float(dict(labels)["le"]), value))
    for own, buckets in series.items():
        counts = [value for _, value in buckets]
        assert buckets[-1][0] == math.inf and [le for le, _ in buckets] == sorted(le for le, _ in buckets), family.name
        assert counts == sorted(counts) and counts[-1] == family.samples[f"{family.name}_count", own], family.name
        assert (f"{family.name}_sum", own) in family.samples, family.name


def parse(text):
    """{family: Family}; samples by (name, labels as sorted pairs)."""
    families, current = {}, None
    assert text.endswith("\n")
    for line in text.splitlines():
        if match := _HELP.fullmatch(line):
            assert match[1] not in families, f"{match[1]} twice"
            current = families[match[1]] = Family(match[1])
            current.help = match[2]
        elif match := _TYPE.fullmatch(line):
            assert current and current.name == match[1] and not current.samples and not current.kind, line
            current.kind = match[2]
        else:
            match = _SAMPLE.fullmatch(line)
            assert match, f"not a sample: {line!r}"
            family = _family_of(families, match[1])
            assert family is current, f"{line} stands apart from its family"
            key = match[1], tuple(sorted(_labels(match[2] or "").items()))
            assert key not in family.samples, f"{line} twice"
            family.samples[key] = float(match[3])
    for family in families.values():
        if family.kind == "histogram":
            _check_histogram(family)
        if family.kind != "gauge":
            assert all(value >= 0 for value in family.samples.values()), family.name
    return families
