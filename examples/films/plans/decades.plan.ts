import { definePlan, E, Key } from "@rankd/plan";

import { bestFirst } from "./score.js";

/** The two best films of each decade. */
export default definePlan({
  name: "decades",
  build: (ctx) =>
    bestFirst(ctx)
      .filter({ pred: Key.year != null })
      .vm({ outKey: Key.decade, expr: E.floor(Key.year / 10) * 10 })
      .diversify({ strategy: "window", by: Key.decade, atMost: 2, overflow: "drop" })
      .sort({ by: Key.decade, order: "desc" }),
});
