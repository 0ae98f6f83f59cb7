// sandbox.ts: the worker thread that runs plans; the main thread can end it.
import { parentPort, workerData } from "node:worker_threads";

import variant from "@jitl/quickjs-wasmfile-release-sync";
import type { QuickJSSyncVariant } from "quickjs-emscripten-core";

import { newInterpreter, type Setup, type Task } from "./interpreter.js";

if (parentPort !== null) {
  const port = parentPort;
  const interpret = await newInterpreter(workerData as Setup, variant as unknown as QuickJSSyncVariant);
  port.on("message", (task: Task) => {
    port.postMessage(interpret(task));
  });
  port.postMessage("ready");
}
