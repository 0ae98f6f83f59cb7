// data.mjs: makes the records that a store has of the films of a file in the form of movies.json.
//   node data.mjs node_modules/vega-datasets/data/movies.json > data/films.ndjson
import { filmsOf } from "./films.mjs";

const films = filmsOf(process.argv[2]);

/** A list for the order, and a hash for each film. What is not known has no field. */
const records = [{ list: "films", values: films.map((film) => film.id) }];
for (const { id, ...known } of films) {
  const fields = Object.entries(known).filter(([, value]) => value !== null);
  const texts = Object.fromEntries(fields.map(([name, value]) => [name, String(value)]));
  if (fields.length > 0) records.push({ hash: `film:${id}`, fields: texts });
}
for (const record of records) console.log(JSON.stringify(record));
