import { coalesce, definePlan, E, EP, Key } from "@rankd/plan";

const endpoint = EP.redis_default;

// [plan]
export default definePlan({
  name: "vectors",
  build: (ctx) =>
    ctx
      .candidates({ keys: [Key.features_esr] }) // the request brings the vector to start from
      .nearest({ endpoint: EP.items, query: Key.features_esr, count: 200, outKey: Key.model_score_1 })
      .fetchFeatures({ endpoint, keys: [Key.features_esr, Key.features_lsr], as: "items" })
      .vm({
        outKey: Key.final_score,
        expr: Key.model_score_1 + 0.5 * coalesce(E.cosine(Key.features_esr, Key.features_lsr), 0),
      })
      .diversify({ strategy: "mmr", relevance: Key.final_score, similarity: Key.features_esr, lambda: 0.7, count: 20 }),
});
// [/plan]
