"""A changed column of any row that belongs to one tenant: the daemon starts, and serves the other tenant."""
import pathlib
import re
import shutil
import sqlite3

import harness
import pytest
from daemon import Daemon, Refused
from processes import until

# What a tenant owns: the rows of each table that are ada's, who is tenant 2.
JOBS = "job IN (SELECT id FROM jobs WHERE tenant = 2)"
OWNED = {
    "tenants": "id = 2", "tenant_quotas": "tenant = 2", "tokens": "tenant = 2", "executables": "tenant = 2",
    "executable_chunks": "tenant = 2", "models": "tenant = 2", "versions": "tenant = 2", "aliases": "tenant = 2",
    "jobs": "tenant = 2", "contents": JOBS, "chunk_lists": "tenant = 2", "list_chunks": "tenant = 2",
    "content_lists": f"content IN (SELECT id FROM contents WHERE {JOBS})", "job_events": JOBS, "departures": JOBS,
    "arrivals": "tenant = 2", "verifications": "replay IN (SELECT id FROM jobs WHERE tenant = 2)",
    "job_removals": "tenant = 2", "model_removals": "model IN (SELECT id FROM models WHERE tenant = 2)",
}
NODE_WIDE = {"home", "nodes"}
# What a bit can make of a value of each type; NULL is what a changed byte of a row's head can make of any.
CHANGES = {
    "INTEGER": ["-1 - {0}", "NULL"],
    "REAL": ["-1e300", "NULL"],
    "TEXT": ["CAST(x'ff' || {0} AS TEXT)", "NULL"],
    "BLOB": ["x''", "NULL"],
}


def connect(path):
    catalog = sqlite3.connect(path)
    catalog.execute("PRAGMA ignore_check_constraints = 1")
    return catalog


def allow_all(path, what):
    """Takes STRICT and NOT NULL from a table, or gives it back."""
    catalog = sqlite3.connect(path)
    catalog.execute("PRAGMA writable_schema = 1")
    catalog.execute("UPDATE sqlite_schema SET sql = ?2 WHERE name = ?1", what)
    catalog.commit()
    catalog.close()


def change(path, table, column, to):
    """False where nothing can be changed like this: there is no row, or an index forbids it."""
    catalog = connect(path)
    sql, = catalog.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
    catalog.close()
    if to == "NULL":
        allow_all(path, (table, re.sub(r" NOT NULL|STRICT, |STRICT", "", sql)))
    catalog = connect(path)
    try:
        changed = catalog.execute(f"UPDATE {table} SET {column} = {to.format(column)} WHERE {OWNED[table]}").rowcount
        catalog.commit()
    except sqlite3.IntegrityError:
        changed = 0
    catalog.close()
    if to == "NULL":
        allow_all(path, (table, sql))
    return changed > 0


def submit(daemon, token, feed, wanted, **policy):
    head = {"Authorization": f"Bearer {token}"}
    job = daemon.submit("loop", feed, head, **policy)
    until(lambda: daemon.job(job, head)["state"] == wanted, 60)
    return job


@pytest.fixture(scope="module")
def stocked(tmp_path_factory):
    """A home where ada has a row in every table, and bob a model and a job; bob's token, and what his job gives."""
    home = harness.Home(tmp_path_factory.mktemp("stocked") / "home")
    feed = harness.load(f"{harness.SMALL_MODELS}/nested_loop.early.npz")
    tokens = {}
    with Daemon(home) as daemon:
        for name in ("ada", "bob"):
            daemon.json("POST", "/v1/tenants", {"tenant": name})
            tokens[name] = home.call("token", "create", "--tenant", name, "--role", "user").json["token"]
            home.call("register", "loop", f"{harness.SMALL_MODELS}/nested_loop.onnx", "--tenant", name, "--alias", "stable")
            submit(daemon, tokens[name], feed, "succeeded")
        home.call("tenant", "set", "ada", "--quota", "queued_jobs=50")
        home.call("register", "gone", f"{harness.SMALL_MODELS}/nested_if.onnx", "--tenant", "ada")
        for _ in range(4):
            submit(daemon, tokens["ada"], feed, "suspended", suspend_after=5)
    catalog = connect(f"{home.path}/catalog.db")
    first, queued, arrived, replay, doomed = [job for job, in catalog.execute("SELECT id FROM jobs WHERE tenant = 2 ORDER BY id")]
    for statement, *values in (
            ("UPDATE jobs SET migrating = 'far', attempt = 1 WHERE id = ?", queued),
            ("INSERT INTO departures VALUES (?, 0, 77, 1, 0, 1)", queued),
            ("INSERT INTO arrivals VALUES (78, 5, 2, 78, 1, 1, 0, 1, 0.0, 6, 0, 'far')",),
            ("UPDATE jobs SET state = 9, node = 78, number = 6, epoch = 2 WHERE id = ?", arrived),
            ("INSERT INTO arrivals VALUES (78, 6, 2, 78, 1, 1, 1, 1, 0.0, NULL, NULL, NULL)",),
            ("INSERT INTO verifications VALUES (?, ?, 1, 0, 1)", replay, first),
            ("INSERT INTO job_removals VALUES (?, 2, 1, 5)", doomed),
            ("INSERT INTO model_removals SELECT id FROM models WHERE tenant = 2 AND name = 'gone'",)):
        assert catalog.execute(statement, values).rowcount == 1, statement
    catalog.commit()
    catalog.close()
    with Daemon(home) as daemon:
        pass
    for name in ("catalog", "chunks"):
        shutil.copy(f"{home.path}/{name}.db", f"{home.path}.{name}")
    return home, tokens["bob"], feed


def changes(catalog):
    for table in OWNED:
        for _, column, kind, needed, _, key in catalog.execute(f"PRAGMA table_info({table})").fetchall():
            for to in CHANGES[kind]:
                yield table, column, to, to == "NULL" and needed and not key


def restore(home):
    for name in ("catalog", "chunks"):
        shutil.copy(f"{home.path}.{name}", f"{home.path}/{name}.db")
        for end in ("-wal", "-shm"):
            pathlib.Path(f"{home.path}/{name}.db{end}").unlink(missing_ok=True)


def serve(home, token, feed, unreadable):
    """A start, and what bob does then; what nobody can read, fsck names."""
    head = {"Authorization": f"Bearer {token}"}
    with Daemon(home, "--grace", "2") as daemon:
        job = submit(daemon, token, feed, "succeeded")
        assert len(daemon.lines("/v1/jobs", headers=head)) == 2
        daemon.request("DELETE", f"/v1/jobs/{job}", headers=head)
        daemon.json("POST", "/v1/gc")
        found = daemon.json("POST", "/v1/fsck")
        assert found["error_count"] > 0 or not unreadable, "fsck names nothing"


def test_a_daemon_serves_the_other_tenant(stocked):
    home, token, feed = stocked
    catalog = connect(f"{home.path}.catalog")
    tables = {name for name, in catalog.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
              if not name.startswith("sqlite_")}
    assert tables == set(OWNED) | NODE_WIDE, "a new table: say whose it is"
    wrong = []
    for table, column, to, unreadable in changes(catalog):
        restore(home)
        if not change(f"{home.path}/catalog.db", table, column, to):
            continue
        try:
            serve(home, token, feed, unreadable)
        except (AssertionError, Refused, OSError) as error:
            wrong.append(f"{table}.{column} = {to}: {error!r:.500}")
    catalog.close()
    assert not wrong, "\n".join(wrong)
