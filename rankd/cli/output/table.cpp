// rankd/cli/output/table.cpp: computes the widths of columns, and pads cells.
#include <rankd/cli/output/table.hpp>

#include <rankd/cli/output/printable.hpp>

#include <braid/base/config.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

namespace rankd {
namespace {

void append_padded(std::string& out, std::string_view cell, std::size_t width, text_table::align side) {
  const std::string padding(width - display_width(cell), ' ');
  if (side == text_table::align::right) out += padding;
  out += cell;
  if (side == text_table::align::left) out += padding;
}

void end_line(std::string& out) {
  out.erase(out.find_last_not_of(' ') + 1);
  out += '\n';
}

}  // namespace

void text_table::add(std::vector<std::string> cells) {
  BRAID_EXPECTS(cells.size() == columns_.size(), "a row must have one cell for each column");
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

auto text_table::to_text() const -> std::string {
  constexpr std::string_view gap = "  ";
  std::vector<std::size_t> widths;
  for (std::size_t at = 0; at < columns_.size(); ++at) {
    std::size_t width = display_width(columns_[at].title);
    for (const auto& row : rows_) width = std::max(width, display_width(row[at]));
    widths.push_back(width);
  }

  std::string out;
  const auto add_line = [&](const auto& cell_at) {
    for (std::size_t at = 0; at < columns_.size(); ++at) {
      if (at != 0) out += gap;
      append_padded(out, cell_at(at), widths[at], columns_[at].side);
    }
    end_line(out);
  };
  add_line([this](std::size_t index) -> const std::string& { return columns_[index].title; });
  add_line([&widths](std::size_t index) { return std::string(widths[index], '-'); });
  for (const auto& row : rows_) add_line([&row](std::size_t index) -> const std::string& { return row[index]; });
  return out;
}

}  // namespace rankd
