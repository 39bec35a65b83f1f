"""What shells complete is what the tables have; bash's is run."""
import re
import subprocess

from harness import USAGE
from test_usage import VERBS

ASK = """
{script}
COMP_WORDS=({words} "$1"); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _layover; printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def completed(script, words, begun):
    done = subprocess.run(["bash", "--norc", "-euc", ASK.format(script=script, words=words), "bash", begun],
                          capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_completion_offers_what_the_tables_have(home):
    script = home.call("completion", "bash", as_json=False).out
    options = re.findall(r"^  --([a-z-]+)", home.call("run", "--help", as_json=False).out, re.MULTILINE)
    assert sorted(completed(script, "layover", "")) == sorted(VERBS)
    assert completed(script, "layover --home run --quiet", "mod") == ["models"]
    assert completed(script, "layover run m --home x", "--ou") == ["--output"]
    assert sorted(completed(script, "layover --json run m", "--")) == sorted("--" + name for name in options)
    assert completed(script, "layover run", "x") == []  # a file's name, which bash completes
    for shell in ("fish", "zsh"):
        text = home.call("completion", shell, as_json=False).out
        for word in (*VERBS, *options):
            assert re.search(rf"(?<!\w){word}(?![\w-])", text), (shell, word)
    home.refuses("completion", "tcsh", code=USAGE, words=["bash, fish or zsh"])
