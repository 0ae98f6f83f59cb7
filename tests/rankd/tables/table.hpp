// tests/rankd/tables/table.hpp: tables of wrong documents, as data that any implementation of the rules can be held to.
#pragma once

#include <rankd/registry/file.hpp>

#include <braid/base/error.hpp>

#include <cstddef>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace rankd::testing {

/// A document that is wrong, and "code pointer node" of each diagnostic, in order.
struct table_case {
  std::string name;
  std::string document;
  std::vector<std::string> diagnostics;
};

inline auto with_number(std::string text, std::size_t number) -> std::string {
  for (const auto& [mark, value] : {std::pair<std::string_view, std::size_t>("<i>", number), {"<i-1>", number - 1}})
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark))
      text.replace(at, mark.size(), std::to_string(value));
  return text;
}

inline auto bytes_of_hex(const std::string& hex) -> std::string {
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    out += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return out;
}

inline auto repeated(const nlohmann::json& recipe) -> std::string {
  const std::string text = recipe["repeat"];
  const std::size_t first = recipe.value("from", std::size_t{0});
  const std::size_t times = recipe["times"];
  const std::string between = recipe.value("between", "");
  const bool numbered = text.find("<i") != std::string::npos;
  std::string out;
  for (std::size_t i = first; i < first + times; ++i)
    out += (i == first ? "" : between) + (numbered ? with_number(text, i) : text);
  return out;
}

/// A text as tables spell it: see tests/rankd/tables/README.md.
inline auto spelled_text(const nlohmann::json& text) -> std::string {
  if (text.is_string()) return text.get<std::string>();
  if (text.is_object()) return text.contains("hex") ? bytes_of_hex(text["hex"]) : repeated(text);
  std::string out;
  for (const nlohmann::json& piece : text) out += spelled_text(piece);
  return out;
}

inline auto document_of(const nlohmann::json& row, std::string base) -> std::string {
  if (row.contains("text")) return spelled_text(row["text"]);
  for (const nlohmann::json& edit : row.at("replace")) {
    const std::string from = edit[0];
    const std::size_t at = base.find(from);
    if (at == std::string::npos) throw std::runtime_error(row.dump() + ": the base has no such text");
    base.replace(at, from.size(), spelled_text(edit[1]));
  }
  return base;
}

/// A file of this folder.
inline auto table_file(const std::string& name) -> std::string {
  return read_text_file("tests/rankd/tables/" + name).value();
}

/// The cases of a table. `base` is the good document that they change.
inline auto read_table(const std::string& name, const std::string& base) -> std::vector<table_case> {
  const std::string text = table_file(name);
  std::vector<table_case> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    const auto row = nlohmann::json::parse(text.substr(at, end - at));
    table_case each{.name = row.at("case"), .document = document_of(row, base), .diagnostics = {}};
    for (const nlohmann::json& item : row.at("diagnostics")) {
      each.diagnostics.push_back(item.at("code").get<std::string>() + " " + spelled_text(item.at("pointer")));
      if (item.contains("node")) each.diagnostics.back() += " " + item["node"].get<std::string>();
    }
    out.push_back(std::move(each));
    at = end + 1;
  }
  return out;
}

/// "code pointer node" of each diagnostic, the node only where there is one.
inline auto spelled(const braid::diagnostics& problems) -> std::vector<std::string> {
  std::vector<std::string> out;
  for (const auto& item : problems)
    out.push_back(item.code + " " + item.pointer + (item.node.empty() ? "" : " " + item.node));
  return out;
}

/// The diagnostics, one a line.
inline auto joined(const std::vector<std::string>& diagnostics) -> std::string {
  std::string out;
  for (const std::string& each : diagnostics) out += "\n  " + each;
  return out;
}

/// Holds `found_in`, which spells the diagnostics about a document, to each case of a table, of which there are
/// `min_count` or more.
template <typename FoundIn>
void check_table(const std::string& name, const std::string& base, std::size_t min_count, FoundIn found_in) {
  const auto cases = read_table(name, base);
  CHECK(cases.size() >= min_count);
  std::set<std::string> names;
  for (const table_case& each : cases) {
    const auto found = found_in(each.document);
    CHECK_MESSAGE(found == each.diagnostics, each.name << " gave" << joined(found));
    CHECK_MESSAGE(!each.diagnostics.empty(), each.name);
    CHECK_MESSAGE(names.insert(each.name).second, each.name << " is there twice");
  }
}

}  // namespace rankd::testing
