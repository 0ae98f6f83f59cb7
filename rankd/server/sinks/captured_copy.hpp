// rankd/server/sinks/captured_copy.hpp: a copy of captured rows that outlives the request, stored as columns of bytes.
#pragma once

#include <rankd/engine/captured_rows.hpp>
#include <rankd/server/sinks/captured_lines.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rankd {

/// A column of a capture file.
struct captured_key {
  enum class type : std::uint8_t { integer, floating, boolean, text, bytes, vector };

  std::uint32_t key_id = 0;
  std::string name;
  type holds = type::integer;
  std::uint32_t dimensions = 0;  ///< the dimensions of a vector

  auto operator==(const captured_key&) const -> bool = default;
};

/// The values of one column. Some of the values may be null.
struct captured_column {
  captured_key key;
  std::string values;  ///< 8 bytes for a number, 1 for a bool, 4 for each number of a vector, or the text itself
  std::vector<std::uint32_t> ends;  ///< the end of each text in `values`
  std::vector<bool> present;        ///< whether each value is present; empty: all values are
};

/// The data for a `capture_line`, copied so that it does not depend on the request.
struct captured_copy {
  std::chrono::milliseconds time{0};  ///< since 1970
  std::optional<std::string> request_id;
  std::string plan;
  std::string plan_digest;
  std::string node;
  std::string side;
  std::string source;  ///< empty means absent, also for the texts below
  std::string state;
  std::string code;
  std::string used;
  std::string fused_with;
  bool has_rows = false;
  std::size_t rows = 0;
  std::uint64_t cut = 0;
  std::vector<captured_column> columns;  ///< ascending by key id; empty without rows

  /// Returns the approximate number of bytes that the rows occupy in a file.
  [[nodiscard]] auto bytes() const -> std::size_t;
};

/// Copies captured rows. A column with a text that is not UTF-8 gets the type bytes.
[[nodiscard]] auto make_copy(const line_origin& origin, const captured_rows& rows) -> captured_copy;

}  // namespace rankd
