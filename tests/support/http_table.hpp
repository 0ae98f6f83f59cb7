// tests/support/http_table.hpp: the tables of messages that somebody sends to do harm: tests/net/http_*abuse.txt.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace braid::testing {

struct http_row {
  std::vector<std::string> columns;  // all but the last
  std::string bytes;

  [[nodiscard]] auto name() const -> const std::string& { return columns.back(); }
};

namespace detail {

[[noreturn]] inline void bad_row(std::string_view line) {
  std::fprintf(stderr, "this row cannot be read: %.*s\n", static_cast<int>(line.size()), line.data());
  std::abort();
}

inline auto escaped(std::string_view text, std::size_t& at) -> char {
  switch (text.at(at++)) {
    case 'r': return '\r';
    case 'n': return '\n';
    case 't': return '\t';
    case 's': return ' ';
    case '0': return '\0';
    case '\\': return '\\';
    case 'x': at += 2; return static_cast<char>(std::stoi(std::string(text.substr(at - 2, 2)), nullptr, 16));
    default: bad_row(text);
  }
}

/// Where the brace closes that `text` begins with.
inline auto closing_brace(std::string_view text) -> std::size_t {
  int open = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    open += text[at] == '{' ? 1 : 0;
    if (text[at] == '}' && --open == 0) return at;
  }
  bad_row(text);
}

inline auto bytes_of_row(std::string_view text) -> std::string {
  constexpr std::string_view line_end = "¶";
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    const std::size_t star = rest.find('*');
    const bool repeats = rest.size() > 1 && rest[0] == '{' && rest[1] >= '0' && rest[1] <= '9';
    if (rest.starts_with(line_end)) {
      out += "\r\n";
      at += line_end.size();
    } else if (repeats) {
      const std::size_t end = closing_brace(rest);
      const std::string part = bytes_of_row(rest.substr(star + 1, end - star - 1));
      for (int left = std::stoi(std::string(rest.substr(1))); left > 0; --left) out += part;
      at += end + 1;
    } else if (rest[0] == '\\') {
      out += escaped(text, ++at);
    } else {
      out += text[at++];
    }
  }
  return out;
}

}  // namespace detail

/// The rows of a table whose last column are bytes and which has `columns` before them.
inline auto http_table(const char* path, std::size_t columns) -> std::vector<http_row> {
  std::vector<http_row> out;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    http_row row;
    std::string_view rest = line;
    while (row.columns.size() < columns) {
      const std::size_t bar = rest.find(" | ");
      if (bar == std::string_view::npos) detail::bad_row(line);
      row.columns.emplace_back(rest.substr(0, bar));
      rest.remove_prefix(bar + 3);
    }
    row.bytes = detail::bytes_of_row(rest);
    out.push_back(std::move(row));
  }
  return out;
}

/// `bytes` in two pieces at every place, at every 97th where they are many; then one by one, and at once.
template <typename Fn>
void for_every_split(std::string_view bytes, Fn&& with_pieces) {
  const std::size_t step = bytes.size() > 2'000 ? 97 : 1;
  for (std::size_t at = 1; at < bytes.size(); at += step)
    with_pieces(std::vector{bytes.substr(0, at), bytes.substr(at)});
  std::vector<std::string_view> single;
  for (std::size_t at = 0; at < bytes.size(); ++at) single.push_back(bytes.substr(at, 1));
  if (bytes.size() < 100'000) with_pieces(single);
  with_pieces(std::vector{bytes});
}

}  // namespace braid::testing
