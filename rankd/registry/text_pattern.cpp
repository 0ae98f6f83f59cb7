// rankd/registry/text_pattern.cpp: matches texts with RE2. This is the only file that includes RE2.
#include <rankd/registry/text_pattern.hpp>

#include <utility>

#include <re2/re2.h>

namespace rankd {
namespace {

auto piece(std::string_view text) -> re2::StringPiece { return {text.data(), text.size()}; }

}  // namespace

text_pattern::text_pattern(std::unique_ptr<re2::RE2> compiled) noexcept : compiled_(std::move(compiled)) {}
text_pattern::text_pattern(text_pattern&&) noexcept = default;
auto text_pattern::operator=(text_pattern&&) noexcept -> text_pattern& = default;
text_pattern::~text_pattern() = default;

auto text_pattern::compile(std::string_view pattern, letter_case letters) -> std::expected<text_pattern, std::string> {
  // Limits the length and the memory of a pattern, because a pattern may come with a request and must not take seconds
  // to compile.
  if (pattern.size() > max_bytes) return std::unexpected("pattern longer than " + std::to_string(max_bytes) + " bytes");
  re2::RE2::Options options;
  options.set_max_mem(max_memory);
  options.set_log_errors(false);
  options.set_case_sensitive(letters == letter_case::exact);
  auto compiled = std::make_unique<re2::RE2>(piece(pattern), options);
  if (!compiled->ok()) return std::unexpected(compiled->error());
  return text_pattern(std::move(compiled));
}

auto text_pattern::matches(std::string_view text) const -> bool {
  return re2::RE2::PartialMatch(piece(text), *compiled_);
}

}  // namespace rankd
