// rankd/expr/text_matcher.cpp: one interface to both tests of a string.
#include <rankd/expr/detail/text_matcher.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace rankd::detail {
text_matcher::text_matcher(std::variant<sorted_list, text_pattern> test) noexcept : test_(std::move(test)) {}

auto text_matcher::any_of(std::vector<std::string> list) -> text_matcher {
  std::ranges::sort(list);
  return text_matcher(std::move(list));
}

auto text_matcher::regex(std::string_view pattern, letter_case letters) -> std::expected<text_matcher, std::string> {
  auto compiled = text_pattern::compile(pattern, letters);
  if (!compiled) return std::unexpected(std::move(compiled.error()));
  return text_matcher(std::move(*compiled));
}

auto text_matcher::matches(std::string_view text) const -> bool {
  if (const auto* list = std::get_if<sorted_list>(&test_)) return std::ranges::binary_search(*list, text);
  return std::get<text_pattern>(test_).matches(text);
}

}  // namespace rankd::detail
