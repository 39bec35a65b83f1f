"""Reads the tree's C files for the checks: comments and literals blanked, lines kept."""
import os
import re

SOURCE_ENDINGS = (".c", ".h", ".def", ".cu", ".cuh")
_PIECES = re.compile(
    r"(?P<block>/\*.*?(?:\*/|\Z))"
    r"|(?P<line>//(?:\\\n|[^\n])*)"
    r"|(?P<string>\"(?:\\.|[^\"\\\n])*\"?)"
    r"|(?P<character>'(?:\\.|[^'\\\n])*'?)",
    re.DOTALL)
NAME_CHARACTERS = 200  # at most, a function's name and the blanks behind it; a search from the file's start would be slow
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*(?:<([^>\n]+)>|\"([^\"\n]+)\")")


def _blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


class Source:
    """One file: its text, the text without comments and literals, and what was in the comments."""

    def __init__(self, root, path):
        self.path = path
        with open(os.path.join(root, path), encoding="utf-8") as file:
            self.text = file.read()
        self.lines = self.text.split("\n")
        self.line_comments = []

        def replace(match):
            if match.lastgroup == "line":
                self.line_comments.append(self.line_of(match.start()))
            if match.lastgroup in ("string", "character"):
                quote = match.group(0)[0]
                return quote + re.sub(r"[^\n]", " ", match.group(0)[1:-1]) + quote
            return _blank(match)

        self.code = _PIECES.sub(replace, self.text)

    def line_of(self, offset):
        return self.text.count("\n", 0, offset) + 1

    def includes(self):
        """[(line, name, whether in angle brackets)]"""
        code_lines = self.code.split("\n")
        found = []
        for number, line in enumerate(self.lines, 1):
            match = _INCLUDE.match(line)
            # a line inside a comment has no '#' left in the blanked text
            if match and "#" in code_lines[number - 1]:
                found.append((number, match.group(1) or match.group(2), match.group(1) is not None))
        return found

    def functions(self):
        """[(line, name, lines)] of the function bodies at file level."""
        code = _DIRECTIVE.sub(_blank, self.code)
        found, depth, start, name = [], 0, 0, None
        for match in re.finditer(r"[{}]", code):
            if match.group(0) == "{":
                if depth == 0:
                    start, name = match.start(), _function_name(code, match.start())
                depth += 1
            elif depth > 0:
                depth -= 1
                if depth == 0 and name:
                    first, last = self.line_of(start), self.line_of(match.start())
                    found.append((first, name, last - first + 1))
        return found

    def calls(self, names):
        """[(line, name)] of calls to the named functions; members such as device->free(...) are others."""
        pattern = re.compile(r"(?<![\w.])(?<!->)(" + "|".join(names) + r")\s*\(")
        return [(self.line_of(match.start()), match.group(1)) for match in pattern.finditer(self.code)]


def _function_name(code, brace):
    """The name before the parameter list that ends right before a brace; None for a type or an initialiser."""
    before = code[:brace].rstrip()
    if not before.endswith(")"):
        return None
    depth = 0
    for i in range(len(before) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(before[i], 0)
        if depth == 0:
            match = re.search(r"(\w+)\s*$", before[max(0, i - NAME_CHARACTERS):i])
            return match.group(1) if match else None
    return None


def find_files(root, endings):
    """Paths below root with these endings, sorted; hidden and build folders left out, and debian/, where packages are made."""
    found = []
    for folder, folders, files in os.walk(root):
        top = folder == root
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "__pycache__"
                            and not (top and name.startswith(("build", "debian"))))
        found += [os.path.relpath(os.path.join(folder, name), root) for name in files if name.endswith(endings)]
    return sorted(found)


def read_sources(root):
    return [Source(root, path) for path in find_files(root, SOURCE_ENDINGS)]
