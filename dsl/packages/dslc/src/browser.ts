// browser.ts: the compiler in a web worker. A page sends it the files of a project, and then the text of one plan after
// another.
import ts = require("typescript");

import { fs, mount } from "./browser_host.js";
import type { BrowserProject } from "./browser_project.js";
import { Compiler } from "./compile.js";
import { loadProject } from "./project.js";

// The worker does not check artifacts. The page sends each artifact to its server for the check, and maps the errors to
// positions in the source.

/** A message from the page: a project with its files by absolute path, or a text that replaces a file. */
type Message =
  | ({ readonly number: number } & BrowserProject)
  | { readonly number: number; readonly file: string; readonly text: string };

interface Scope {
  onmessage: (event: { readonly data: Message }) => void;
  postMessage(answer: object): void;
}
declare const self: Scope & Record<string, unknown>;

// The script's security policy forbids network access. The APIs below share data with other pages of the server or
// start other scripts; the compiler does not need them, so they are removed.
for (const name of ["indexedDB", "caches", "BroadcastChannel", "importScripts", "Worker", "SharedWorker", "fetch"])
  Object.defineProperty(self, name, { value: undefined, configurable: false });

let compiler: Compiler | undefined;
let root = "";

/** TypeScript uses little more of its system than the location of its own declarations. */
function system(standard: string): object {
  return {
    args: [],
    newLine: "\n",
    useCaseSensitiveFileNames: true,
    write: () => undefined,
    readFile: (file: string) => (fs.existsSync(file) ? fs.readFileSync(file) : undefined),
    fileExists: fs.existsSync,
    directoryExists: fs.existsSync,
    getDirectories: () => [],
    readDirectory: () => [],
    resolvePath: (path: string) => path,
    getExecutingFilePath: () => `${standard}/typescript.js`,
    getCurrentDirectory: () => root,
    writeFile: () => undefined,
    createDirectory: () => undefined,
    exit: () => undefined,
  };
}

async function answerTo(message: Message): Promise<object> {
  if ("files" in message) {
    await compiler?.close();
    compiler = undefined;
    root = message.root;
    mount(message.files);
    (ts as unknown as { setSys(to: object): void }).setSys(system(message.standard));
    compiler = new Compiler(loadProject(root));
    return {};
  }
  if (compiler === undefined) throw new Error("there is no project yet");
  const file = `${root}/${message.file}`;
  const [compiled] = await compiler.compile([file], new Map([[file, message.text]]));
  const { diagnostics, artifact = null, options, places = [] } = compiled!;
  return { file: message.file, diagnostics, artifact, options: options?.() ?? [], places: Object.fromEntries(places) };
}

let last: Promise<unknown> = Promise.resolve();
self.onmessage = ({ data }) => {
  last = last.then(async () => {
    try {
      self.postMessage({ number: data.number, ...(await answerTo(data)) });
    } catch (error) {
      self.postMessage({ number: data.number, error: (error as Error).message });
    }
  });
};
