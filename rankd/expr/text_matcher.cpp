// rankd/expr/text_matcher.cpp: tests strings against lists, patterns and other strings through one interface.
#include <rankd/expr/detail/text_matcher.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace rankd::detail {

auto related(text_relation relation, std::string_view a, std::string_view b) noexcept -> bool {
  switch (relation) {
    case text_relation::equal: return a == b;
    case text_relation::not_equal: return a != b;
    case text_relation::less: return a < b;
    case text_relation::less_equal: return a <= b;
    case text_relation::greater: return a > b;
    case text_relation::greater_equal: return a >= b;
    case text_relation::starts_with: return a.starts_with(b);
    case text_relation::ends_with: return a.ends_with(b);
    case text_relation::contains: return a.find(b) != std::string_view::npos;
  }
  std::unreachable();
}

text_matcher::text_matcher(text_test test) noexcept : test_(std::move(test)) {}

auto text_matcher::any_of(std::vector<std::string> list) -> text_matcher {
  std::ranges::sort(list);
  return text_matcher(text_test(std::move(list)));
}

auto text_matcher::regex(std::string_view pattern, letter_case letters) -> std::expected<text_matcher, std::string> {
  auto compiled = text_pattern::compile(pattern, letters);
  if (!compiled) return std::unexpected(std::move(compiled.error()));
  return text_matcher(text_test(std::move(*compiled)));
}

auto text_matcher::relation(text_relation relation, std::string text, bool matched_is_left) -> text_matcher {
  return text_matcher(text_test(other_side{relation, std::move(text), matched_is_left}));
}

auto text_matcher::matches(std::string_view text) const -> bool {
  if (const auto* list = std::get_if<sorted_list>(&test_)) return std::ranges::binary_search(*list, text);
  if (const auto* pattern = std::get_if<text_pattern>(&test_)) return pattern->matches(text);
  const auto& other = std::get<other_side>(test_);
  return other.matched_is_left ? related(other.how, text, other.text) : related(other.how, other.text, text);
}

}  // namespace rankd::detail
