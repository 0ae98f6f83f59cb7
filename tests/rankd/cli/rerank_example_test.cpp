// tests/rankd/cli/rerank_example_test.cpp: the project of examples/rerank, which docs/rankd.md shows, answers as the
// page says; by rank, batch and bench, in both spellings of candidates.
#include <rankd/cli/commands/commands.hpp>

#include <rankd/registry/file.hpp>
#include <tests/rankd/cli/run_rankd.hpp>
#include <tests/rankd/cli/run_serve.hpp>
#include <tests/support/http_caller.hpp>
#include <tests/support/scratch_folder.hpp>

#include <filesystem>
#include <string>
#include <string_view>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd::testing;
using braid::testing::process_end;
using nlohmann::json;

namespace {

namespace fs = std::filesystem;

class rerank_project : public braid::testing::scratch_folder {
 public:
  rerank_project() { fs::copy("examples/rerank", path(), fs::copy_options::recursive); }
};

auto example(const std::string& file) -> std::string {
  return rankd::read_text_file("examples/rerank/" + file).value();
}

}  // namespace

TEST_CASE("the example ranks the rows of its request, without any store") {
  const rerank_project project;
  const process_end done = rankd_in(project.path(), {"rank"}, example("request.json"));
  CHECK(done.status == 0);
  CHECK(json::parse(done.out) == json::parse(example("answer.json")));
}

TEST_CASE("rows have the answer of columns, by rank and by batch") {
  const rerank_project project;
  const std::string rows =
      R"({"plan":"rerank","request_id":"search 7","output_keys":["score"],"candidates":[{"id":17,"price":9.5,)"
      R"("rating":4.5},{"id":23,"price":4},{"id":42,"price":30,"rating":5}]})";
  const json expected = json::parse(example("answer.json")).at("candidates");
  CHECK(json::parse(rankd_in(project.path(), {"rank"}, rows).out).at("candidates") == expected);
  const process_end lines = rankd_in(project.path(), {"batch"}, rows + "\n" + R"({"plan":"rerank"})" + "\n");
  CHECK(lines.status == 1);
  const std::size_t end = lines.out.find('\n');
  CHECK(json::parse(lines.out.substr(0, end)).at("candidates") == expected);
  const json refused = json::parse(lines.out.substr(end)).at("error");
  CHECK(refused.at("code") == "missing_field");
  CHECK(refused.at("request_id") == "line_2");
  CHECK(has(refused.at("message"), "id, price, rating"));
}

TEST_CASE("a wrong candidate is an error with its place, for programs and for people") {
  const rerank_project project;
  const std::string wrong = R"({"plan":"rerank","candidates":[{"id":1,"price":"cheap"}]})";
  const process_end done = rankd_in(project.path(), {"rank"}, wrong);
  CHECK(done.status == 1);
  const json error = json::parse(done.out).at("error");
  CHECK(error.at("code") == "wrong_type");
  CHECK(error.at("pointer") == "/candidates/0/price");
  CHECK(has(rankd_in(project.path(), {"rank", "--table"}, wrong).err, "must be a number, not a string"));
  const std::string misspelt = R"({"plan":"rerank","candidates":{"id":[1],"prise":[1]}})";
  CHECK(has(rankd_in(project.path(), {"rank"}, misspelt).out, "did you mean `price`?"));
}

TEST_CASE("a server gives the bytes of the command line, and 400 for what the plan does not find in a request") {
  const rerank_project project;
  const running_server server(project.path());
  const auto asked = [&server](std::string_view body) {
    auto caller = server.caller();
    caller.say(braid::testing::request_text("POST", "/v1/rank", "Content-Type: application/json\r\n", body));
    return caller.hear().value();
  };
  const std::string request = example("request.json");
  CHECK(asked(request).body == rankd_in(project.path(), {"rank"}, request).out);
  const auto refused = asked(R"({"plan":"rerank","candidates":{"id":[1]}})");
  CHECK(refused.status == 400);
  CHECK(json::parse(refused.body).at("error").at("pointer") == "/candidates");
}

TEST_CASE("bench takes requests with candidates") {
  const rerank_project project;
  project.write("requests.ndjson", R"({"candidates":{"id":[1,2],"price":[1,2]}})"
                                   "\n");
  const process_end done = rankd_in(project.path(), {"bench", "--plan", "rerank", "--requests", "requests.ndjson",
                                                     "--clients", "1", "--duration-ms", "50", "--json"});
  CHECK(done.status == 0);
  CHECK(json::parse(done.out).at("runs")[0].at("failed") == 0);
}
