import { definePlan, EP, Key } from "@rankd/plan";

const endpoint = EP.redis_default;

// [features]
export default definePlan({
  name: "features",
  build: (ctx) =>
    ctx
      .viewer({ endpoint })
      .follow({ endpoint, fanout: 20 })
      .fetchFeatures({ endpoint, keys: [Key.title], hash: "user" })
      .filter({ pred: Key.title != null })
      .extractFeatures({
        transform: "one_hot",
        keys: [Key.country],
        values: ["US", "CA"],
        outKeys: [Key.model_score_1, Key.model_score_2],
      })
      .callModels({ models: ["clicks"], outKeys: [Key.final_score] })
      .sort({ by: Key.final_score, order: "desc" })
      .take({ count: 5 }),
});
// [/features]
