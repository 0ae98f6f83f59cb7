import { definePlan, Key } from "@rankd/plan";

import { bestFirst } from "./score.js";

/** The best film of each genre. */
export default definePlan({
  name: "top_of_genre",
  build: (ctx) =>
    bestFirst(ctx)
      .filter({ pred: Key.genre != null })
      .diversify({ strategy: "window", by: Key.genre, atMost: 1, overflow: "drop" }),
});
