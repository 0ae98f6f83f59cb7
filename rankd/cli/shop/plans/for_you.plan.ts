// for_you: trending products, scored by a model that uses the member's budget and favourite category.
import { definePlan, E, EP, Key, P } from "@rankd/plan";

const endpoint = EP.shop;

export default definePlan({
  name: "for_you",
  build: (ctx) => {
    const member = ctx
      .viewer({ as: "who", endpoint })
      .hash({ as: "member", endpoint, key: "user:{id}", keys: [Key.budget, Key.favourite] });
    const above = (Key.price ?? 0) / (Key.budget ?? 50) - 1;
    return ctx
      .sortedSet({ as: "trending", endpoint, key: "trending:{P.country}", count: 100, order: "desc" })
      .join({ as: "for_member", rhs: member, how: "broadcast", select: [Key.budget, Key.favourite] })
      .hash({
        as: "products",
        endpoint,
        key: "product:{id}",
        keys: [Key.title, Key.category, Key.price, Key.rating, Key.sold],
      })
      .vm({ as: "sales", outKey: Key.log_sold, expr: E.log1p(Key.sold ?? 0) })
      .vm({ as: "price", outKey: Key.over_budget, expr: E.max(above, 0) })
      .vm({ as: "taste", outKey: Key.likes, expr: E.if(Key.category == Key.favourite, 1, 0) })
      .callModels({ as: "model", models: ["buys"], outKeys: [Key.score] })
      .sort({ as: "best_first", by: Key.score, order: "desc" })
      .take({ as: "page", count: P.page_size.within(1, 50) });
  },
});
