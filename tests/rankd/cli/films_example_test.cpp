// tests/rankd/cli/films_example_test.cpp: the project of examples/films, which docs/films.md shows, on made-up films:
// of requests, of the embedded store and of Redis.
#include <rankd/cli/commands/commands.hpp>

#include <rankd/registry/file.hpp>
#include <tests/rankd/cli/run_rankd.hpp>
#include <tests/support/redis_server.hpp>
#include <tests/support/scratch_folder.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd::testing;
using braid::testing::process_end;
using braid::testing::redis_server;
using nlohmann::json;

namespace {

namespace fs = std::filesystem;

auto list_lines(const std::string& text) -> std::vector<std::string> {
  std::vector<std::string> all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) all.push_back(line);
  return all;
}

class films_project : public braid::testing::scratch_folder {
 public:
  films_project() { fs::copy("examples/films", path(), fs::copy_options::recursive); }

  [[nodiscard]] auto ask(const json& request) const -> json {
    const process_end done = rankd_in(path(), {"rank"}, request.dump());
    return json::parse(done.out);
  }

  /// The lines that a batch answers to those of `requests`.
  [[nodiscard]] auto answers(const std::string& requests) const -> std::vector<std::string> {
    const process_end done = rankd_in(path(), {"batch"}, requests);
    CHECK(done.status == 0);
    return list_lines(done.out);
  }

  /// Loads the films of the project into `server`, and has the plans read them there, as in production.
  void move_to(const redis_server& server) const {
    const std::string port = std::to_string(server.port());
    REQUIRE(rankd_in(path(), {"load", "--store", "redis://127.0.0.1:" + port}).status == 0);
    replace("rankd.toml", "\"dev\"", "\"prod\"");
    replace("registry/endpoints.prod.toml", "6390 }",
            port + " }\npolicy = { connect_timeout_ms = 20000, request_timeout_ms = 20000 }");
  }

 private:
  void replace(const std::string& file, std::string_view from, std::string_view to) const {
    std::string text = rankd::read_text_file(path() / file).value();
    REQUIRE(text.find(from) != std::string::npos);
    write(file, text.replace(text.find(from), from.size(), to));
  }
};

auto stored_requests() -> std::string { return rankd::read_text_file("examples/films/stored.ndjson").value(); }

/// As many films as there are in movies.json, some of them with equal scores, with odd titles, or without a field.
auto many_films() -> std::string {
  const std::vector<std::string> genres{"Drama", "Western", "Comedy", "Documentary", "Thriller/Suspense"};
  const std::vector<std::string> titles{"Am\u00e9lie ", "\"Crocodile\" Dundee ", "\u4e03\u4eba\u306e\u4f8d ", "17",
                                        "The Long Way Round the Old Windmill "};
  constexpr int count = 3'201;
  json ids = json::array();
  std::string hashes;
  std::uint32_t drawn = 1;
  const auto below = [&drawn](std::uint32_t end) {
    drawn = drawn * 1'664'525U + 1'013'904'223U;
    return (drawn >> 16U) % end;
  };
  for (int id = 1; id <= count; ++id) {
    ids.push_back(id);
    json fields = json::object();
    if (below(9) != 0) fields["votes"] = std::to_string(below(40) * 5'000);
    if (below(20) != 0) fields["title"] = titles[below(5)] + std::to_string(below(2'000));
    if (below(12) != 0) fields["genre"] = genres[below(5)];
    if (below(15) != 0) fields["rating"] = std::to_string(1 + below(9)) + "." + std::to_string(below(10));
    if (below(10) != 0) fields["year"] = std::to_string(1920 + below(91));
    hashes += json({{"hash", "film:" + std::to_string(id)}, {"fields", fields}}).dump() + "\n";
  }
  return json({{"list", "films"}, {"values", ids}}).dump() + "\n" + hashes;
}

/// Without the cursor of the next page, which holds the time at which it was made.
auto without_cursor(const std::string& answer) -> std::string {
  const std::size_t begin = answer.find(",\"next_cursor\":\"");
  return begin == std::string::npos ? answer : answer.substr(0, begin);
}

void check_same(const std::vector<std::string>& answers, const std::vector<std::string>& expected) {
  REQUIRE(answers.size() == expected.size());
  for (std::size_t i = 0; i < answers.size(); ++i) CHECK(without_cursor(answers[i]) == without_cursor(expected[i]));
}

auto candidates_in(const std::string& answer) -> std::size_t { return json::parse(answer).at("candidates").size(); }

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

TEST_CASE("every plan ranks the films of the store as it ranks those that the request carries") {
  const films_project project;
  std::set<std::string> asked;
  for (const std::string& line : list_lines(stored_requests())) {
    CAPTURE(line);
    const json stored = json::parse(line);
    asked.insert(stored.at("plan").get<std::string>());
    json carried = request_of(stored.at("plan"));
    carried["param_overrides"] = stored.at("param_overrides");
    carried["param_overrides"].erase("stored");
    const json answer = project.ask(carried);
    CHECK(answer.at("candidates").size() >= 5);
    CHECK(answer.at("candidates") == project.ask(stored).at("candidates"));
  }
  std::set<std::string> plans;
  for (const auto& file : fs::directory_iterator("examples/films/plans"))
    if (file.path().extension() == ".json" && file.path().stem() != "index") plans.insert(file.path().stem().string());
  CHECK(asked == plans);
}

TEST_CASE("every plan of the films has the same bytes from the embedded store and from Redis, page by page") {
  const films_project embedded;
  const films_project remote;
  for (const films_project* each : {&embedded, &remote}) each->write("data/films.ndjson", many_films());
  const redis_server server;
  remote.move_to(server);
  const std::vector<std::string> expected = embedded.answers(stored_requests());
  REQUIRE(expected.size() == 10);
  for (const std::string& each : expected) CHECK(candidates_in(each) >= 5);
  check_same(remote.answers(stored_requests()), expected);
  CHECK_FALSE(fs::exists(remote.path() / "build/store"));  // what answered was Redis

  json page{{"plan", "pages"}, {"param_overrides", {{"stored", true}, {"page_size", 100}}}};
  for (int number = 1; number <= 3; ++number) {
    CAPTURE(number);
    const std::vector<std::string> here = embedded.answers(page.dump());
    REQUIRE(here.size() == 1);
    CHECK(candidates_in(here[0]) == 100);
    check_same(remote.answers(page.dump()), here);
    page["cursor"] = json::parse(here[0]).at("next_cursor");
  }
}
