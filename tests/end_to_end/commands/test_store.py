"""Names, versions, aliases, export and import, collection and repair, and who owns a home."""
import fcntl
import json
import os
import sqlite3
import time

import pytest

from harness import (FORBIDDEN, NOT_FOUND, REFUSED, SMALL_MODELS, SUSPENDED, USAGE, Home, finish, same_bits)


def model(name):
    return f"{SMALL_MODELS}/{name}.onnx"


def test_versions_count_up_and_equal_content_is_one_version(home):
    first = home.call("register", "m", model("nested_if")).json
    second = home.call("register", "m", model("nested_loop"), "--alias", "prod", "--alias", "new").json
    again = home.call("register", "m", model("nested_if")).json
    assert (first["version"], second["version"], again["version"]) == (1, 2, 1)
    assert first["executable"] == again["executable"] != second["executable"]
    assert [(line["version"], sorted(line["aliases"])) for line in home.call("models").lines] == \
        [(1, []), (2, ["new", "prod"])]
    assert home.call("show", "m").json["version"] == 2
    assert home.call("show", "m@1").json["executable"] == first["executable"]
    assert home.call("show", "m@prod").json["executable"] == second["executable"]
    home.call("alias", "m", "prod", 1)
    assert home.call("show", "m@prod").json["version"] == 1


def test_numbers_are_not_given_twice(home):
    home.call("register", "m", model("nested_if"))
    home.call("register", "m", model("nested_loop"))
    home.call("rm", "m@2")
    assert home.call("register", "m", model("while_loop")).json["version"] == 3
    home.call("rm", "m")
    assert home.models() == []


@pytest.mark.parametrize("reference", ["nothing", "m@9", "m@gone", "m@0", "m@18446744073709551616"])
def test_what_is_not_there_is_not_found(home, tmp_path, reference):
    home.call("register", "m", model("nested_if"))
    home.refuses("show", reference, code=(NOT_FOUND, USAGE, REFUSED))
    home.refuses("rm", reference, code=(NOT_FOUND, USAGE, REFUSED))
    home.refuses("export", reference, tmp_path / "o.lvx", code=(NOT_FOUND, USAGE, REFUSED))
    home.refuses("run", reference, "--input", f"{SMALL_MODELS}/nested_if.large.npz", "--output", tmp_path / "o.npz",
                 code=(NOT_FOUND, USAGE, REFUSED))
    assert len(home.models()) == 1


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "../up", "a b", "ä", "x" * 65, "-dash", "a@b"])
def test_bad_names_are_refused(home, name):
    home.refuses("register", "--", name, model("nested_if"), code=(REFUSED, USAGE))


def test_good_names(home):
    for name in ("a", "Z9._-", "x" * 64, "7"):
        home.call("register", name, model("nested_if"))
        assert home.call("show", name).json["model"] == name


def test_export_and_import_carry_the_model(small_home, tmp_path):
    small_home.call("export", "small", tmp_path / "m.lvx")
    small_home.call("compile", model("nested_loop"), "-o", tmp_path / "compiled.lvx")
    other = Home(tmp_path / "other")
    other.call("import", "moved", tmp_path / "m.lvx")
    assert other.models()[0][2] == small_home.models()[0][2]
    assert other.call("register", "moved", tmp_path / "compiled.lvx").json["version"] == 1
    for where, name in ((small_home, "small"), (other, "moved")):
        where.call("run", name, "--input", small_home.input, "--output", tmp_path / f"{name}.npz")
    same_bits(tmp_path / "small.npz", tmp_path / "moved.npz")
    other.is_clean()


def test_a_checkpoint_goes_on_in_another_home(small_home, tmp_path):
    small_home.call("run", "small", "--input", small_home.input, "--output", tmp_path / "straight.npz")
    small_home.call("run", "small", "--input", small_home.input, "--output", tmp_path / "o.npz", "--suspend-after", 25,
                    "--checkpoint", tmp_path / "c.lvc", expect=SUSPENDED)
    other = Home(tmp_path / "other")
    other.call("register", "elsewhere", model("nested_loop"))
    other.call("resume", tmp_path / "c.lvc", "--output", tmp_path / "o.npz")
    same_bits(tmp_path / "straight.npz", tmp_path / "o.npz")


def test_disassembly_assembles_to_the_same_program(small_home, tmp_path):
    text = small_home.call("disasm", "small", as_json=False).out
    (tmp_path / "small.lva").write_text(text)
    assert small_home.call("register", "again", tmp_path / "small.lva", "--format", "lva").json["executable"] == \
        small_home.models()[0][2]


def test_disasm_answers_for_each_file(small_home, tmp_path):
    small_home.call("export", "small", tmp_path / "good.lvx")
    (tmp_path / "bad.lvx").write_bytes(b"nonsense")
    result = small_home.try_call("disasm", tmp_path / "good.lvx", tmp_path / "bad.lvx", tmp_path / "good.lvx")
    assert result.code == REFUSED and "bad.lvx" in result.err + result.out, str(result)
    small_home.call("disasm", tmp_path / "good.lvx", "small")
    result = small_home.call("disasm", tmp_path / "bad.lvx", "small", "gone", expect=REFUSED)
    assert [line["source"] for line in result.lines] == ["small"], str(result)
    errors = [json.loads(line)["error"]["message"] for line in result.err.splitlines()]
    assert any("gone" in message for message in errors) and any("bad.lvx" in message for message in errors), str(result)


def test_gc_takes_back_what_nobody_refers_to(home, models):
    home.call("register", "mlp", f"{models}/mlp.onnx")
    home.call("register", "small", model("gpt2_gen_tiny"))
    full = home.call("fsck").json
    home.call("gc")
    assert home.call("fsck").json["chunks"] == full["chunks"]
    home.call("rm", "mlp")
    home.call("gc")
    less = home.call("fsck").json
    assert less["chunks"] < full["chunks"] and less["bytes"] < full["bytes"] - 1_000_000
    home.call("run", "small", "--input", f"{SMALL_MODELS}/gpt2_gen_tiny.short.npz", "--output", f"{home.path}/o.npz")


def spoil_a_chunk(home):
    """Changes one byte in the middle of the largest stored chunk; returns nothing, as a failing disk would."""
    database = sqlite3.connect(f"{home.path}/chunks.db")
    row, content = database.execute("SELECT id, stored FROM chunks ORDER BY length(stored) DESC LIMIT 1").fetchone()
    spoiled = bytearray(content)
    spoiled[len(spoiled) // 2] ^= 4
    database.execute("UPDATE chunks SET stored = ? WHERE id = ?", (bytes(spoiled), row))
    database.commit()
    database.close()


def test_fsck_finds_a_changed_byte_and_repairs_it_from_a_file(home, models, tmp_path):
    home.call("register", "mlp", f"{models}/mlp.onnx", "--no-prepare")
    home.call("export", "mlp", tmp_path / "mlp.lvx")
    home.is_clean()
    spoil_a_chunk(home)
    found = home.call("fsck", expect=REFUSED).json
    assert len(found["errors"]) == 1
    home.refuses("run", "mlp", "--input", f"{models}/mlp.one.npz", "--output", tmp_path / "o.npz")
    home.call("fsck", "--repair-from", tmp_path / "mlp.lvx")
    home.is_clean()
    home.call("run", "mlp", "--input", f"{models}/mlp.one.npz", "--output", tmp_path / "o.npz")


def test_registering_again_heals_a_changed_byte(home, models, tmp_path):
    home.call("register", "mlp", f"{models}/mlp.onnx")
    spoil_a_chunk(home)
    home.try_call("register", "mlp", f"{models}/mlp.onnx")
    result = home.try_call("run", "mlp", "--input", f"{models}/mlp.one.npz", "--output", tmp_path / "o.npz")
    assert result.code in (0, 1), str(result)


def test_a_home_has_one_owner(small_home, tmp_path):
    with open(f"{small_home.path}/lock", "r+", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        for verb in (["models"], ["gc"], ["fsck"], ["register", "m", model("nested_if")], ["rm", "small"],
                     ["run", "small", "--input", small_home.input, "--output", tmp_path / "o.npz"]):
            small_home.refuses(*verb, code=FORBIDDEN, words=[os.getpid(), "--home"])
    assert small_home.models()[0][0] == "small"


def test_a_killed_owner_holds_nothing(endless, tmp_path):
    process = endless.start("run", "endless", "--input", endless.input, "--output", tmp_path / "o.npz")
    time.sleep(0.5)
    process.kill()
    finish(process)
    assert endless.models()[0][0] == "endless"


def test_a_store_of_a_newer_version_is_left_alone(small_home):
    for name in ("catalog.db", "chunks.db"):
        path = f"{small_home.path}/{name}"
        database = sqlite3.connect(path)
        version, = database.execute("PRAGMA user_version").fetchone()
        database.execute("PRAGMA user_version = 9999")
        database.commit()
        database.close()
        small_home.refuses("models", words=["9999"])
        small_home.refuses("register", "m", model("nested_if"), words=["9999"])
        database = sqlite3.connect(path)
        database.execute(f"PRAGMA user_version = {version}")
        database.commit()
        database.close()
        small_home.is_clean()


@pytest.mark.parametrize("name", ["catalog.db", "chunks.db"])
def test_a_store_that_is_no_database(small_home, name):
    with open(f"{small_home.path}/{name}", "r+b") as file:
        file.write(b"this is no database at all, whatever its name says" * 20)
    small_home.refuses("models")
    small_home.refuses("register", "m", model("nested_if"))


def test_a_home_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    Home(tmp_path / "file").refuses("register", "m", model("nested_if"), words=["file"])
    Home(tmp_path / "file" / "below").refuses("register", "m", model("nested_if"), words=["file"])


def test_reading_verbs_on_a_home_that_is_not_there(tmp_path):
    home = Home(tmp_path / "nothing")
    result = home.try_call("models")
    assert result.code in (0, NOT_FOUND), str(result)
    assert not os.path.exists(home.path) or result.code == 0
    home.refuses("show", "m", code=NOT_FOUND)
