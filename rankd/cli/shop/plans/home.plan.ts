// home: products that are trending in the country or match earlier purchases, without products already bought.
import { definePlan, EP, Key, P } from "@rankd/plan";

const endpoint = EP.shop;
const best = { order: "desc", outKey: Key.interest } as const;

export default definePlan({
  name: "home",
  build: (ctx) => {
    const trending = ctx.sortedSet({ as: "trending", endpoint, key: "trending:{P.country}", count: 100, ...best });
    const similar = ctx
      .set({ as: "owned", endpoint, key: "bought:{P.member}", count: 50 })
      .sortedSet({ as: "similar", endpoint, key: "similar:{id}", count: 10, ...best });
    return trending
      .concat({ as: "all", rhs: similar, outKey: Key.source, sources: ["trending", "similar"] })
      .dedupe({ as: "once", strategy: "max_by", scoreKey: Key.interest })
      .membersOf({ as: "known", endpoint, key: "bought:{P.member}", outKey: Key.bought })
      .filter({ as: "new_ones", pred: !Key.bought })
      .hash({ as: "products", endpoint, key: "product:{id}", keys: [Key.title, Key.category, Key.price, Key.stock] })
      .filter({ as: "in_stock", pred: Key.stock > 0 })
      .vm({ as: "scored", outKey: Key.score, expr: Key.interest - P.price_weight * (Key.price ?? 0) })
      .sort({ as: "best_first", by: Key.score, order: "desc" })
      .diversify({ as: "mixed", strategy: "window", by: Key.category, atMost: 2, window: 4 })
      .take({ as: "page", count: P.page_size.within(1, 50) });
  },
});
