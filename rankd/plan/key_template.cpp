// rankd/plan/key_template.cpp: parses templates of keys, and escapes values.
#include <rankd/plan/key_template.hpp>

#include <rankd/registry/names.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace rankd {
namespace {

using problem = std::unexpected<template_problem>;

auto refuse(std::string code, std::string message, std::string hint = {}) -> problem {
  return problem({std::move(code), std::move(message), std::move(hint)});
}

/// Returns whether a character stays unescaped in a key.
constexpr auto is_plain(char c) noexcept -> bool {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

/// Returns whether `text` contains a character that cannot occur in an escaped value. Such a character marks the end of
/// an escaped value that precedes `text` in a key.
auto ends_value(std::string_view text) -> bool {
  return std::ranges::any_of(text, [](char c) { return !is_plain(c) && c != '%'; });
}

auto place(std::size_t offset) -> std::string { return " at character " + std::to_string(offset + 1); }

/// Parses the text between the braces of a hole.
auto parse_hole(std::string_view inside) -> std::expected<template_hole, template_problem> {
  constexpr std::string_view param_mark = "P.";
  template_hole hole;
  std::string_view name = inside;
  if (name.starts_with(param_mark)) {
    hole.from = template_hole::source_kind::param;
    name.remove_prefix(param_mark.size());
  }
  if (!is_identifier(name))
    return refuse("bad_hole", "{" + std::string(inside.substr(0, 100)) + "} names neither a key nor a param",
                  "write {NAME} for a column and {P.NAME} for a param; write braces of the key itself twice");
  hole.name = name;
  return hole;
}

/// Parses a template piece by piece.
class template_parser {
 public:
  explicit template_parser(std::string_view text) : text_(text) {}

  auto parse() -> std::expected<key_template, template_problem> {
    out_.literals.emplace_back();
    while (position_ < text_.size())
      if (auto wrong = take()) return problem(std::move(*wrong));
    return std::move(out_);
  }

 private:
  auto take() -> std::optional<template_problem> {
    const char c = text_[position_];
    if (c != '{' && c != '}') {
      out_.literals.back() += c;
      ++position_;
      return std::nullopt;
    }
    if (text_.substr(position_ + 1).starts_with(c)) {
      out_.literals.back() += c;
      position_ += 2;
      return std::nullopt;
    }
    if (c == '{') return take_hole();
    return unbalanced("`}`" + place(position_) + " closes no `{`");
  }

  auto take_hole() -> std::optional<template_problem> {
    const std::size_t end = text_.find('}', position_);
    const std::size_t next = text_.find('{', position_ + 1);
    if (end == std::string_view::npos || next < end) return unbalanced("`{`" + place(position_) + " is not closed");
    auto hole = parse_hole(text_.substr(position_ + 1, end - position_ - 1));
    if (!hole) return std::move(hole.error());
    if (!out_.holes.empty() && !ends_value(out_.literals.back()))
      return template_problem{"ambiguous_key_template",
                              "the holes {" + spelled(out_.holes.back()) + "} and {" + spelled(*hole) +
                                  "} are not separated, so different values could produce the same key",
                              "put a character such as `:` between them, other than letters, digits, `_.-%`"};
    out_.holes.push_back(std::move(*hole));
    out_.literals.emplace_back();
    position_ = end + 1;
    return std::nullopt;
  }

  static auto spelled(const template_hole& hole) -> std::string {
    return (hole.from == template_hole::source_kind::param ? "P." : "") + hole.name;
  }

  static auto unbalanced(std::string message) -> template_problem {
    return {"unbalanced_brace", std::move(message), "write braces of the key itself twice: `{{` and `}}`"};
  }

  std::string_view text_;
  std::size_t position_ = 0;
  key_template out_;
};

}  // namespace

auto key_template::parse(std::string_view text) -> std::expected<key_template, template_problem> {
  if (text.empty()) return refuse("empty_key_template", "the key is empty");
  if (text.size() > max_bytes)
    return refuse("key_template_too_long", "the key has " + std::to_string(text.size()) + " bytes; at most " +
                                               std::to_string(max_bytes) + " are allowed");
  return template_parser(text).parse();
}

void append_escaped(std::string& out, std::string_view value) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  for (const char c : value) {
    if (is_plain(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += digits[byte >> 4U];
    out += digits[byte & 0xfU];
  }
}

}  // namespace rankd
