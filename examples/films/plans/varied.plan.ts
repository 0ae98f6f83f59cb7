import { definePlan, Key } from "@rankd/plan";

import { bestFirst } from "./score.js";

/** No genre twice among any three films in succession. */
export default definePlan({
  name: "varied",
  build: (ctx) =>
    bestFirst(ctx).diversify({ strategy: "window", by: Key.genre, atMost: 1, window: 3 }).take({ count: 10 }),
});
