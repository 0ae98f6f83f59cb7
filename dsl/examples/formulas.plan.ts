import { coalesce, definePlan, E, EP, Key, P, Pred, regex } from "@rankd/plan";

// [values]
const values = [
  Key.id * 0.5 + 3,
  -Key.model_score_1,
  P.esr_cutoff ?? 0.5, // 0.5 where the request gives no esr_cutoff
  coalesce(P.esr_cutoff, Key.final_score),
];
// [/values]

// [arithmetic]
const further = [
  Key.final_score / Key.model_score_1, // null where model_score_1 is 0
  Key.final_score ** 2,
  E.clamp(Key.final_score, 0, 1),
  E.log1p(E.max(Key.model_score_1, 0)),
  E.if(Key.country == "US", Key.final_score, 0.5 * Key.final_score),
];
// [/arithmetic]

// [integers]
const integers = [
  // Of integers exactly, with the sign of the left side; null where the right
  // side is 0.
  Key.id % 10,
  // 0 to 99, the same on every machine, and others for another seed.
  E.bucket(Key.id, 100, "layout"),
  E.bucket(Key.title, 100, "layout"), // the same of a string
  Key.title.length, // code points, so that "\u{1f600}" has one
];
// [/integers]

// [texts]
const texts = [
  Key.title + " (" + Key.country + ")", // null where one of them is null
  Key.title ?? P.surface,
  E.if(Key.final_score > 0.5, "best", Key.country),
  E.concat("in ", Key.country ?? "no country"),
];
// [/texts]

// [truths]
const cutoff = 0.25;
const truths = [
  Key.final_score >= cutoff && Key.final_score < 100 * cutoff,
  Key.final_score * 2 > Key.model_score_1 + 1 || !(Key.id == 7),
  Key.country == "US",
  Key.country != "US", // false where there is no country
  Key.country == null, // no country
  Key.id in [1, 2, 3],
  Key.country in ["US", "CA"],
  regex(Key.title, "^the ", "i"),
];
// [/truths]

// [strings]
const strings = [
  // False where one of them is null.
  Key.title == Key.country || Key.country != P.surface,
  Key.title >= "m", // byte by byte
  Key.title.startsWith("the ") && !Key.title.endsWith(P.surface),
  Key.title.includes(P.surface),
  // A param or key of type bool is a predicate.
  P.new_model && E.bucket(Key.id, 100) < 10,
];
// [/strings]

// [builders]
const built = Pred.and(
  Pred.cmp(
    ">=",
    E.mul(
      E.key(Key.id),
      E.coalesce(E.param(P.media_age_penalty_weight), E.const(0.2)),
    ),
    E.const(0.6),
  ),
  Pred.not(Pred.in(Key.country, ["US", "CA"])),
);
const exact = Pred.cmp("==", Key.id, E.const(9007199254740993n));
// [/builders]

// [loop]
/** Whether at least one of them holds. A loop runs while the plan is built. */
const anyOf = (all: readonly boolean[]) => {
  let any = Pred.const(false);
  for (const each of all) any = any || each;
  return any;
};
// [/loop]

export default definePlan({
  name: "formulas",
  build: (ctx) => {
    let set = ctx
      .viewer({ endpoint: EP.redis_default })
      .follow({ endpoint: EP.redis_default, fanout: 20 });
    // The key may not be null, and there is no model_score_1 yet.
    for (const value of [...values, ...further, ...integers])
      set = set.vm({ outKey: Key.model_score_2, expr: value ?? 0 });
    for (const text of texts) set = set.vm({ outKey: Key.country, expr: text });
    return set.filter({ pred: anyOf([...truths, ...strings, built, exact]) });
  },
});
