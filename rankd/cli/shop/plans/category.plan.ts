// category: the products of one category by their sales rank, up to a price that the visitor may set.
import { definePlan, EP, Key, P } from "@rankd/plan";

const endpoint = EP.shop;

export default definePlan({
  name: "category",
  build: (ctx) =>
    ctx
      .sortedSet({ as: "ranked", endpoint, key: "rank:{P.category}", count: 200, order: "desc", outKey: Key.interest })
      .hash({ as: "products", endpoint, key: "product:{id}", keys: [Key.title, Key.brand, Key.price, Key.stock] })
      .filter({ as: "offered", pred: Key.stock > 0 && Key.price <= (P.max_price ?? 1000000) })
      .take({ as: "page", count: P.page_size.within(1, 50) }),
});
