"""A node dies right after each step of a migration, alone or with the other one: the pair settles without a person."""
import migration_soak
import pytest
from harness import Home
from migration import KINDS, Node, Pair, steps, undisturbed, watched


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    return undisturbed(tmp_path_factory.mktemp("expected"))


@pytest.fixture
def pair(tmp_path):
    with Pair(Node(Home(tmp_path / "a"), "a"), Node(Home(tmp_path / "b"), "b")) as nodes:
        yield nodes


def begin_and_die(pair, job, step, side, both):
    """Up to the step, after which that side is dead, or both are; they come back."""
    victim = pair.a if side == "SOURCE" else pair.b
    pair.a.begin(job, pair.b)
    victim.wait_for_death()
    if both:
        pair.other(victim).kill()
    for node in pair.nodes:
        if not node.runs:
            node.start()


@pytest.mark.parametrize("both", [False, True], ids=["one", "both"])
@pytest.mark.parametrize("step, side", steps(), ids=[step for step, _ in steps()])
def test_the_pair_settles(pair, expected, step, side, both):
    number = [name for name, _ in steps()].index(step) + both
    kind = sorted(KINDS)[number % len(KINDS)]
    victim = pair.a if side == "SOURCE" else pair.b
    victim.restart(dies_after=step)
    job = pair.submit(kind)
    pair.a.wait(job, lambda it: it["state"] == "running")
    with watched(pair, job):
        begin_and_die(pair, job, step, side, both)
        owner = pair.settle(job)
    # a target that comes back soon is waited for; where the source died, the job has moved from the commit point on
    has_moved = step in ("moved", "owned", "settled") or (side == "TARGET" and not both)
    assert owner is (pair.b if has_moved else pair.a)
    assert pair.check(job, expected[kind]) is owner


@pytest.mark.parametrize("step", ["stopped", "prepared", "moved"])
def test_a_suspended_job_is_what_it_was(pair, expected, step):
    side = dict(steps())[step]
    (pair.a if side == "SOURCE" else pair.b).restart(dies_after=step)
    job = pair.submit("batch")
    pair.a.wait(job, lambda it: it["items_done"] > 0)
    pair.a.suspend(job)
    begin_and_die(pair, job, step, side, both=True)
    owner = pair.settle(job)
    assert owner.state(job) == "suspended"
    assert owner is (pair.b if step == "moved" else pair.a)
    assert pair.check(job, expected["batch"]) is owner


def test_kills_at_random_moments(tmp_path):
    """A few; `migration_soak.py --kills N` does many."""
    assert migration_soak.run(tmp_path, kills=8, seed=5).kills >= 8
