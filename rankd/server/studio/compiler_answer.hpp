// rankd/server/studio/compiler_answer.hpp: an answer of the plan compiler: one line with a JSON object, split into
// members with their original texts.
#pragma once

#include <braid/base/error.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd {

/// A JSON object that the compiler wrote. It is not stored as a tree of values, because the destructor of such a tree
/// allocates memory.
class compiler_answer {
 public:
  /// Parses a line. Returns nothing if the line is not a JSON object.
  static auto parse(std::string_view line) -> std::optional<compiler_answer>;

  /// Returns the value of a member as it is written. Returns an empty text if there is no such member. Lifetime: the
  /// answer outlives the result.
  [[nodiscard]] auto find(std::string_view name) const noexcept -> std::string_view;
  /// Returns the value of a member that is a string. Returns nothing if there is no such member.
  [[nodiscard]] auto text(std::string_view name) const -> std::optional<std::string>;
  void erase(std::string_view name);
  /// Appends diagnostics to those of the answer. The appended diagnostics have no position in the source.
  void add_diagnostics(const braid::diagnostics& problems);
  /// Returns the object as a line, with a line feed.
  [[nodiscard]] auto line() const -> std::string;

 private:
  /// The members: names without quotes, and values as they are written.
  std::vector<std::pair<std::string, std::string>> members_;
};

/// Returns diagnostics as the compiler writes them. They have no position in the source.
auto unplaced_json(const braid::diagnostics& problems) -> std::string;

/// Returns JSON with all characters beyond ASCII escaped, because programs that read lines may treat some of these
/// characters as line ends.
auto as_ascii(std::string_view json) -> std::string;

}  // namespace rankd
