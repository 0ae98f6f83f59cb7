// rankd/cli/output/table.hpp: columns of text for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rankd {

/// Rows of cells, printed with columns as wide as their widest cell.
class text_table {
 public:
  enum class align : std::uint8_t { left, right };
  struct head {
    std::string title;
    align side = align::left;
  };

  explicit text_table(std::vector<head> columns) : columns_(std::move(columns)) {}

  /// Requires one cell for each column. Characters that would not show as themselves are escaped, as by `printable`.
  void add(std::vector<std::string> cells);

  /// Returns a line for the titles, a rule, and one for each row.
  [[nodiscard]] auto to_text() const -> std::string;

 private:
  std::vector<head> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace rankd
