// score.ts: what the plans of films share.
import { type CandidateSet, coalesce, E, EP, Key, P, type PlanContext } from "@rankd/plan";

/** Of all films that have a rating. */
const meanRating = 6.3;

// [films]
const endpoint = EP.films;
const columns = [Key.title, Key.genre, Key.rating, Key.votes, Key.year];

/** The films of the store, or those of the request, which are the same rows. */
function allFilms(ctx: PlanContext): CandidateSet {
  return ctx.choose(
    P.stored,
    () => ctx.list({ endpoint, key: "films", count: 10_000 }).hash({ endpoint, key: "film:{id}", keys: columns }),
    () => ctx.candidates({ keys: columns }),
  );
}
// [/films]

/** The films, the best first: with few votes a rating is drawn to the mean of all. */
export function bestFirst(ctx: PlanContext): CandidateSet {
  const votes = coalesce(Key.votes, 0);
  return allFilms(ctx)
    .filter({ pred: Key.rating != null && Key.title != null })
    .vm({ outKey: Key.score, expr: (votes * Key.rating + P.weight * meanRating) / (votes + E.max(P.weight, 1)) })
    .sort({ by: Key.score, order: "desc" });
}
