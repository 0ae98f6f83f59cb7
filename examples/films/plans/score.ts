// score.ts: what the plans of films share.
import { type CandidateSet, coalesce, E, Key, P, type PlanContext } from "@rankd/plan";

/** Of all films that have a rating. */
const meanRating = 6.3;

/** The films of the request, the best first: with few votes a rating is drawn to the mean of all. */
export function bestFirst(ctx: PlanContext): CandidateSet {
  const votes = coalesce(Key.votes, 0);
  return ctx
    .candidates({ keys: [Key.title, Key.genre, Key.rating, Key.votes, Key.year] })
    .filter({ pred: Key.rating != null && Key.title != null })
    .vm({ outKey: Key.score, expr: (votes * Key.rating + P.weight * meanRating) / (votes + E.max(P.weight, 1)) })
    .sort({ by: Key.score, order: "desc" });
}
