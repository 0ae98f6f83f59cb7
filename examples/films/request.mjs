// request.mjs: makes a request of a file in the form of movies.json of the npm package vega-datasets.
//   node request.mjs node_modules/vega-datasets/data/movies.json varied > request.json
import { readFileSync } from "node:fs";

const [file, plan = "best", cursor] = process.argv.slice(2);
const films = JSON.parse(readFileSync(file, "utf8"));

/** The year of "Nov 12 2004"; years beyond the last of the list were written with two digits, of the century before. */
function yearOf(date) {
  const year = Number(/\d{4}$/.exec(date ?? "")?.[0]);
  if (!(year > 0)) return null;
  return year > 2011 ? year - 100 : year;
}

/** Titles such as 1776 are numbers there. */
const titleOf = (film) => (film.Title === null ? null : String(film.Title));

const request = {
  plan,
  request_id: `films ${plan}`,
  candidates: {
    id: films.map((_, at) => at + 1),
    title: films.map(titleOf),
    genre: films.map((film) => film["Major Genre"]),
    rating: films.map((film) => film["IMDB Rating"]),
    votes: films.map((film) => film["IMDB Votes"]),
    year: films.map((film) => yearOf(film["Release Date"])),
  },
  ...(cursor === undefined ? {} : { cursor }),
};
console.log(JSON.stringify(request));
