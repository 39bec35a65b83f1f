"""A daemon and its jobs: every verb of the command line as a method."""
import json
import os
import time
import typing

from layover._errors import make_error
from layover._http import Transport, default_server, path_of

Path = typing.Union[str, "os.PathLike[str]"]
Fields = typing.Dict[str, typing.Any]
BOUNDARY = "layover-multipart-4f1c2a"
ENDED = ("succeeded", "failed", "cancelled", "moved", "released")
STOPPED = (*ENDED, "suspended")
POLL_S = 0.2


def _multipart(policy: Fields, inputs: bytes) -> bytes:
    parts = {"policy": json.dumps(policy).encode(), "inputs": inputs}
    pieces = [f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'.encode() + data + b"\r\n"
              for name, data in parts.items()]
    return b"".join(pieces) + f"--{BOUNDARY}--\r\n".encode()


def _split(reference: str) -> typing.Tuple[str, str]:
    name, _, version = reference.partition("@")
    return name, version or "newest"


class Job:
    """A job of a daemon. Its id stays the same when it moves to another node."""

    def __init__(self, client: "Client", id: str) -> None:
        self.client, self.id = client, id

    def __repr__(self) -> str:
        return f"layover.Job({self.id!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Job) and (other.id, other.client.server) == (self.id, self.client.server)

    def __hash__(self) -> int:
        return hash(self.id)

    def _repr_html_(self) -> str:
        from layover._html import table
        return table([self.info()], ("job", "model", "state", "items_done", "items_total", "device", "why"))

    def _change(self, verb: str, **options: typing.Any) -> Fields:
        body = {name.rstrip("_"): value for name, value in options.items() if value is not None}
        return self.client._http.json("POST", path_of("/v1/jobs/{job}/" + verb, self.id), body)

    def info(self) -> Fields:
        """What the command line shows of a job, with its events."""
        return self.client._http.json("GET", path_of("/v1/jobs/{job}", self.id))

    @property
    def state(self) -> str:
        """queued, running, suspended, succeeded, failed, cancelled, moved, released, in_doubt or held."""
        return self.info()["state"]

    def watch(self, since: int = 0) -> typing.Iterator[Fields]:
        """Changes and yielded values with sequence numbers above `since`, as they come, until the job ends."""
        return self.client._http.lines(path_of("/v1/jobs/{job}/watch", self.id, since=since))

    def wait(self, progress: typing.Optional[bool] = None, timeout: typing.Optional[float] = None) -> str:
        """Waits until the job ends or is suspended; its state.

        progress: a bar on stderr (in notebooks a widget) by tqdm; None: where tqdm and a terminal are.
        timeout:  seconds, after which TimeoutError is raised; the job goes on.
        """
        from layover._progress import bar
        end = None if timeout is None else time.monotonic() + timeout
        with bar(self.id, progress) as show:
            while True:
                info = self.info()
                show(info)
                if info["state"] in STOPPED:
                    return info["state"]
                if end is not None and time.monotonic() >= end:
                    raise TimeoutError(f"job {self.id} is {info['state']}")
                time.sleep(POLL_S if end is None else max(0, min(POLL_S, end - time.monotonic())))

    def outputs(self, since: int = 0) -> typing.Iterator[typing.Dict[str, typing.Any]]:
        """The outputs that are there, in their order, some at a time: {name: array}."""
        from layover import _npz
        visible = self.info()["outputs"]
        while since < visible:
            data, headers = self.client._http.bytes("GET", path_of("/v1/jobs/{job}/outputs", self.id, since=since))
            since = int(headers["Layover-Next"])
            yield _npz.read(data)

    def result(self, partial: bool = False, wait: bool = True) -> typing.Dict[str, typing.Any]:
        """The outputs: {name: array}; those of a batch job are one behind the other.

        partial: what is there, of a job that has not ended. wait: waits for the end first.
        """
        import numpy as np
        state = self.info()["state"] if partial or not wait else self.wait()
        if not partial and state != "succeeded":
            why = self.info().get("why") or ""
            raise make_error("CANCELLED" if state == "cancelled" else "CONFLICT" if state not in ENDED else "FAILED",
                             f"job {self.id} is {state}" + (f": {why}" if why else ""))
        found: typing.Dict[str, list] = {}
        for arrays in self.outputs():
            for name, array in arrays.items():
                found.setdefault(name, []).append(array)
        return {name: pieces[0] if len(pieces) == 1 else np.concatenate(pieces) for name, pieces in found.items()}

    def logs(self) -> typing.Iterator[Fields]:
        """What happened to the job."""
        return self.client._http.pages("/v1/jobs/{job}/events", self.id)

    def suspend(self) -> Fields:
        """Stops the job at its next instruction; returns when its checkpoint is durable."""
        return self._change("suspend")

    def resume(self, device: typing.Optional[str] = None, from_: typing.Optional[int] = None) -> Fields:
        """Lets a suspended job go on. device: where. from_: the checkpoint's id; None: the newest."""
        return self._change("resume", device=device, from_=from_)

    def cancel(self) -> Fields:
        """Ends the job."""
        return self._change("cancel")

    def fork(self, from_: typing.Optional[int] = None) -> "Job":
        """A second job from the same point."""
        return Job(self.client, self._change("fork", from_=from_)["job"])

    def verify(self, from_: typing.Optional[int] = None) -> Fields:
        """Runs the job again from a checkpoint, and compares what comes out with what is stored."""
        found = self._change("verify", from_=from_)
        replay = Job(self.client, found["replay"])
        while found["state"] == "running":
            time.sleep(POLL_S)
            found = replay._change("verification")
        return found

    def migrate(self, to: str, bandwidth: typing.Optional[int] = None, wait: bool = True) -> Fields:
        """Moves the job to another node while it runs; how that went.

        bandwidth: bytes per second. wait: until it is over; a move that failed raises, and the job goes on where it was.
        """
        found = self._change("migrate", to=to, bandwidth=bandwidth)
        while wait and not found["over"]:
            time.sleep(POLL_S)
            found = self.client._http.json("GET", path_of("/v1/jobs/{job}/migration", self.id))
        if found["over"] and not found["moved"]:
            raise make_error("FAILED", f"job {self.id} did not migrate to {to}: {found['error']}")
        return found

    def adopt(self, source_is_dead: bool) -> Fields:
        """Takes a job in doubt whose source is dead. Two nodes have the job if that is wrong."""
        return self._change("adopt", source_is_dead=source_is_dead)

    def checkpoints(self) -> typing.Iterator[Fields]:
        """The checkpoints that are kept."""
        return self.client._http.pages("/v1/jobs/{job}/checkpoints", self.id)

    def checkpoint(self, path: Path, with_model: bool = False, release: bool = False,
                   from_: typing.Optional[int] = None) -> int:
        """Writes a checkpoint file; its bytes. release: the file owns the job from then on."""
        query = {"with_model": 1 if with_model else None, "from": from_}
        if not release:
            return self.client._download("GET", path_of("/v1/jobs/{job}/checkpoint", self.id, **query), path)
        body = {"release": True, **({"with_model": True} if with_model else {})}
        return self.client._download("POST", path_of("/v1/jobs/{job}/checkpoint", self.id), path, body)

    def remove(self) -> Fields:
        """Forgets a finished job, or a released one's data."""
        return self.client._http.json("DELETE", path_of("/v1/jobs/{job}", self.id))


class Client:
    """A daemon.

        client = layover.Client("http://gpu1:8080", token)
        job = client.submit("resnet@prod", {"x": images}, items=True, priority="low")
        job.wait()
        scores = job.result()["scores"]

    server:  a socket's path, http://HOST:PORT or https://HOST:PORT; None: LAYOVER_SERVER, else the home's daemon.
    token:   None: LAYOVER_TOKEN.
    tenant:  for whom an administrator acts.
    timeout: seconds without a byte after which a request fails.
    cafile:  certificates to trust; None: LAYOVER_CA, else the system's.
    Any thread may use a client.
    """

    def __init__(self, server: typing.Optional[Path] = None, token: typing.Optional[str] = None, *,
                 tenant: typing.Optional[str] = None, timeout: float = 300.0,
                 cafile: typing.Optional[str] = None) -> None:
        self.server = os.fspath(server) if server is not None else default_server()
        self._http = Transport(self.server, token or os.environ.get("LAYOVER_TOKEN"), tenant, timeout,
                               cafile or os.environ.get("LAYOVER_CA"))

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes idle connections."""
        self._http.close()

    def __repr__(self) -> str:
        return f"layover.Client({self.server!r})"

    def _repr_html_(self) -> str:
        from layover._html import table
        return table(list(self.jobs_info()), ("job", "model", "state", "items_done", "items_total", "device", "priority"))

    def _download(self, method: str, path: str, target: Path, body: typing.Optional[Fields] = None) -> int:
        """A file that is whole or not there."""
        target = os.fspath(target)
        partial = f"{target}.{os.getpid()}.part"
        try:
            with open(partial, "wb") as file:
                size = self._http.download(method, path, file, body)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, target)
            return size
        finally:
            if os.path.exists(partial):
                os.unlink(partial)

    # ---- models ----

    def models(self) -> typing.List[Fields]:
        """All versions of all models."""
        return list(self._http.pages("/v1/models"))

    def show(self, reference: str) -> Fields:
        """One version of a model, with its functions."""
        name, version = _split(reference)
        if version == "newest":
            return self._http.json("GET", path_of("/v1/models/{model}", name))
        return self._http.json("GET", path_of("/v1/models/{model}/{version}", name, version))

    def register(self, name: str, path: Path, *, alias: typing.Sequence[str] = (),
                 precision: typing.Optional[str] = None, format: typing.Optional[str] = None) -> Fields:
        """Stores a model file as the newest version of a name. Weights in other files do not travel."""
        where = path_of("/v1/models/{model}", name, alias=list(alias) or None, precision=precision, format=format)
        return self._http.upload(where, path)

    def rm(self, reference: str) -> Fields:
        """Removes a model ("NAME") or one version of it."""
        name, version = _split(reference)
        if "@" not in reference:
            return self._http.json("DELETE", path_of("/v1/models/{model}", name))
        return self._http.json("DELETE", path_of("/v1/models/{model}/{version}", name, version))

    def alias(self, name: str, alias: str, version: int) -> Fields:
        """Makes an alias name a version."""
        return self._http.json("POST", path_of("/v1/models/{model}/aliases", name), {"alias": alias, "version": version})

    def config(self, reference: str, max_batch: typing.Optional[int] = None,
               queue_delay_us: typing.Optional[int] = None) -> Fields:
        """How inference requests of a version are joined; numbers that are given are set first."""
        given = {"max_batch": max_batch, "queue_delay_us": queue_delay_us}
        return self._http.json("POST", path_of("/v1/models/{model}/config", reference),
                               {name: value for name, value in given.items() if value is not None})

    def export(self, reference: str, path: Path) -> int:
        """Writes a version as an executable file (.lvx); its bytes."""
        return self._download("GET", path_of("/v1/models/{model}/{version}/file", *_split(reference)), path)

    # ---- jobs ----

    def submit(self, model: str, inputs: typing.Optional[typing.Mapping[str, typing.Any]] = None,
               **policy: typing.Any) -> Job:
        """Gives a job to the daemon.

        model:  "NAME", "NAME@3" or "NAME@alias".
        inputs: {name: array}.
        policy: function, items, batch, shared, priority, weight, deadline (seconds from now), checkpoint_every (seconds),
                checkpoint_keep, release, device, threads, check_finite, suspend_after, suspend_after_ms, key.
        """
        from layover import _npz
        fields = {"model": model, **{name: value for name, value in policy.items() if value is not None}}
        body = _multipart(fields, _npz.write(inputs or {}))
        answer = self._http.bytes("POST", "/v1/jobs", body, f"multipart/form-data; boundary={BOUNDARY}")[0]
        return Job(self, json.loads(answer)["job"])

    def job(self, id: str) -> Job:
        """A job by its id, which must be there."""
        job = Job(self, id)
        job.info()
        return job

    def jobs(self, state: typing.Optional[str] = None) -> typing.List[Job]:
        """Jobs in the order in which they came."""
        return [Job(self, row["job"]) for row in self.jobs_info(state)]

    def jobs_info(self, state: typing.Optional[str] = None) -> typing.Iterator[Fields]:
        """What the command line lists of each job."""
        return self._http.pages("/v1/jobs", state=state)

    def restore(self, path: Path, *, with_outputs: bool = False, device: typing.Optional[str] = None) -> Job:
        """A job from a checkpoint file."""
        where = path_of("/v1/checkpoints", with_outputs=1 if with_outputs else None, device=device)
        return Job(self, self._http.upload(where, path)["job"])

    # ---- the node ----

    def devices(self) -> typing.List[Fields]:
        """The daemon's devices."""
        return list(self._http.pages("/v1/devices"))

    def top(self) -> Fields:
        """What tenants and devices do now."""
        return self._http.json("GET", "/v1/top")

    def tenants(self) -> typing.List[Fields]:
        """Tenants with their quotas and their use."""
        return list(self._http.pages("/v1/tenants"))

    def tenant_add(self, tenant: str, weight: typing.Optional[float] = None,
                   quotas: typing.Optional[Fields] = None) -> Fields:
        """Adds a tenant."""
        return self._http.json("POST", "/v1/tenants", _given(tenant=tenant, weight=weight, quotas=quotas))

    def tenant_set(self, tenant: str, weight: typing.Optional[float] = None,
                   quotas: typing.Optional[Fields] = None) -> Fields:
        """Changes a tenant."""
        return self._http.json("POST", path_of("/v1/tenants/{tenant}", tenant), _given(weight=weight, quotas=quotas))

    def tokens(self) -> typing.List[Fields]:
        """Tokens, without their secrets."""
        return list(self._http.pages("/v1/tokens"))

    def token_create(self, tenant: typing.Optional[str] = None, role: typing.Optional[str] = None) -> Fields:
        """Makes a token, which is told this once."""
        return self._http.json("POST", "/v1/tokens", _given(tenant=tenant, role=role))

    def token_revoke(self, id: typing.Union[int, str]) -> Fields:
        """Makes a token worthless."""
        return self._http.json("DELETE", path_of("/v1/tokens/{token}", str(id)))

    def nodes(self) -> typing.List[Fields]:
        """Other homes that this one trusts, and whether they answer."""
        return list(self._http.pages("/v1/nodes"))

    def node_add(self, node: str, url: str, token: str, fingerprint: typing.Optional[str] = None) -> Fields:
        """Trusts another home."""
        return self._http.json("POST", "/v1/nodes", _given(node=node, url=url, token=token, fingerprint=fingerprint))

    def node_remove(self, node: str) -> Fields:
        """Trusts another home no more."""
        return self._http.json("DELETE", path_of("/v1/nodes/{node}", node))

    def drain(self, to: typing.Optional[str] = None) -> Fields:
        """Refuses new jobs and moves all away. drained() tells how far that is; undrain() ends it."""
        return self._http.json("POST", "/v1/drain", _given(to=to))

    def drained(self) -> Fields:
        """How far the drain is."""
        return self._http.json("GET", "/v1/drain")

    def undrain(self) -> Fields:
        """Takes jobs again."""
        return self._http.json("DELETE", "/v1/drain")

    def rebalance(self) -> typing.List[Fields]:
        """Begins to move jobs to nodes that have fewer for each device; which."""
        data = self._http.bytes("POST", "/v1/rebalance", b"{}", "application/json")[0]
        return [json.loads(line) for line in data.splitlines()]

    def gc(self) -> Fields:
        """Deletes what nothing refers to."""
        return self._http.json("POST", "/v1/gc", {})

    def fsck(self) -> Fields:
        """Checks everything that is stored."""
        return self._http.json("POST", "/v1/fsck")


def _given(**fields: typing.Any) -> Fields:
    return {name: value for name, value in fields.items() if value is not None}
