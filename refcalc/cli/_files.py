"""Files named on the command line: what cannot be read or written is refused by its name and by what it was to hold."""

__all__ = ["check_writable", "read_text"]

import os


def read_text(path: str, what: str) -> str:
    """Return the text of a UTF-8 file as it is, line ends included; what: "the training text", say, for a refusal."""
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8")
    except OSError as error:
        raise ValueError(f"{path}: {what} must be a file that can be read, got {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: the file must be UTF-8, got a bad byte at offset {error.start}") from None


def check_writable(path: str, what: str) -> None:
    """Refuse a path that a file could not be written to: better before the work than after it."""
    folder = os.path.dirname(path) or os.curdir
    if not os.path.isdir(folder):
        raise ValueError(f"{path}: {what} must go into a folder that exists, got {folder}")
    if not path or os.path.isdir(path):
        raise ValueError(f"{path}: {what} must be a file, got {'a folder' if path else 'an empty name'}")
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise ValueError(f"{path}: {what} must be a file that can be written, got no permission")
