import { definePlan, Key } from "@rankd/plan";

import { bestFirst } from "./score.js";

/** The best film of each genre, the genres by the mean of their films. */
export default definePlan({
  name: "genres",
  build: (ctx) =>
    bestFirst(ctx)
      .filter({ pred: Key.genre != null })
      .aggregate({ of: "mean", key: Key.score, per: Key.genre, outKey: Key.genre_score })
      .diversify({ strategy: "window", by: Key.genre, atMost: 1, overflow: "drop" })
      .sort({ by: Key.genre_score, order: "desc" }),
});
