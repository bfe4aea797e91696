"""What the project is called on the outside: its extras, and the names of its scripts."""

import re
import sys
import tomllib
from importlib.metadata import distributions, packages_distributions
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_no_script_has_the_name_of_a_library() -> None:
    """A script's folder comes first where Python looks, so such a script would be imported instead of the library.

    Optional dependencies of what is installed count as well: `transformers` imports `kernels` where it finds it.
    """
    required = (line for found in distributions() for line in found.requires or ())
    optional = {re.split(r"[^\w.-]", line, maxsplit=1)[0].lower().replace("-", "_") for line in required}
    libraries = sys.stdlib_module_names | packages_distributions().keys() | optional
    assert {"json", "torch", "transformers", "kernels"} <= libraries
    places = [path for room in ("benchmarks", "recipes") for path in (ROOT / room).iterdir()]
    scripts = {path.stem for path in places if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert "training_cpu" in scripts
    assert scripts & libraries == set()


def test_every_extra_is_named_by_the_error_that_asks_for_it() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"].keys()
    sources = "".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    assert extras - {"dev"} == set(re.findall(r"regard\[(\w+)\]", sources))
