import { definePlan, E, Key, P } from "@rankd/plan";

import { bestFirst } from "./score.js";

/** What a request wants: films since a year, those of a favourite genre before others that are as good. */
export default definePlan({
  name: "tonight",
  build: (ctx) =>
    bestFirst(ctx)
      .filter({ pred: Key.year >= P.since })
      .vm({ outKey: Key.score, expr: Key.score + E.if(Key.genre == P.favourite, 1, 0) })
      .sort({ by: Key.score, order: "desc" })
      .take({ count: P.page_size.within(1, 100) }),
});
