// rankd/expr/evaluation.cpp: evaluates string tests once for each code of a dictionary.
#include <rankd/expr/detail/evaluation.hpp>

#include <braid/base/config.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

namespace rankd::detail {
namespace {

constexpr std::size_t set_word_bits = 32;

void add_code(std::span<std::uint32_t> set, std::uint32_t code) {
  set[code / set_word_bits] |= std::uint32_t{1} << (code % set_word_bits);
}

}  // namespace

evaluation::evaluation(const program& code, const row_set& rows, braid::arena& memory)
    : code_(code),
      rows_(rows),
      memory_(memory),
      columns_(memory.filled(code.keys.size(), std::optional<column>())),
      sets_(memory.filled(code.texts.size(), std::span<const std::uint32_t>())) {
  std::ranges::transform(code.keys, columns_.begin(), [&rows](std::uint32_t key) { return rows.table().find(key); });
}

auto evaluation::begin(std::span<const scalar> params) -> std::optional<evaluation_error> {
  BRAID_EXPECTS(params.size() >= code_.params_wanted, "an evaluation needs the values of all params");
  params_ = params;
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    auto asked = ask(code_.texts[i]);
    if (!asked) return std::move(asked.error());
    sets_[i] = *asked;
  }
  return std::nullopt;
}

auto evaluation::ask(const text_test& test) -> evaluated<code_set> {
  const std::optional<column>& source = columns_[test.key];
  if (const auto* known = std::get_if<text_matcher>(&test.test)) return find_codes(*known, source);
  if (const auto* relation = std::get_if<param_relation>(&test.test)) {
    const auto* text = std::get_if<std::string>(&params_[relation->param]);
    if (text == nullptr) return code_set();
    return find_codes(text_matcher::relation(relation->how, *text, relation->matched_is_left), source);
  }
  const auto matcher = compiled(std::get<param_pattern>(test.test));
  if (!matcher) return std::unexpected(matcher.error());
  return find_codes(*matcher, source);
}

auto evaluation::compiled(const param_pattern& pattern) const -> evaluated<text_matcher> {
  const auto* text = std::get_if<std::string>(&params_[pattern.param]);
  if (text == nullptr)
    return std::unexpected(
        evaluation_error{"regex_pattern_null", pattern.pointer, "the param with the pattern is null"});
  auto matcher = text_matcher::regex(*text, pattern.letters);
  if (!matcher)
    return std::unexpected(
        evaluation_error{"bad_regex", pattern.pointer, "RE2 refuses the pattern: " + matcher.error()});
  return std::move(*matcher);
}

auto evaluation::find_codes(const text_matcher& matcher, const std::optional<column>& source) -> code_set {
  const string_values* text = source ? source->strings() : nullptr;
  if (text == nullptr || rows_.empty()) return {};
  const std::size_t words = text->words->size() / set_word_bits + 1;
  const std::span<std::uint32_t> set = memory_.filled(words, std::uint32_t{0});
  if (text->words->size() <= rows_.size())
    ask_all(matcher, *text, set);
  else
    ask_occurring(matcher, *text, source->validity, set);
  return set;
}

void evaluation::ask_all(const text_matcher& matcher, const string_values& text, std::span<std::uint32_t> set) const {
  for (std::uint32_t code = 0; code < text.words->size(); ++code)
    if (matcher.matches((*text.words)[code])) add_code(set, code);
}

/// Tests only the strings of active rows. This is faster than testing the whole dictionary if there are fewer active
/// rows than strings.
void evaluation::ask_occurring(const text_matcher& matcher, const string_values& text, bitmap validity,
                               std::span<std::uint32_t> set) {
  const std::span<std::uint64_t> asked = memory_.filled(words_for(text.words->size()), std::uint64_t{0});
  rows_.for_each_row([&](std::uint32_t row) {
    const std::uint32_t code = text.codes[row];
    if (!validity[row] || test_bit(asked.data(), code)) return;
    set_bit(asked.data(), code);
    if (matcher.matches((*text.words)[code])) add_code(set, code);
  });
}

}  // namespace rankd::detail
