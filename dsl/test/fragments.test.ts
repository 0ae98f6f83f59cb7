// fragments.test.ts: parts of plans with a version and arguments: what becomes of them, what is refused, what is published.
import assert from "node:assert/strict";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { type Compiled, loadProject } from "@rankd/dslc";

import { fragmentsOf, outdatedIn, publish, usesOf } from "../packages/dslc/dist/fragment_index.js";
import { compilerFor, dslc, expectedIn, repository, scratchFolder, writeFiles } from "./support.js";

const head = 'import { arg, defineFragment, definePlan, EP, Key, P } from "@rankd/plan";\n';
const near = (version: string, more = ""): string => `${head}export default defineFragment({
  name: "near", version: "${version}",
  args: { from: arg.set(), fanout: arg.int({ min: 1, max: 500, default: 100 }), score: arg.expr({ default: 1 }),
    part: arg.float({ min: 0, default: 0.5 }), exact: arg.bool({ default: false }), note: arg.string({ default: "" }) },
  build: (ctx, a) => a.from.follow({ endpoint: EP.redis_default, fanout: a.fanout, trace: a.note })
    .vm({ outKey: Key.final_score, expr: a.exact ? a.score : a.score * a.part, as: "scored" })${more},
});
`;
const imports = `${head}import near from "./fragments/near/2.fragment.js";\n`;
const plan = (name: string, body: string): string =>
  `${imports}export default definePlan({ name: "${name}", build: (ctx) => {\n` +
  `const viewer = ctx.viewer({ endpoint: EP.redis_default });\n${body}} });\n`;

interface Artifact {
  readonly capabilities_required: readonly string[];
  readonly nodes: readonly { readonly node_id: string; readonly params: Readonly<Record<string, unknown>> }[];
  readonly extensions: Readonly<Record<string, { readonly uses: readonly Readonly<Record<string, unknown>>[] }>>;
}
const capability = "cap.rfc.0002.fragments.v1";
/** One compiler for all plans with types, each test in a folder of its own. */
const shared = scratchFolder();
const typed = compilerFor(shared);
const artifactOf = ({ artifact, diagnostics }: Compiled): Artifact => {
  assert.deepEqual(diagnostics, []);
  return JSON.parse(artifact!) as Artifact;
};

test("a use becomes nodes that are called after it, and the artifact says where they come from", async () => {
  const folder = join(shared, "uses");
  writeFiles(folder, {
    "fragments/near/2.fragment.ts": near("2.1.0"),
    "fragments/near/1.fragment.ts": near("1.4.2", ".take({ count: 3 })"),
    "fragments/both/1.fragment.ts": `${head}import near from "../near/2.fragment.js";
export default defineFragment({ name: "both", version: "1.0.0", args: { from: arg.set() },
  build: (ctx, { from }) => near.use({ as: "again", from: near.use({ as: "first", from }) }).take({ count: 9 }) });
`,
    "p.plan.ts": `${imports}import old from "./fragments/near/1.fragment.js";
import both from "./fragments/both/1.fragment.js";
export default definePlan({ name: "p", build: (ctx) => {
  const viewer = ctx.viewer({ endpoint: EP.redis_default });
  const a = near.use({ as: "a", atLeast: "2.0.9", from: viewer, fanout: 7, score: Key.id + 1, exact: true, note: "n" });
  const b = old.use({ as: "b", from: a });
  return ctx.choose(P.new_model, () => b, () => both.use({ as: "c", from: b }), { as: "chosen" }).follow({ endpoint: EP.redis_default, fanout: 2 });
} });
`,
  });
  const { nodes, extensions, capabilities_required } = artifactOf(
    (await typed.compile([join(folder, "p.plan.ts")]))[0]!,
  );
  assert.deepEqual(
    nodes.map((each) => each.node_id),
    "viewer a__follow a__scored b__follow b__scored b__take c__first__follow c__first__scored c__again__follow c__again__scored c__take chosen follow".split(
      " ",
    ),
  );
  assert.deepEqual(nodes[1]!.params, { endpoint: "ep_0001", fanout: 7, trace: "n" });
  assert.ok(capabilities_required.includes(capability));
  const uses = extensions[capability]!.uses;
  assert.deepEqual(
    uses.map(({ id, fragment, version, nodes: own, result }) => [
      id,
      fragment,
      version,
      (own as string[]).length,
      result,
    ]),
    [
      ["a", "near", "2.1.0", 2, "a__scored"],
      ["b", "near", "1.4.2", 3, "b__take"],
      ["c", "both", "1.0.0", 5, "c__take"],
      ["c__first", "near", "2.1.0", 2, "c__first__scored"],
      ["c__again", "near", "2.1.0", 2, "c__again__scored"],
    ],
  );
  assert.deepEqual(uses[0]!["args"], {
    exact: true,
    fanout: 7,
    from: { node: "viewer" },
    note: "n",
    part: 0.5,
    score: { expr: "a_a__score" },
  });
  assert.equal(uses[0]!["sha256"], uses[4]!["sha256"]);
  assert.notEqual(uses[0]!["sha256"], uses[1]!["sha256"]);
});

/** Plans that type-check, unless their name ends with "untyped"; a mark stands in front of each diagnostic. */
const wrong: Readonly<Record<string, string>> = {
  reserved: 'return near.use({ as: "a", from: viewer }).take({ count: 1, as: /*!reserved_name*/"a__b" });',
  use_with_separator: 'return near.use({ as: /*!reserved_name*/"a__b", from: viewer });',
  bad_use: 'return near.use({ as: /*!bad_name*/"a b", from: viewer });',
  same_use: 'return near.use({ as: /*!duplicate_use*/"a", from: near.use({ as: "a", from: viewer }) });',
  too_old: 'return near.use({ as: "a", atLeast: /*!fragment_too_old*/"2.1.1", from: viewer });',
  no_version: 'return near.use({ as: "a", atLeast: /*!bad_version*/"2.1", from: viewer });',
  small: 'return near.use({ as: "a", from: viewer, fanout: /*!out_of_range*/0 });',
  large: 'return near.use({ as: "a", from: viewer, fanout: /*!out_of_range*/501 });',
  negative: 'return near.use({ as: "a", from: viewer, part: /*!out_of_range*/-0.5 });',
  fraction: 'return near.use({ as: "a", from: viewer, fanout: /*!wrong_type*/2.5 });',
  request: 'return near.use({ as: "a", from: viewer, fanout: /*!runtime_value*/P.page_size });',
  missing: 'return near.use(/*!type_error*/{ as: "a" });',
  unknown: 'return near.use({ as: "a", from: viewer, /*!type_error*/fan: 3 });',
  text_for_number: 'return near.use({ as: "a", from: viewer, /*!type_error*/fanout: "3" });',
  number_for_set: 'return near.use({ as: "a", /*!type_error*/from: 3 });',
  missing_untyped: 'return near.use(/*!missing_argument*/{ as: "a" });',
  unknown_untyped: 'return near.use({ as: "a", from: viewer, fan: /*!unknown_field*/3 });',
  truth_untyped: 'return near.use({ as: "a", from: viewer, exact: /*!wrong_type*/1 });',
  text_untyped: 'return near.use({ as: "a", from: viewer, note: /*!wrong_type*/1 });',
  set_untyped: 'return near.use({ as: "a", from: /*!wrong_type*/3 });',
};

for (const types of ["with types", "without types"] as const)
  test(`wrong uses get their diagnostics, ${types}`, async () => {
    const folder = types === "with types" ? join(shared, "wrong") : scratchFolder();
    const names = Object.keys(wrong).filter((name) => name.endsWith("untyped") === (types === "without types"));
    const sources = names.map((name) => plan(name, wrong[name]!));
    writeFiles(folder, {
      "fragments/near/2.fragment.ts": near("2.1.0"),
      ...Object.fromEntries(names.map((name, at) => [`${name}.plan.ts`, sources[at]!])),
    });
    const compiled = await (types === "with types" ? typed : compilerFor(folder, { types })).compile(
      names.map((name) => join(folder, `${name}.plan.ts`)),
    );
    for (const [at, { name, diagnostics }] of compiled.entries())
      assert.deepEqual(
        diagnostics.map(({ code, place }) => `${code} ${place.line}:${place.column}`),
        expectedIn(sources[at]!),
        `${name}: ${diagnostics.map(({ message }) => message).join(" ")}`,
      );
  });

/** Definitions of the fragment `near` of fragments/near/2.fragment.ts. */
const wrongFragments: Readonly<Record<string, string>> = {
  another_name:
    '({ name: /*!name_mismatch*/"nearby", version: "2.0.0", args: { from: arg.set() }, build: (ctx, a) => a.from.take({ count: 1 }) })',
  another_major:
    '({ name: /*!name_mismatch*/"near", version: "3.0.0", args: { from: arg.set() }, build: (ctx, a) => a.from.take({ count: 1 }) })',
  bad_version:
    '({ name: "near", version: /*!bad_version*/"2", args: { from: arg.set() }, build: (ctx, a) => a.from.take({ count: 1 }) })',
  default_outside:
    '({ name: "near", version: "2.0.0", args: { from: arg.set(), n: arg.int({ min: 2, default: /*!out_of_range*/1 }) }, build: (ctx, a) => a.from.take({ count: 1 }) })',
  argument_as:
    '({ name: "near", version: "2.0.0", args: { from: arg.set(), as: /*!reserved_name*/arg.int() }, build: (ctx, a) => a.from.take({ count: 1 }) })',
  name_inside:
    '({ name: "near", version: "2.0.0", args: { from: arg.set() }, build: (ctx, a) => a.from.take({ count: 1, as: /*!reserved_name*/"x__y" }) })',
  result_from_outside:
    '/*!wrong_result*/({ name: "near", version: "2.0.0", args: { from: arg.set() }, build: (ctx, a) => a.from })',
  without_end:
    '({ name: "near", version: "2.0.0", args: { from: arg.set() }, build: (ctx, a): CandidateSet => self.self!./*!fragments_too_deep*/use({ as: "x", from: a.from }) })',
};

test("wrong fragments get their diagnostics, where they are written", async () => {
  const names = Object.keys(wrongFragments);
  const sources = names.map((name) => {
    const text = wrongFragments[name]!;
    const at = text.indexOf("(");
    return `${head.replace("arg,", "arg, type CandidateSet, type Fragment,")}
const self: { self?: { use(use: { as: string; from: CandidateSet }): CandidateSet } } = {};
const made = ${text.slice(0, at)}defineFragment${text.slice(at)};
self.self = made as unknown as NonNullable<typeof self.self>;
export default made as unknown as Fragment<{}>;
`;
  });
  const folder = join(shared, "definitions");
  for (const [at, name] of names.entries())
    writeFiles(join(folder, name), {
      "fragments/near/2.fragment.ts": sources[at]!,
      [`${name}.plan.ts`]: plan(name, 'return near.use({ as: "a", from: viewer } as { as: string });'),
    });
  const compiled = await typed.compile(names.map((name) => join(folder, name, `${name}.plan.ts`)));
  for (const [at, { name, diagnostics }] of compiled.entries())
    assert.deepEqual(
      diagnostics.map(({ code, place }) => `${place.file} ${code} ${place.line}:${place.column}`),
      expectedIn(sources[at]!).map((each) => `definitions/${name}/fragments/near/2.fragment.ts ${each}`),
      `${name}: ${diagnostics.map(({ message }) => message).join(" ")}`,
    );
});

test("what is published stays as it is, and uses of older versions are listed", async () => {
  const folder = join(shared, "published");
  cpSync(join(repository, "registry"), join(folder, "registry"), { recursive: true });
  const fragment = join(folder, "fragments/near/2.fragment.ts");
  const write = (text: string): void => {
    writeFiles(folder, { "fragments/near/2.fragment.ts": text });
  };
  writeFiles(folder, {
    "rankd.toml": 'name = "x"\nenvironment = "test"\nregistry = "registry"\nplans = "plans"\n',
    "p.plan.ts": plan("p", 'return near.use({ as: "a", from: viewer });'),
  });
  write(near("2.1.0"));
  const own = loadProject(folder);
  const compiled = async (): Promise<Compiled[]> => typed.compile([fragment, join(folder, "p.plan.ts")]);
  const [first, using] = await compiled();
  assert.deepEqual(fragmentsOf(own), [fragment]);
  assert.deepEqual(publish(own, [first!.fragment!]), [first!.fragment]);
  assert.deepEqual(publish(own, [first!.fragment!]), []);
  const index = readFileSync(join(folder, "fragments/index.json"), "utf8");
  assert.deepEqual(JSON.parse(index), { schema_version: 1, fragments: { near: { "2.1.0": first!.fragment!.sha256 } } });
  assert.deepEqual(
    (await compiled()).flatMap(({ diagnostics }) => diagnostics),
    [],
  );

  write(near("2.1.0", ".take({ count: 3 })"));
  for (const { diagnostics } of await compiled())
    assert.deepEqual(
      diagnostics.map(({ code, place }) => `${place.file}:${place.line}:${place.column} ${code}`),
      ["published/fragments/near/2.fragment.ts:3:26 published_version"],
    );

  write(near("2.10.0", ".take({ count: 3 })"));
  const [second] = await compiled();
  publish(own, [second!.fragment!]);
  assert.deepEqual(outdatedIn(own, "p", usesOf(using!.artifact!)), ["p: a is near 2.1.0; 2.10.0 is published"]);
  assert.deepEqual(outdatedIn(own, "p", usesOf((await compiled())[1]!.artifact!)), []);

  writeFiles(folder, { "plans/p.json": using!.artifact! });
  const out = "p: a is near 2.1.0; 2.10.0 is published\n";
  assert.deepEqual(await dslc(folder, "outdated"), { status: 1, out, err: "" });
});
