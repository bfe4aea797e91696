// Translates lines of text with transformers.js, offline: node transformers_js.mjs NODE_MODULES FOLDER DTYPE < lines
import { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { readFileSync } from "node:fs";

const [modules, folder, dtype] = process.argv.slice(2);
const { env, pipeline } = createRequire(join(resolve(modules), "here.js"))("@huggingface/transformers");
env.allowRemoteModels = false;
env.localModelPath = dirname(resolve(folder)) + "/";
const lines = readFileSync(0, "utf8").split("\n").filter((line) => line);
const translate = await pipeline("translation", basename(folder), { dtype, device: "cpu" });
const began = performance.now();
const found = [];
for (const line of lines) found.push((await translate(line))[0].translation_text);
const together = await translate(lines.slice(0, 4));
console.log(JSON.stringify({ found, together: together.map((one) => one.translation_text), seconds: (performance.now() - began) / 1000 }));
