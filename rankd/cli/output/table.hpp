// rankd/cli/output/table.hpp: tables of text for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rankd {

/// A table of text. Each column is as wide as its widest cell.
class text_table {
 public:
  enum class align : std::uint8_t { left, right };
  struct head {
    std::string title;
    align side = align::left;
  };

  explicit text_table(std::vector<head> columns) : columns_(std::move(columns)) {}

  /// Adds a row. Requires one cell for each column. Escapes unprintable characters by `printable`.
  void add(std::vector<std::string> cells);

  /// Returns the table as text: a line with the titles, a horizontal rule, and a line for each row.
  [[nodiscard]] auto to_text() const -> std::string;

 private:
  std::vector<head> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace rankd
