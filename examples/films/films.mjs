// films.mjs: reads a file in the form of movies.json of the npm package vega-datasets, and mends what films need.
import { readFileSync } from "node:fs";

/** The year of "Nov 12 2004"; years beyond the last of the list were written with two digits, of the century before. */
function yearOf(date) {
  const year = Number(/\d{4}$/.exec(date ?? "")?.[0]);
  if (!(year > 0)) return null;
  return year > 2011 ? year - 100 : year;
}

/** Titles such as 1776 are numbers there. */
const titleOf = (film) => (film.Title === null ? null : String(film.Title));

/** The films of a file in its order, with the names of keys.toml. */
export function filmsOf(file) {
  return JSON.parse(readFileSync(file, "utf8")).map((film, at) => ({
    id: at + 1,
    title: titleOf(film),
    genre: film["Major Genre"],
    rating: film["IMDB Rating"],
    votes: film["IMDB Votes"],
    year: yearOf(film["Release Date"]),
  }));
}
