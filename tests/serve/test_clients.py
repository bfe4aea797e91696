"""Real clients of LibreTranslate, against the running server."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from serving import Running
from trained import translation

TEXT = "alto cado esta"
SAID = translation(TEXT)

PACKAGES = ["libretranslate@1.0.1", "libretranslate-ts@0.5.12", "translate@3.1.0"]
SCRIPTS = {
    "libretranslate": """
import library from "libretranslate";
const [url, text] = process.argv.slice(2);
const said = await library.translate({ query: text, source: "en", target: "de", apiurl: url });
console.log(JSON.stringify(said));
""",
    "libretranslate-ts": """
import { createRequire } from "module";
const { libreTranslate } = createRequire(import.meta.url)("./node_modules/libretranslate-ts/dist/bundle.cjs.js");
const [url, text] = process.argv.slice(2);
libreTranslate.setApiEndpoint(url);
libreTranslate.setApiKey("any");
const said = await libreTranslate.translate(text, "en", "de");
console.log(JSON.stringify(said.translatedText));
""",
    "translate": """
import { Translate } from "translate";
const [url, text] = process.argv.slice(2);
const translate = Translate({ engine: "libre", url: url + "/translate", key: "any" });
console.log(JSON.stringify(await translate(text, { from: "en", to: "de" })));
""",
}


def test_libretranslatepy_lists_languages_detects_and_translates(served: Running) -> None:
    from libretranslatepy import LibreTranslateAPI

    client = LibreTranslateAPI(served.url)
    assert [language["code"] for language in client.languages()] == ["en", "de"]
    assert client.detect("Where is the station, please?")[0]["language"] == "en"
    assert client.translate(TEXT, "en", "de") == SAID


def test_deep_translator_translates_texts_and_batches(served: Running) -> None:
    from deep_translator import LibreTranslator

    client = LibreTranslator(source="en", target="de", custom_url=f"{served.url}/", api_key="any")
    assert client.translate(TEXT) == SAID
    assert client.translate_batch([TEXT, "gan"]) == [SAID, translation("gan")]
    long = " ".join([TEXT] * 1500)
    assert client.translate(long)


@pytest.fixture(scope="session")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with npm's clients, kept between runs under REGARD_NPM, where that is set."""
    if not (shutil.which("node") and shutil.which("npm")):
        pytest.skip("node and npm are not installed")
    folder = Path(os.environ.get("REGARD_NPM") or tmp_path_factory.mktemp("npm"))
    if not all((folder / "node_modules" / name.partition("@")[0]).is_dir() for name in PACKAGES):
        command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(folder), *PACKAGES]
        try:
            installed = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        except subprocess.TimeoutExpired:
            pytest.skip("npm could not install the clients within two minutes")
        if installed.returncode:
            pytest.skip(f"npm cannot install the clients: {installed.stderr.strip()[-200:]}")
    return folder


@pytest.mark.parametrize("client", sorted(SCRIPTS))
def test_a_client_from_npm_translates(served: Running, modules: Path, client: str) -> None:
    script = modules / f"{client}.mjs"
    script.write_text(SCRIPTS[client], encoding="utf-8")
    node = shutil.which("node") or "node"
    told = subprocess.run(
        [node, str(script), served.url, TEXT], capture_output=True, text=True, timeout=60, check=False, cwd=modules
    )
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout) == SAID
