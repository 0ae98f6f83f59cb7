// tests/fuzz/diagnostics.hpp: what every list of diagnostics promises, whatever the input was.
#pragma once

#include <rankd/engine/ranking.hpp>
#include <rankd/plan/json.hpp>
#include <rankd/registry/names.hpp>

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace rankd::testing {

/// A JSON pointer by its grammar (RFC 6901).
inline auto is_pointer(std::string_view text) -> bool {
  if (!text.empty() && text.front() != '/') return false;
  for (std::size_t at = text.find('~'); at != std::string_view::npos; at = text.find('~', at + 1))
    if (at + 1 == text.size() || (text[at + 1] != '0' && text[at + 1] != '1')) return false;
  return true;
}

/// Ends the program unless every diagnostic has a code, a sentence and a pointer, all of them can be printed, and there
/// are no more of them than a person can use.
inline void expect_sound(const braid::diagnostics& problems) {
  constexpr std::size_t max_count = 1'000;
  constexpr std::size_t max_message = 2'000;
  BRAID_EXPECTS(!problems.empty(), "what is refused is complained about");
  BRAID_EXPECTS(problems.size() <= max_count, "the number of diagnostics is bounded");
  for (const braid::diagnostic& item : problems) {
    const bool coded = std::ranges::all_of(
        item.code, [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
    BRAID_EXPECTS(!item.code.empty() && coded, "a code is a word of small letters");
    BRAID_EXPECTS(!item.message.empty() && item.message.size() <= max_message, "a message is a sentence");
    BRAID_EXPECTS(is_pointer(item.pointer), "a pointer keeps to its grammar");
    for (const std::string* text : {&item.pointer, &item.message, &item.hint, &item.node})
      BRAID_EXPECTS(is_utf8(*text), "what is printed is UTF-8");
  }
  BRAID_EXPECTS(parse_json(diagnostics_json(problems), "diagnostics"), "diagnostics are printed as JSON");
}

/// Ends the program unless each pointer leads to something in the document that was complained about, or to a place in
/// it where something is missing.
inline void expect_locations(const braid::diagnostics& problems, const nlohmann::json& document) {
  for (const braid::diagnostic& item : problems) {
    const nlohmann::json::json_pointer place(item.pointer);
    BRAID_EXPECTS(document.contains(place) || document.contains(place.parent_pointer()), "a pointer leads somewhere");
  }
}

/// True where both lists say the same of the same places.
inline auto same_diagnostics(const braid::diagnostics& a, const braid::diagnostics& b) -> bool {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
    return x.code == y.code && x.pointer == y.pointer && x.node == y.node;
  });
}

}  // namespace rankd::testing
