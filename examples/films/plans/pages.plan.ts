import { coalesce, definePlan, E, Key, P } from "@rankd/plan";

import { bestFirst } from "./score.js";

/** Short titles have room for the genre. */
const label = Key.title + E.if(Key.title.length > 25, "", coalesce(", " + Key.genre, ""));

/** All films, page by page, with what a page shows of each. */
export default definePlan({
  name: "pages",
  build: (ctx) =>
    bestFirst(ctx)
      .diversify({ strategy: "window", by: Key.genre, atMost: 1, window: 3 })
      .paginate({ size: P.page_size.within(1, 100) })
      .vm({ outKey: Key.label, expr: label }),
});
