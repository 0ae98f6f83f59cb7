// cart: products that are similar to products in the cart but not in the cart. Products that are similar to several
// products in the cart come first.
import { definePlan, EP, Key, P } from "@rankd/plan";

const endpoint = EP.shop;

export default definePlan({
  name: "cart",
  build: (ctx) => {
    const cart = ctx.list({ as: "in_cart", endpoint, key: "cart:{P.member}", count: 50 }).dedupe({ as: "items" });
    return cart
      .sortedSet({ as: "near", endpoint, key: "similar:{id}", count: 10, order: "desc", outKey: Key.interest })
      .aggregate({ as: "together", of: "sum", key: Key.interest, per: Key.id, outKey: Key.score })
      .dedupe({ as: "once" })
      .join({ as: "others", rhs: cart, how: "anti" })
      .hash({ as: "products", endpoint, key: "product:{id}", keys: [Key.title, Key.price, Key.stock] })
      .filter({ as: "in_stock", pred: Key.stock > 0 })
      .sort({ as: "best_first", by: Key.score, order: "desc" })
      .take({ as: "page", count: P.page_size.within(1, 50) });
  },
});
