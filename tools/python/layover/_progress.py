"""A job's progress as a bar of tqdm, in terminals and notebooks."""
import contextlib
import sys


@contextlib.contextmanager
def bar(name, wanted):
    """Gives a function that is called with a job's fields. wanted None: only where somebody sees it."""
    tqdm = None
    if wanted or (wanted is None and (sys.stderr.isatty() or "ipykernel" in sys.modules)):
        try:
            from tqdm.auto import tqdm
        except ImportError:
            if wanted:
                raise
    if tqdm is None:
        yield lambda info: None
        return
    with tqdm(desc=name, unit="item") as shown:
        def show(info):
            shown.total = info.get("items_total") or info.get("outputs") or 0
            shown.n = info.get("items_done") or 0
            shown.set_postfix_str(info["state"], refresh=False)
            shown.refresh()
        yield show
