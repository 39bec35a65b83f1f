"""Circles between files: a file with its header (and x_internal.h with x) is one unit, an #include an arrow between units."""
import os

# A recursion that is meant: its units, and why none of them can stand below the others.
SAID = {
    frozenset(("kernels/shape_rules/expansion_builder", "kernels/shape_rules/operator_expansion",
               "kernels/shape_rules/operator_infer", "kernels/shape_rules/shape_rules")):
        "inference of an operator without a rule of its own expands it, and an expansion infers what it builds",
    frozenset(("scheduler/policy/admission", "scheduler/policy/placement")):
        "a job that finds no room on its device waits again, and a job that waits is offered to devices at once",
}
IGNORED = ("tests/", "bench/", "examples/")


def _unit(path, stems):
    stem = os.path.splitext(path)[0]
    base = stem.removesuffix("_internal")
    return base if base in stems else stem


def read_arrows(sources):
    """{unit: {unit that it includes: the first path and line that do}}"""
    sources = [source for source in sources if not source.path.startswith(IGNORED)]
    stems = {os.path.splitext(source.path)[0] for source in sources}
    arrows = {}
    for source in sources:
        own = arrows.setdefault(_unit(source.path, stems), {})
        for line, name, is_system in source.includes():
            if is_system or os.path.splitext(name)[0] not in stems:
                continue
            target = _unit(name, stems)
            if target != _unit(source.path, stems):
                own.setdefault(target, (source.path, line))
    return arrows


def find_circles(arrows):
    """Tarjan's strongly connected components of more than one unit, each a sorted list."""
    number, low, stack, circles = {}, {}, [], []

    def visit(unit):
        number[unit] = low[unit] = len(number)
        stack.append(unit)
        for target in arrows.get(unit, ()):
            if target not in number:
                visit(target)
                low[unit] = min(low[unit], low[target])
            elif target in stack:
                low[unit] = min(low[unit], number[target])
        if low[unit] != number[unit]:
            return
        circle = []
        while unit not in circle:
            circle.append(stack.pop())
        if len(circle) > 1:
            circles.append(sorted(circle))

    for unit in sorted(arrows):
        if unit not in number:
            visit(unit)
    return circles


def check_circles(sources):
    """[(path, line, what)]"""
    arrows = read_arrows(sources)
    problems = []
    for circle in find_circles(arrows):
        units = frozenset(circle)
        if units in SAID:
            continue
        path, line = next(arrows[circle[0]][target] for target in sorted(arrows[circle[0]]) if target in units)
        problems.append((path, line, f"a circle between files: {', '.join(circle)}. Put what they share below them, "
                                     "or say the recursion in SAID of tools/check/check_circles.py"))
    return problems
