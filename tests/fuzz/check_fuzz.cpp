// tests/fuzz/check_fuzz.cpp: any lines as messages to `rankd check --stdin`: each gets one answer, and none ends it.
#include <tests/fuzz/diagnostics.hpp>
#include <tests/fuzz/target.hpp>

#include <rankd/cli/check_session.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

using namespace rankd;
using nlohmann::json;

namespace {

constexpr std::array<std::string_view, 34> words{"\n",
                                                 "{\"id\":1,",
                                                 "\"id\":\"a\"",
                                                 "\"do\":\"plan\"",
                                                 "\"do\":\"tests\"",
                                                 "\"do\":\"diff\"",
                                                 "\"do\":\"open\"",
                                                 "\"project\":\"nowhere\"",
                                                 "\"artifact\":\"@\"",
                                                 "\"artifact\":\"{@}\"",
                                                 "\"file\":\"tests/rankd/tables/good_plan.json\"",
                                                 "\"file\":\"tests/rankd/tables/good_caches.json\"",
                                                 "\"file\":\"rankd.toml\"",
                                                 "\"file\":\"tests\"",
                                                 "\"name\":\"t\"",
                                                 "\"normalized\":true",
                                                 "\"before\":{@}",
                                                 "\"after\":{@}",
                                                 "\\\"schema_version\\\":1",
                                                 "\\\"plan_name\\\":\\\"t\\\"",
                                                 "\\\"nodes\\\":[@]",
                                                 "\\\"node_id\\\":\\\"a\\\"",
                                                 "\\\"op\\\":\\\"test::fixed_source\\\"",
                                                 "\\\"inputs\\\":[@]",
                                                 "\\\"outputs\\\":[\\\"a\\\"]",
                                                 "\\\"tests_of\\\":\\\"t\\\"",
                                                 "\\\"tests\\\":[@]",
                                                 "\\\"request\\\":{@}",
                                                 "\\\"expect\\\":[@]",
                                                 "\\\"kind\\\":\\\"count\\\"",
                                                 "\\ud800",
                                                 "null",
                                                 "[",
                                                 "}"};

/// A message that is always right, and its answer before any other message.
constexpr std::string_view sane = R"({"id":0,"do":"plan","file":"tests/rankd/tables/good_caches.json"})";
constexpr std::string_view open_world = R"({"id":0,"do":"open","project":"."})";

void expect_answer(std::string_view message, const std::string& answer) {
  BRAID_EXPECTS(answer.find('\n') == std::string::npos, "an answer is one line");
  const json document = json::parse(answer, nullptr, false);
  BRAID_EXPECTS(document.is_object() && document.contains("id"), "an answer is an object with an id");
  const bool is_error = document.contains("error");
  const bool is_list = document.contains("diagnostics") || document.contains("before");
  BRAID_EXPECTS(is_error != is_list, "an answer is an error, or it lists diagnostics");
  BRAID_EXPECTS(!is_error || !document["error"].empty(), "an error says what is wrong");
  for (const char* const list : {"diagnostics", "warnings", "before", "after", "error"})
    BRAID_EXPECTS(!document.contains(list) || document[list].size() <= braid::diagnostics::max_items,
                  "lists are bounded");
  const json asked = json::parse(message, nullptr, false);
  const bool has_id = asked.is_object() && asked.contains("id") && asked["id"].is_number_integer();
  BRAID_EXPECTS(is_error || !has_id || document["id"] == asked["id"], "the id is repeated");
}

void run(std::string_view input) {
  static check_session session;
  static const std::string opened = session.answer(open_world);
  static const std::string before = session.answer(sane);
  BRAID_EXPECTS(opened.find("\"diagnostics\":[]") != std::string::npos, "the repository is a project");
  bool is_open = true;
  while (!input.empty()) {
    const std::string_view line = input.substr(0, input.find('\n'));
    input.remove_prefix(std::min(input.size(), line.size() + 1));
    const std::string answer = session.answer(line);
    expect_answer(line, answer);
    is_open = is_open && line.find("open") == std::string_view::npos;
  }
  if (!is_open) BRAID_EXPECTS(session.answer(open_world) == opened, "a project can be opened again");
  BRAID_EXPECTS(session.answer(sane) == before, "an answer does not depend on earlier messages");
}

}  // namespace

const braid::testing::fuzz_target braid::testing::target{.run = &run, .words = words};
