"""The README.md of an export: what the files are, and how to use them from Python and from JavaScript."""

from __future__ import annotations

from collections.abc import Collection

from regard.exchange.hub_files import two_vocabularies
from regard.modelfolder import ModelFolder
from regard.models.parts.transformer_settings import TransformerSettings
from regard.tokens import Tokenisers
from regard.version import __version__

_PYTHON = """\
## Python

`pip install onnxruntime tokenizers`

```python
import numpy as np
import onnxruntime
from tokenizers import Tokenizer

source = Tokenizer.from_file("tokenizer.json")
target = Tokenizer.from_file("{target}")
encoder = onnxruntime.InferenceSession("onnx/encoder_model{suffix}.onnx")
decoder = onnxruntime.InferenceSession("onnx/decoder_model_merged{suffix}.onnx")

ids = np.array([source.encode("A sentence.").ids])
mask = np.ones_like(ids)
(states,) = encoder.run(["last_hidden_state"], {{"input_ids": ids, "attention_mask": mask}})
inputs = {{"encoder_hidden_states": states, "encoder_attention_mask": mask}}
for one in decoder.get_inputs():
    if one.name.startswith("past_key_values"):  # nothing yet
        inputs[one.name] = np.zeros([1, one.shape[1], 0, one.shape[3]], dtype=np.float32)
names = [one.name for one in decoder.get_outputs()]
tokens, step = [{begin}], 0
while tokens[-1] != {end} and step < 200:
    inputs |= {{"input_ids": np.array([tokens[-1:]]), "use_cache_branch": np.array([step > 0])}}
    outputs = dict(zip(names, decoder.run(names, inputs)))
    tokens.append(int(outputs["logits"][0, -1].argmax()))
    inputs |= {{name.replace("present", "past_key_values"): outputs[name] for name in names if "present" in name}}
    step += 1
print(target.decode(tokens))
```
"""

_JAVASCRIPT = """\
## JavaScript

`npm install @huggingface/transformers`; this is a module (`.mjs`) beside this folder:

```javascript
import {{ env, pipeline }} from "@huggingface/transformers";

env.allowRemoteModels = false;
env.localModelPath = "./";
const translate = await pipeline("translation", "NAME_OF_THIS_FOLDER", {{ dtype: "{dtype}" }});
const [found] = await translate("A sentence.");
console.log(found.translation_text);
```
"""

_TWO_VOCABULARIES = """\
## JavaScript

`npm install @huggingface/transformers`; this is a module (`.mjs`) beside this folder. Source and target have
vocabularies of their own, so a second tokeniser turns the ids into text:

```javascript
import {{ readFileSync }} from "node:fs";
import {{ AutoModelForSeq2SeqLM, AutoTokenizer, PreTrainedTokenizer, env }} from "@huggingface/transformers";

env.allowRemoteModels = false;
env.localModelPath = "./";
const folder = "NAME_OF_THIS_FOLDER";
const source = await AutoTokenizer.from_pretrained(folder);
const target = new PreTrainedTokenizer(JSON.parse(readFileSync(`${{folder}}/target_tokenizer.json`)), {{}});
const model = await AutoModelForSeq2SeqLM.from_pretrained(folder, {{ dtype: "{dtype}" }});
const ids = await model.generate(source("A sentence."));
console.log(target.batch_decode(ids, {{ skip_special_tokens: true }})[0]);
```
"""


def card(
    loaded: ModelFolder,
    tokenisers: Tokenisers,
    settings: TransformerSettings,
    *,
    quantization: str,
    attentions: bool,
    files: Collection[str],
) -> str:
    """For people; `files` are the names of the files beside the graphs."""
    suffix = "_quantized" if quantization == "int8" else ""
    languages = [*loaded.description.languages.values()]
    parts = [
        _header(languages),
        f"# An ONNX model{', ' + ' to '.join(languages) if languages else ''}\n",
        _files(quantization, suffix),
        _ids(tokenisers, settings),
    ]
    if attentions:
        parts.append(
            "The weights of attention are outputs, too: `encoder_attentions.0` and so on of the encoder,"
            " `decoder_attentions.0` and `cross_attentions.0` of the decoder, each [batch, head, query, key].\n"
        )
    if "tokenizer.json" not in files:
        parts.append(_own_tokeniser(tokenisers, files))
        return "\n".join(parts)
    two = two_vocabularies(tokenisers)
    target = "target_tokenizer.json" if two else "tokenizer.json"
    begin, end = tokenisers.target.begin, tokenisers.target.end
    parts.append(_PYTHON.format(suffix=suffix, target=target, begin=begin, end=end))
    parts.append((_TWO_VOCABULARIES if two else _JAVASCRIPT).format(dtype="q8" if suffix else "fp32"))
    return "\n".join(parts)


def _files(quantization: str, suffix: str) -> str:
    return (
        f"Written by Regard {__version__}; weights in {quantization}. `onnx/` has the files that Hugging Face's optimum"
        f" and transformers.js expect: `encoder_model{suffix}.onnx`, and the decoder as"
        f" `decoder_model_merged{suffix}.onnx`, or in two files, `decoder_model{suffix}.onnx` and"
        f" `decoder_with_past_model{suffix}.onnx`.\n"
    )


def _header(languages: list[str]) -> str:
    listed = "".join(f"\n- {language}" for language in languages)
    language = f"language:{listed}\n" if languages else ""
    return f"---\n{language}library_name: transformers.js\npipeline_tag: translation\n---\n"


def _ids(tokenisers: Tokenisers, settings: TransformerSettings) -> str:
    source, target = tokenisers.source, tokenisers.target
    start = (
        "The decoder starts from a zero vector: its first token counts as position 0 only"
        if settings.start == "zero"
        else "The decoder starts from the first token's embedding"
    )
    longest = f" A source has at most {settings.learned_positions} tokens." if settings.positions == "learned" else ""
    return (
        f"A source ends with id {source.end} and is padded on the right. The decoder's first token is"
        f" {target.begin}; a translation ends with id {target.end}. {start}.{longest}\n"
    )


def _own_tokeniser(tokenisers: Tokenisers, files: Collection[str]) -> str:
    kinds = " and ".join(sorted({tokenisers.source.kind, tokenisers.target.kind}))
    listed = ", ".join(f"`{name}`" for name in sorted(files) if "config" not in name)
    return (
        f"Its tokeniser is one of Regard's own ({kinds}), in {listed}. No `tokenizer.json` cuts text in the same way,"
        " so programs that need one, such as transformers.js, cannot use this folder.\n"
    )
