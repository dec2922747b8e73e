"""The samples of ADDING.md as modules: what the page shows is what runs."""

import re
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from types import ModuleType

from tests.connectors.conformance import acme_server

PAGE = Path(__file__).parents[3] / "fulfilment/connectors/ADDING.md"
_SAMPLE = re.compile(r"^```python\n# (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def samples() -> dict[str, str]:
    """Path and code of each sample."""
    return dict(_SAMPLE.findall(PAGE.read_text()))


def installed() -> ModuleType:
    """The sample with the conformance class, with all that it imports."""
    folder = Path(tempfile.mkdtemp(prefix="adding-"))
    for name, code in samples().items():
        # The project that runs them has a package `tests` of its own.
        path = folder / name.replace("tests/", "acme_tests/")
        path.parent.mkdir(exist_ok=True)
        path.write_text(code.replace("from tests ", "from acme_tests "))
    sys.modules["acme_server"] = acme_server
    sys.path.append(str(folder))
    return import_module("acme_tests.test_acme")
