import { definePlan, Key } from "@rankd/plan";

import { bestFirst } from "./score.js";

/** Every fourth film is a documentary or a western. */
export default definePlan({
  name: "slots",
  build: (ctx) =>
    bestFirst(ctx)
      .diversify({ strategy: "quota", by: Key.genre, values: ["Documentary", "Western"], everyNth: 4 })
      .take({ count: 12 }),
});
