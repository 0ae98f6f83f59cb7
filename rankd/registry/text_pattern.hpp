// rankd/registry/text_pattern.hpp: regular expressions that match in linear time (RE2). Their length and memory are
// limited.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}

namespace rankd {

enum class letter_case : std::uint8_t { exact, ignored };

/// A pattern in the syntax of RE2. The pattern matches a text if it matches any part of the text. Texts may contain any
/// bytes.
/// Threads: any, once made.
class text_pattern {
 public:
  static constexpr std::size_t max_bytes = 4096;          ///< bytes of a pattern
  static constexpr std::int64_t max_memory = 256 * 1024;  ///< bytes of the compiled pattern

  /// Compiles a pattern. Errors: the message of RE2, or a message that the pattern is too long.
  static auto compile(std::string_view pattern, letter_case letters) -> std::expected<text_pattern, std::string>;

  text_pattern(text_pattern&&) noexcept;
  auto operator=(text_pattern&&) noexcept -> text_pattern&;
  ~text_pattern();

  /// Returns whether a part of the text matches. Cost: linear in the text.
  [[nodiscard]] auto matches(std::string_view text) const -> bool;

 private:
  explicit text_pattern(std::unique_ptr<re2::RE2> compiled) noexcept;

  std::unique_ptr<re2::RE2> compiled_;
};

}  // namespace rankd
