// tests/rankd/cli/event_labels_test.cpp: wrong files of labels, and the diagnostics about them with their sentences.
#include <rankd/cli/commands/event_labels.hpp>

#include <tests/rankd/tables/table.hpp>
#include <tests/support/scratch_folder.hpp>

#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using namespace rankd::testing;

namespace {

auto problems_of(const std::string& text) -> braid::diagnostics {
  const braid::testing::scratch_folder folder;
  folder.write("labels.toml", text);
  auto read = load_labels(folder.path() / "labels.toml");
  if (read) return {};
  for (const braid::diagnostic& each : read.error()) CHECK(each.source.ends_with("labels.toml"));
  return read.error();
}

auto labels_found_in(const std::string& text) -> std::vector<std::string> { return spelled(problems_of(text)); }

}  // namespace

TEST_CASE("the labels that the table changes are right") {
  CHECK(joined(labels_found_in(table_file("good_labels.toml"))).empty());
}

TEST_CASE("each wrong file of labels of the table gets its diagnostics and no others") {
  check_table("bad_labels.ndjson", table_file("good_labels.toml"), 27, labels_found_in);
}

TEST_CASE("the sentence of each diagnostic about labels says what is wrong") {
  const std::string base = table_file("good_labels.toml");
  const std::string table = table_file("bad_labels.ndjson");
  for (std::size_t at = 0; at < table.size(); at = table.find('\n', at) + 1) {
    const auto row = nlohmann::json::parse(table.substr(at, table.find('\n', at) - at));
    const braid::diagnostics found = problems_of(document_of(row, base));
    std::size_t number = 0;
    for (const braid::diagnostic& each : found) {
      const std::string part = row.at("diagnostics").at(number++).at("message");
      CHECK_MESSAGE(each.message.contains(part), row.at("case").get<std::string>() << " gave: " << each.message);
    }
  }
}
