"""A connector's secrets from files, read whenever it is built: who replaces one restarts nothing."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

_SUFFIX: Final = "_FILE"


def with_files(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings, with the text of the file that `X_FILE` names as X, and without `X_FILE`.

    A line break at the end is an editor's and no part of a secret. The file wins over an X beside
    it. Raises ValueError with a sentence where it cannot be read.
    """
    read = dict(settings)
    for name in [name for name in settings if name.endswith(_SUFFIX)]:
        read[name.removesuffix(_SUFFIX)] = _text(name, read.pop(name))
    return read


def _text(name: str, path: Any) -> str:
    try:
        return Path(path).read_text().rstrip("\r\n")
    except OSError as error:
        raise ValueError(f"{name} names a file that cannot be read ({error.strerror})") from error
    except UnicodeDecodeError:
        # Without the error's own words: they quote what could not be read.
        raise ValueError(f"{name} names a file that is not text in UTF-8") from None
