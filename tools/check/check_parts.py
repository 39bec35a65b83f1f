"""Who writes the parts of a job in memory.

The first comment of a part's header names them: "Writers: slices/, jobs/control_jobs.c." A folder ends with a slash; names
are below the folder of the control thread. An assignment elsewhere is a problem, and so is a writer that assigns nothing.
Only `job->member = …` and its like are seen, not what is written through a pointer to the part.
"""
import re

CONTROL = "scheduler/control/"
HOLDER = CONTROL + "state/control_job.h"
_MEMBER = re.compile(r"^    (\w+) (\w+);", re.MULTILINE)
_WRITERS = re.compile(r"Writers:([^.]*(?:\.[ch][^.]*)*)\.")
_FIRST_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def read_writers(source):
    """The files and folders that the first comment names; None: it names none."""
    comment = _FIRST_COMMENT.search(source.text)
    found = _WRITERS.search(comment.group(0)) if comment else None
    return [name for name in re.split(r"[\s,*]+", found.group(1)) if name] if found else None


def find_parts(sources):
    """{member of the job: (header's path, its writers)}"""
    headers = {}
    for source in sources:
        if source.path.startswith(CONTROL) and source.path.endswith(".h"):
            writers = read_writers(source)
            for name in re.findall(r"^\} (\w+);", source.code, re.MULTILINE) if writers is not None else ():
                headers[name] = (source.path, writers)
    holder = next((source for source in sources if source.path == HOLDER), None)
    members = _MEMBER.findall(holder.code) if holder else []
    return {member: headers[kind] for kind, member in members if kind in headers}


def _assignments(source, member):
    pattern = r"\bjob->" + member + r"(?:\.\w+(?:\[[^\]]*\])?)* *(?:[-+|&*]?=(?!=)|\+\+|--)"
    return [source.line_of(match.start()) for match in re.finditer(pattern, source.code)]


def check_parts(sources):
    """[(path, line, what)]"""
    problems = []
    for member, (header, writers) in find_parts(sources).items():
        unused = set(writers)
        for source in sources:
            if not source.path.startswith(CONTROL):
                continue
            name = source.path.removeprefix(CONTROL)
            allowed = {writer for writer in writers if name == writer or (writer.endswith("/") and name.startswith(writer))}
            lines = _assignments(source, member)
            if lines:
                unused -= allowed
            if not allowed:
                problems += [(source.path, line, f"writes the part {member}, whose writers {header} names") for line in lines]
        problems += [(header, 1, f"{writer} is named as a writer and writes nothing") for writer in sorted(unused)]
    return problems
