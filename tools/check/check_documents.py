"""The documents' rules, for check_style.py: sizes, lengths of lines, and that what a document names is there."""
import os
import re

from check_layers import FOLDERS

DOCUMENT_BYTES = 20 << 10
DOCUMENT_COLUMNS = 100
# A file in backticks by its name or path, a path that begins with a folder of the tree, and a link.
NAMED_FILE = re.compile(r"`((?:[\w.-]+/)*[\w-]+\.(?:c|h|def|cu|py|sql|md))`")
NAMED_FOLDER = re.compile(rf"`((?:{'|'.join((*FOLDERS, 'docs'))})/(?:[\w-]+/)*)`")
# A function, field or pass in backticks: words with _ between them. One of the sources (WORD_ENDINGS) must have the name.
NAMED_WORD = re.compile(r"`([a-z][a-z0-9]*(?:_[a-z0-9]+)+)`")
WORD_ENDINGS = (".c", ".h", ".def", ".cu", ".py", ".sql", ".build")
# A row of the glossary: the words, what they mean, the files that say so.
GLOSSARY = "docs/architecture.md"
GLOSSARY_ROW = re.compile(r"^\| ([^|]+) \| [^|]+ \| ((?:`[\w.]+`(?:, )?)+) \|$")
LINK = re.compile(r"\]\(([^)\s:]*)\)")


def is_document(path):
    return path.endswith(".md") and ("/" not in path or path.startswith("docs/"))


def lines_of(text):
    """[(number, line, whether it stands between fences)]"""
    lines, fenced = [], False
    for number, line in enumerate(text.splitlines(), 1):
        fence = line.lstrip().startswith("```")
        lines.append((number, line, fenced or fence))
        fenced ^= fence
    return lines


def find_anchors(lines):
    """What #anchor of a link may name: each heading, in lower case, with - for blanks."""
    titles = [line.lstrip("#").strip() for _, line, fenced in lines if line.startswith("#") and not fenced]
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def check_shape(root, path, lines):
    size = os.path.getsize(os.path.join(root, path))
    if size > DOCUMENT_BYTES:
        yield path, 1, f"{size} bytes; a document has at most {DOCUMENT_BYTES}: split it"
    for number, line, fenced in lines:
        if len(line) > DOCUMENT_COLUMNS and not fenced and not line.startswith("|"):
            yield path, number, f"{len(line)} columns; a line has at most {DOCUMENT_COLUMNS}: tools/generate/wrap_markdown.py"


def check_names(path, lines, files, folders):
    for number, line, _ in lines:
        for name in NAMED_FILE.findall(line):
            if os.path.basename(name) not in files:
                yield path, number, f"names {name}, which is not in the tree"
            elif name not in files and not any(file.endswith("/" + name) for file in files):
                yield path, number, f"names {name}, which is elsewhere in the tree"
        for name in NAMED_FOLDER.findall(line):
            if name.rstrip("/") not in folders:
                yield path, number, f"names the folder {name}, which is not in the tree"


def find_words(texts):
    """All words with _ in them of the sources."""
    words = set()
    for path, text in texts.items():
        if path.endswith(WORD_ENDINGS):
            words.update(re.findall(r"\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b", text))
    return words


def check_words(path, lines, words):
    for number, line, _ in lines:
        for word in NAMED_WORD.findall(line):
            if word not in words:
                yield path, number, f"names {word}, which no source has"


def check_glossary(lines, texts):
    """Each word of the glossary stands in a file that its row names."""
    for number, line, _ in lines[next((i for i, (_, line, _) in enumerate(lines) if line == "## Words"), len(lines)):]:
        row = GLOSSARY_ROW.match(line)
        if not row:
            continue
        names = re.findall(r"`([\w.]+)`", row.group(2))
        text = " ".join(texts[path] for path in texts if os.path.basename(path) in names).lower().replace("_", " ")
        for word in row.group(1).split(", "):
            if word not in text:
                yield GLOSSARY, number, f"the word {word} is not in {row.group(2)}"


def check_links(root, path, lines, anchors):
    for number, line, fenced in lines:
        for target in [] if fenced else LINK.findall(line):
            name, _, anchor = target.partition("#")
            place = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
            if not os.path.exists(os.path.join(root, place)):
                yield path, number, f"links to {name}, which is not in the tree"
            elif anchor and anchor not in anchors.get(place, ()):
                yield path, number, f"links to #{anchor}, which {place} does not have"


def check_documents(root, paths, texts):
    """[(path, line, what)]; paths: of all files of the tree, texts: {path: text}"""
    documents = {path: lines_of(text) for path, text in texts.items() if is_document(path)}
    words = find_words(texts)
    files = {*paths, *(os.path.basename(path) for path in paths)}
    folders = {"/".join(parts[:i]) for parts in (path.split("/") for path in paths) for i in range(1, len(parts))}
    anchors = {path: find_anchors(lines) for path, lines in documents.items()}
    problems = list(check_glossary(documents.get(GLOSSARY, []), texts))
    for path, lines in documents.items():
        problems += check_shape(root, path, lines)
        problems += check_names(path, lines, files, folders)
        problems += check_words(path, lines, words)
        problems += check_links(root, path, lines, anchors)
    return problems
