// Translates lines of text with transformers.js, offline: node transformers_js.mjs NODE_MODULES FOLDER DTYPE < lines
// Prints JSON: what it found line by line, and what it found for the first four lines together.
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";

const [modules, folder, dtype] = process.argv.slice(2);
const { AutoModelForSeq2SeqLM, AutoTokenizer, PreTrainedTokenizer, env, pipeline } = createRequire(
  join(resolve(modules), "here.js"),
)("@huggingface/transformers");
env.allowRemoteModels = false;
env.localModelPath = dirname(resolve(folder)) + "/";

async function translator() {
  const apart = join(folder, "target_tokenizer.json");
  const options = { dtype, device: "cpu", session_options: { intraOpNumThreads: 1, interOpNumThreads: 1 } };
  if (!existsSync(apart)) {
    const translate = await pipeline("translation", basename(folder), options);
    return async (texts) => (await translate(texts)).map((one) => one.translation_text);
  }
  const source = await AutoTokenizer.from_pretrained(basename(folder));
  const target = new PreTrainedTokenizer(JSON.parse(readFileSync(apart)), {});
  const model = await AutoModelForSeq2SeqLM.from_pretrained(basename(folder), options);
  return async (texts) => {
    const ids = await model.generate({ ...source(texts, { padding: true }), max_new_tokens: 32 });
    return target.batch_decode(ids, { skip_special_tokens: true });
  };
}

const lines = readFileSync(0, "utf8").split("\n").filter((line) => line);
const translate = await translator();
const began = performance.now();
const found = [];
for (const line of lines) found.push((await translate([line]))[0]);
const seconds = (performance.now() - began) / 1000;
console.log(JSON.stringify({ found, together: await translate(lines.slice(0, 4)), seconds }));
