"""What timing and profiling give: tables of calls, and times of a function."""
import json
import statistics
import typing

ROW = ["Name", "Duration (us)", "Percent", "Device", "Count", "Argument Shapes", "Kernel"]
NUMBERS = {"Duration (us)", "Percent", "Count"}


class BenchmarkResult:
    """Times of one run of a function in seconds: one for each repeat, the mean of its runs."""

    def __init__(self, results: typing.Sequence[float], number: int) -> None:
        self.results = tuple(results)
        self.number = number

    @property
    def mean(self) -> float:
        return statistics.fmean(self.results)

    @property
    def median(self) -> float:
        return statistics.median(self.results)

    @property
    def std(self) -> float:
        return statistics.pstdev(self.results)

    @property
    def min(self) -> float:
        return min(self.results)

    @property
    def max(self) -> float:
        return max(self.results)

    def __repr__(self) -> str:
        return (f"BenchmarkResult(min={self.min}, mean={self.mean}, median={self.median}, max={self.max}, std={self.std}, "
                f"results={self.results})")


class Report:
    """A profile of one run.

    calls:           a dict for each call of an operator or a packed function, by the time of its end.
    device, seconds: where it ran, and how long, with the work of the profile itself.
    """

    def __init__(self, device: str, ns: int, rows: typing.Iterable[typing.Tuple[str, str, str, int, int]]) -> None:
        self.device = device
        self.seconds = ns * 1e-9
        rows = list(rows)
        total = sum(row[4] for row in rows) or 1
        self.calls = [{"Name": name, "Duration (us)": spent / 1000, "Percent": 100 * spent / total, "Device": device, "Count": 1,
                       "Argument Shapes": shapes, "Kernel": kernel} for name, kernel, shapes, _, spent in rows]

    def _rows(self, sort, aggregate):
        rows = [dict(call) for call in self.calls]
        if aggregate:
            found = {}
            for row in rows:
                first = found.setdefault((row["Name"], row["Argument Shapes"], row["Kernel"]), row)
                if first is not row:
                    for name in NUMBERS:
                        first[name] += row[name]
            rows = list(found.values())
        return sorted(rows, key=lambda row: -row["Duration (us)"]) if sort else rows

    def table(self, sort: bool = True, aggregate: bool = True, col_sums: bool = True) -> str:
        """A text of one line for each call, or, with aggregate, for calls that are alike. col_sums adds the sums."""
        rows = self._rows(sort, aggregate)
        if col_sums:
            rows.append({name: sum(row[name] for row in rows) if name in NUMBERS else "" for name in ROW} | {"Name": "Sum"})
        texts = [ROW] + [[f"{row[name]:,.2f}" if isinstance(row[name], float) else str(row[name]) for name in ROW]
                         for row in rows]
        widths = [max(len(line[i]) for line in texts) for i in range(len(ROW))]
        return "\n".join("  ".join(text.rjust(width) if name in NUMBERS else text.ljust(width)
                                   for name, text, width in zip(ROW, line, widths)).rstrip() for line in texts)

    def csv(self) -> str:
        """The calls as comma-separated values, with a line of names."""
        quoted = ["".join('"' + str(call[name]).replace('"', '""') + '",' for name in ROW)[:-1] for call in self.calls]
        return "\n".join([",".join(ROW)] + quoted) + "\n"

    def json(self) -> str:
        return json.dumps({"calls": self.calls, "device": self.device, "seconds": self.seconds})

    def __str__(self) -> str:
        return self.table()
