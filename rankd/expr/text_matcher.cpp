// rankd/expr/text_matcher.cpp: the only file that knows RE2.
#include <rankd/expr/detail/text_matcher.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <re2/re2.h>

namespace rankd::detail {
namespace {

auto piece(std::string_view text) -> re2::StringPiece { return {text.data(), text.size()}; }

}  // namespace

text_matcher::text_matcher(std::variant<sorted_list, pattern> test) noexcept : test_(std::move(test)) {}
text_matcher::text_matcher(text_matcher&&) noexcept = default;
auto text_matcher::operator=(text_matcher&&) noexcept -> text_matcher& = default;
text_matcher::~text_matcher() = default;

auto text_matcher::any_of(std::vector<std::string> list) -> text_matcher {
  std::ranges::sort(list);
  return text_matcher(std::move(list));
}

auto text_matcher::regex(std::string_view pattern, letter_case letters) -> std::expected<text_matcher, std::string> {
  // A pattern may come with a request: neither its length nor what repetitions make of it may cost seconds.
  constexpr std::size_t longest_pattern = 4096;
  constexpr std::int64_t most_memory = 256 * 1024;
  if (pattern.size() > longest_pattern)
    return std::unexpected("pattern longer than " + std::to_string(longest_pattern) + " bytes");

  re2::RE2::Options options;
  options.set_max_mem(most_memory);
  options.set_log_errors(false);
  options.set_case_sensitive(letters == letter_case::exact);
  auto compiled = std::make_unique<re2::RE2>(piece(pattern), options);
  if (!compiled->ok()) return std::unexpected(compiled->error());
  return text_matcher(std::move(compiled));
}

auto text_matcher::matches(std::string_view text) const -> bool {
  if (const auto* list = std::get_if<sorted_list>(&test_)) return std::ranges::binary_search(*list, text);
  return re2::RE2::PartialMatch(piece(text), *std::get<pattern>(test_));
}

}  // namespace rankd::detail
