"""Homes: models that are stored under names, in the process, without a daemon."""
import json
import typing

import layover._layover as _c
from layover._model import Model, Path

Fields = typing.Dict[str, typing.Any]


class Home:
    """A home, without a daemon. The verbs of the command line that work on one are methods.

        home = layover.Home()
        home.register("resnet", "resnet50.onnx", alias=["prod"])
        scores = home.load("resnet@prod")(images)

    path:   the home's folder; None: the command line's default. It is made when it is first used.
    tenant: whose models these are; None: those of the tenant "default".
    Nothing is locked between two calls. RefusedError: another process has the home now; a daemon is asked through Client.
    Any thread may use a home.
    """

    def __init__(self, path: typing.Optional[Path] = None, tenant: typing.Optional[str] = None) -> None:
        self._c = _c.Home(path, tenant)
        self.tenant = tenant

    @property
    def path(self) -> str:
        """The home's folder."""
        return self._c.path

    def __repr__(self) -> str:
        return f"layover.Home({self.path!r})"

    def _repr_html_(self) -> str:
        from layover._html import table
        return table(self.models(), ("model", "version", "aliases", "bytes_stored", "executable"))

    def models(self) -> typing.List[Fields]:
        """All versions of all models."""
        return json.loads(self._c.models())

    def show(self, reference: str) -> Fields:
        """One version of a model, with its functions."""
        return json.loads(self._c.show(reference))

    def register(self, name: str, path: Path, *, alias: typing.Sequence[str] = (),
                 precision: typing.Optional[str] = None, format: typing.Optional[str] = None,
                 params: typing.Optional[Path] = None, library: typing.Optional[Path] = None,
                 follow_links: bool = False, prepare: bool = True) -> Fields:
        """Compiles a model file, or takes an executable, as the newest version of a name.

        alias:     names that the version gets, too.
        precision: "fp32", "bf16" or "int8", of what has constant weights.
        format:    "onnx", "relay", "nnvm", "lva", "lvx" or "relax"; None: by the file.
        params, library: the files of the weights and of the native code of a graph of NNVM or TVM's graph executor.
        follow_links: external data may be wherever links lead to.
        prepare:   False: the first run packs the weights for this machine.
        """
        aliases = (alias,) if isinstance(alias, str) else tuple(alias)
        return json.loads(self._c.register(name, path, aliases, format, precision, params, library, follow_links,
                                           not prepare))

    def rm(self, reference: str) -> Fields:
        """Removes a model ("NAME") or one version of it; gc() gives the space back."""
        return json.loads(self._c.rm(reference))

    def alias(self, name: str, alias: str, version: int) -> Fields:
        """Makes an alias name a version."""
        return json.loads(self._c.alias(name, alias, version))

    def export(self, reference: str, path: Path) -> int:
        """Writes a version as an executable file (.lvx), or as the Relax executable (.bin) that it was made from; its
        bytes."""
        return json.loads(self._c.export(reference, path))["bytes"]

    def disasm(self, reference: str, *, summary: bool = False) -> str:
        """A version as assembly. summary: without the constants' data."""
        return self._c.disasm(reference, not summary)

    def fsck(self, *, repair: bool = False, repair_from: typing.Optional[Path] = None) -> Fields:
        """Checks everything that is stored; what it found is in "errors".

        repair:      also sets settings of tenants that make no sense to their defaults, and counts anew what is stored.
        repair_from: an exported file that still has what is missing or damaged here.
        """
        return json.loads(self._c.fsck(repair, repair_from))

    def gc(self) -> Fields:
        """Deletes what nothing refers to."""
        return json.loads(self._c.gc())

    def load(self, reference: str, device: str = "cpu", threads: int = 1) -> Model:
        """Opens a model of the home; else as layover.load."""
        return Model(reference, device, threads, home=self)
