// search: ranks the hits of a search engine, which the request contains, by their relevance and by sales.
import { definePlan, E, EP, Key, P } from "@rankd/plan";

const endpoint = EP.shop;

export default definePlan({
  name: "search",
  build: (ctx) =>
    ctx
      .candidates({ as: "hits", keys: [Key.relevance] })
      .hash({ as: "products", endpoint, key: "product:{id}", keys: [Key.title, Key.price, Key.stock, Key.sold] })
      .filter({ as: "known", pred: Key.title != null })
      .vm({
        as: "scored",
        outKey: Key.score,
        expr: E.if(Key.stock > 0, 1, 0.2) * Key.relevance * (1 + 0.1 * E.log1p(Key.sold ?? 0)),
      })
      .sort({ as: "best_first", by: Key.score, order: "desc" })
      .take({ as: "page", count: P.page_size.within(1, 50) }),
});
