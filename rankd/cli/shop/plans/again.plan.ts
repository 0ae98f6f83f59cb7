// again: products that the member has bought before and will need again: food, gas, batteries.
import { definePlan, EP, Key, P } from "@rankd/plan";

const endpoint = EP.shop;

export default definePlan({
  name: "again",
  build: (ctx) =>
    ctx
      .set({ as: "owned", endpoint, key: "bought:{P.member}", count: 200 })
      .hash({ as: "products", endpoint, key: "product:{id}", keys: [Key.title, Key.category, Key.price, Key.stock] })
      .filter({
        as: "used_up",
        pred: Key.category == "food" || Key.id.startsWith("gas-") || Key.id.startsWith("batteries-"),
      })
      .filter({ as: "in_stock", pred: Key.stock > 0 })
      .sort({ as: "by_name", by: Key.id })
      .take({ as: "page", count: P.page_size.within(1, 50) }),
});
