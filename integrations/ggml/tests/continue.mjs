// continue.mjs NODE_LLAMA THREADS FILE: how a model continues a prompt by the most likely tokens, as
// an application made with node-llama-cpp has it.
import { pathToFileURL } from "node:url";

const [folder, threads, modelPath] = process.argv.slice(2);
const library = `${folder}/node_modules/node-llama-cpp/dist/index.js`;
const { getLlama } = await import(pathToFileURL(library));
const llama = await getLlama({ gpu: false, build: "never", maxThreads: Number(threads) });
const model = await llama.loadModel({ modelPath });
const context = await model.createContext({ contextSize: 256, threads: Number(threads) });
const tokens = model.tokenize("Once upon a time there was a matrix of more rows than columns");
const found = [];
for await (const token of context.getSequence().evaluate(tokens, { temperature: 0 })) {
  found.push(token);
  if (found.length === 12) break;
}
console.log(model.detokenize(found));
await llama.dispose();
