// doctor/json_writer.hpp: writes JSON whose shape follows the calls.
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace braid::doctor {

/// One value, written from left to right. Bytes beyond ASCII become the character of the same number, so that the text
/// is always well-formed.
class json_writer {
 public:
  /// Writes what `fn` writes, as the members of an object or the items of an array.
  template <typename Fn>
  void object(Fn fn) {
    nested('{', '}', fn);
  }
  template <typename Fn>
  void array(Fn fn) {
    nested('[', ']', fn);
  }

  /// The name of the member that is written next.
  void name(std::string_view text) {
    string(text);
    text_ += ':';
    first_ = true;  // no comma before its value
  }

  void string(std::string_view text) {
    separate();
    text_ += '"';
    for (const char each : text) character(static_cast<unsigned char>(each));
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

  void character(unsigned char each) {
    if (each == '"' || each == '\\') {
      text_ += '\\';
      text_ += static_cast<char>(each);
    } else if (each < 0x20 || each > 0x7e) {
      std::array<char, 8> escaped{};
      std::snprintf(escaped.data(), escaped.size(), "\\u%04x", static_cast<unsigned>(each));
      text_ += escaped.data();
    } else {
      text_ += static_cast<char>(each);
    }
  }

  std::string text_;
  bool first_ = true;  // what comes next needs no comma before it
};

}  // namespace braid::doctor
