"""The real LibreTranslate, with the same model: an Argos package made from it, in a Python environment of its own.

Its sentence splitter is downloaded when it starts; here each text is one sentence, so it is replaced by one that does
not split.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

_START = """
import sys
from argostranslate import sbd
for name in ("MiniSBDSentencizer", "StanzaSentencizer", "SpacySentencizerSmall"):
    kind = getattr(sbd, name)
    kind.__init__ = lambda self, package: None
    kind.split_sentences = lambda self, text: [text]
from libretranslate import init
from libretranslate.main import main
init.check_and_install_models = lambda **options: None
main()
"""


def argos_packages(models: list[str], folder: Path) -> None:
    """Writes an Argos package of each model, named like en-de, with int8 weights as Argos' own have."""
    for model in models:
        source, _, target = model.partition("-")
        package = folder / f"translate-{source}_{target}-1_0"
        package.mkdir(parents=True)
        command = [sys.executable, "-m", "regard", "export", model, str(package / "model"), "--to", "ctranslate2"]
        subprocess.run([*command, "--quantization", "int8"], check=True, stdout=subprocess.DEVNULL)
        shutil.copy(package / "model" / "tokeniser.spm", package / "sentencepiece.model")
        metadata = {
            "package_version": "1.0",
            "argos_version": "1.9.0",
            "from_code": source,
            "from_name": source,
            "to_code": target,
            "to_name": target,
        }
        (package / "metadata.json").write_text(json.dumps(metadata), encoding="utf-8")


def start_libretranslate(python: Path, models: list[str], folder: Path, port: int) -> subprocess.Popen[bytes]:
    """Starts LibreTranslate with the Python of its environment."""
    packages = folder / "packages"
    if not packages.exists():
        argos_packages(models, packages)
    surroundings = {
        **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        "ARGOS_PACKAGES_DIR": str(packages),
        "ARGOS_TRANSLATE_PACKAGE_DIR": str(packages),
        "XDG_DATA_HOME": str(folder / "data"),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "XDG_CACHE_HOME": str(folder / "cache"),
    }
    log = (folder / "libretranslate.log").open("wb")
    return subprocess.Popen(
        [str(python), "-c", _START, "--port", str(port), "--host", "127.0.0.1"],
        env=surroundings,
        stdout=log,
        stderr=subprocess.STDOUT,
        cwd=folder,
    )
