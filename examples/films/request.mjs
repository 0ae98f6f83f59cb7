// request.mjs: makes a request that carries all films of a file in the form of movies.json.
//   node request.mjs node_modules/vega-datasets/data/movies.json varied > request.json
import { filmsOf } from "./films.mjs";

const [file, plan = "best", cursor] = process.argv.slice(2);
const films = filmsOf(file);
const keys = ["id", "title", "genre", "rating", "votes", "year"];

const request = {
  plan,
  request_id: `films ${plan}`,
  candidates: Object.fromEntries(keys.map((key) => [key, films.map((film) => film[key])])),
  ...(cursor === undefined ? {} : { cursor }),
};
console.log(JSON.stringify(request));
