// tests/rankd/cli/films_example_test.cpp: the project of examples/films, which docs/films.md shows, on its made-up
// films.
#include <rankd/cli/commands.hpp>

#include <rankd/registry/file.hpp>
#include <tests/rankd/cli/run_rankd.hpp>
#include <tests/support/scratch_folder.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd::testing;
using braid::testing::process_end;
using nlohmann::json;

namespace {

namespace fs = std::filesystem;

class films_project : public braid::testing::scratch_folder {
 public:
  films_project() { fs::copy("examples/films", path(), fs::copy_options::recursive); }

  [[nodiscard]] auto ask(const json& request) const -> json {
    const process_end done = rankd_in(path(), {"rank"}, request.dump());
    return json::parse(done.out);
  }
};

auto request_of(const std::string& plan) -> json {
  json out = json::parse(rankd::read_text_file("examples/films/request.json").value());
  out["plan"] = plan;
  return out;
}

auto ids_of(const json& answer) -> std::vector<int> {
  std::vector<int> out;
  for (const json& each : answer.at("candidates")) out.push_back(each.at("id"));
  return out;
}

}  // namespace

TEST_CASE("films are ranked by weighted ratings, and kept apart by their genres") {
  const films_project project;
  CHECK((ids_of(project.ask(request_of("best"))) == std::vector{2, 1, 3, 4, 5, 8, 6, 7}));
  CHECK((ids_of(project.ask(request_of("varied"))) == std::vector{2, 4, 5, 1, 8, 6, 3, 7}));
}

TEST_CASE("films are grouped by decade and genre, fused, boosted and sampled") {
  const films_project project;
  CHECK((ids_of(project.ask(request_of("decades"))) == std::vector{2, 3, 1, 5, 6, 4}));  // 2004, 2008, 1999, 1987, …
  CHECK((ids_of(project.ask(request_of("genres"))) == std::vector{2, 4, 5, 6, 7}));      // no second drama
  CHECK((ids_of(project.ask(request_of("famous"))) == std::vector{2, 1, 4, 3, 5, 8, 6, 7}));
  json tonight = request_of("tonight");
  tonight["param_overrides"] = {{"favourite", "Western"}, {"since", 1950}};
  CHECK((ids_of(project.ask(tonight)) == std::vector{2, 1, 3, 5, 6, 7}));  // 6 is a western; 4 is of 1946, 8 of no year
  json surprise = request_of("surprise");
  const std::vector<int> today = ids_of(project.ask(surprise));
  CHECK((today == std::vector{2, 1, 3, 4, 5}));  // all that are good: a sample keeps their order
}

TEST_CASE("the pages of films have each once, with labels, and refuse a cursor of other params") {
  const films_project project;
  json request = request_of("pages");
  request["param_overrides"] = {{"page_size", 5}};
  const json first = project.ask(request);
  REQUIRE(first.contains("next_cursor"));
  CHECK(first.at("candidates")[0].at("fields").at("label") == "A Quiet Harbour, Drama");
  CHECK(first.at("candidates")[4].at("fields").at("label") == "Untold");
  request["cursor"] = first.at("next_cursor");
  const json second = project.ask(request);
  CHECK_FALSE(second.contains("next_cursor"));
  std::vector<int> all = ids_of(first);
  for (const int id : ids_of(second)) all.push_back(id);
  CHECK((all == std::vector{2, 4, 5, 1, 8, 6, 3, 7}));
  CHECK(second.at("candidates")[0].at("fields").at("label") == "The Long Way Round the Old Windmill");
  request.erase("param_overrides");
  const json refused = project.ask(request).at("error");
  CHECK(refused.at("code") == "foreign_cursor");
  CHECK(refused.at("pointer") == "/cursor");
}
