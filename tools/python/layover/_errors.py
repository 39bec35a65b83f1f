"""The exceptions of the package: one class for each of Layover's error codes that a program may want to catch."""


class Error(Exception):
    """What Layover refuses or cannot do.

    code: the name of the error, the same as in the command line's JSON, such as "CORRUPT".
    """

    code = "FAILED"


class InvalidError(Error, ValueError):
    """An argument, a model or an input is wrong."""


class CorruptError(Error, ValueError):
    """A file is damaged, or is not what it says."""


class UnsupportedError(Error, NotImplementedError):
    """Something that Layover, or the device, does not have."""


class NotFoundError(Error, LookupError):
    """There is no model, function, output or file of that name."""


class ExhaustedError(Error, MemoryError):
    """Memory, a quota or another limit is used up."""


class FileError(Error, OSError):
    """The system could not read or write a file."""


class RefusedError(Error, PermissionError):
    """The caller's rights, or another owner, do not allow this."""


class ConflictError(Error):
    """The state of a job or a home does not allow this."""


class UnreachableError(Error, ConnectionError):
    """The daemon does not answer."""


class CancelledError(Error):
    """Somebody cancelled the job."""


class Suspended(Error):
    """The run was suspended before its end; it can go on."""


CLASSES = {"INVALID": InvalidError, "USAGE": InvalidError, "CORRUPT": CorruptError, "UNSUPPORTED": UnsupportedError,
           "NOT_FOUND": NotFoundError, "EXHAUSTED": ExhaustedError, "OUT_OF_MEMORY": ExhaustedError, "TOO_LARGE": ExhaustedError,
           "IO": FileError, "REFUSED": RefusedError, "UNAUTHENTICATED": RefusedError, "CONFLICT": ConflictError,
           "UNREACHABLE": UnreachableError, "CANCELLED": CancelledError, "SUSPENDED": Suspended}


def make_error(code, message):
    """The exception for an error's code and text."""
    error = CLASSES.get(code, Error)(message)
    error.code = code
    return error
