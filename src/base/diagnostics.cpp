// src/base/diagnostics.cpp: collects diagnostics, and suggests the known name that is nearest to a given name by edit
// distance.
#include <braid/base/error.hpp>

#include <algorithm>
#include <numeric>

namespace braid {
namespace {

/// Returns the Levenshtein distance of two texts. Computes the distance matrix row by row, and stores only one row.
auto edit_distance(std::string_view a, std::string_view b) -> std::size_t {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t above = row[j + 1];
      const std::size_t replace = diagonal + (a[i] == b[j] ? 0 : 1);
      row[j + 1] = std::min({above + 1, row[j] + 1, replace});
      diagonal = above;
    }
  }
  return row[b.size()];
}

auto format_line(const diagnostic& item) -> std::string {
  std::string line;
  if (!item.source.empty() || !item.pointer.empty()) line += item.source + "#" + item.pointer + ": ";
  if (!item.node.empty()) line += "node `" + item.node + "`: ";
  line += item.message + " [" + item.code + "]";
  if (!item.hint.empty()) line += "; " + item.hint;
  return line;
}

}  // namespace

void diagnostics::append(diagnostics others) {
  for (diagnostic& item : others.items_) add(std::move(item));
}

void diagnostics::set_source(std::string_view source) {
  for (diagnostic& item : items_)
    if (item.source.empty()) item.source = source;
}

void diagnostics::set_node(std::string_view node) {
  for (diagnostic& item : items_)
    if (item.node.empty()) item.node = node;
}

auto diagnostics::to_text() const -> std::string {
  std::string text;
  for (const diagnostic& item : items_) text += format_line(item) + "\n";
  return text;
}

auto json_pointer(std::string_view parent, std::string_view token) -> std::string {
  std::string out(parent);
  out += '/';
  for (const char c : token) {
    if (c == '~')
      out += "~0";
    else if (c == '/')
      out += "~1";
    else
      out += c;
  }
  return out;
}

auto json_pointer(std::string_view parent, std::size_t index) -> std::string {
  return std::string(parent) + "/" + std::to_string(index);
}

auto did_you_mean(std::string_view name, const std::vector<std::string_view>& known) -> std::string {
  constexpr std::size_t max_length = 64;  // a longer name is not a typing error
  if (name.empty() || name.size() > max_length) return {};
  std::string_view best;
  std::size_t best_distance = std::min<std::size_t>(3, name.size() / 2 + 1) + 1;
  for (const std::string_view candidate : known) {
    if (candidate.size() > max_length) continue;
    const std::size_t distance = edit_distance(name, candidate);
    const bool keeps_something = distance < std::max(name.size(), candidate.size());
    if (keeps_something && distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  if (best.empty()) return {};
  return "did you mean `" + std::string(best) + "`?";
}

}  // namespace braid
