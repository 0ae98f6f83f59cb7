// doctor/json_writer.hpp: writes JSON text directly, without building a tree of values first.
#pragma once

#include <doctor/escape.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace braid::doctor {

/// A writer of one JSON value in UTF-8. An invalid byte becomes U+FFFD, so that the text is always well-formed.
class json_writer {
 public:
  /// Writes an object or an array. `fn` writes the members or items.
  template <typename Fn>
  void object(Fn fn) {
    nested('{', '}', fn);
  }
  template <typename Fn>
  void array(Fn fn) {
    nested('[', ']', fn);
  }

  /// Writes the name of the next member of an object.
  void name(std::string_view text) {
    string(text);
    text_ += ':';
    first_ = true;  // no comma before its value
  }

  void string(std::string_view text) {
    separate();
    text_ += '"';
    for (std::size_t length = 0; !text.empty(); text.remove_prefix(std::max<std::size_t>(length, 1))) {
      length = utf8_length(text);
      character(text.substr(0, length));
    }
    text_ += '"';
  }

  template <typename Number>
    requires std::integral<Number> || std::floating_point<Number>
  void number(Number value) {
    separate();
    std::array<char, 32> digits{};
    text_.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
  }

  void null() {
    separate();
    text_ += "null";
  }

  void member(std::string_view key, std::string_view value) {
    name(key);
    string(value);
  }

  [[nodiscard]] auto take() -> std::string { return std::move(text_); }

 private:
  template <typename Fn>
  void nested(char open, char close, Fn& fn) {
    separate();
    text_ += open;
    first_ = true;
    fn();
    text_ += close;
    first_ = false;
  }

  void separate() {
    if (!first_) text_ += ',';
    first_ = false;
  }

  /// Appends a character. The argument contains the character in UTF-8, or is empty for an invalid byte.
  void character(std::string_view each) {
    const unsigned char first = each.empty() ? 0 : static_cast<unsigned char>(each.front());
    if (each.empty()) {
      text_ += "\xEF\xBF\xBD";
    } else if (first == '"' || first == '\\') {
      text_ += '\\';
      text_ += each;
    } else if (first < 0x20 || first == 0x7f) {
      std::array<char, 8> code{};
      std::snprintf(code.data(), code.size(), "\\u%04x", static_cast<unsigned>(first));
      text_ += code.data();
    } else {
      text_ += each;
    }
  }

  std::string text_;
  bool first_ = true;  // the next item needs no comma before it
};

}  // namespace braid::doctor
