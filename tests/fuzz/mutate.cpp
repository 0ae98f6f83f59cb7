// tests/fuzz/mutate.cpp: finds the values of a text by its brackets, quotes and words, and moves them about.
#include <tests/fuzz/mutate.hpp>

#include <braid/base/random.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace braid::testing {
namespace {

/// Half-open, in bytes.
struct piece {
  std::size_t begin = 0;
  std::size_t end = 0;

  [[nodiscard]] auto of(std::string_view text) const -> std::string {
    return std::string(text.substr(begin, end - begin));
  }
};

/// What any reader of values may be wrong about.
constexpr std::array<std::string_view, 36> common_words{"null",
                                                        "true",
                                                        "false",
                                                        "0",
                                                        "-0",
                                                        "-1",
                                                        "1",
                                                        "2",
                                                        "1.0",
                                                        "1.5",
                                                        "-0.0",
                                                        "1e400",
                                                        "1e308",
                                                        "5e-324",
                                                        "4294967295",
                                                        "4294967296",
                                                        "4294967301",
                                                        "9007199254740993",
                                                        "9223372036854775807",
                                                        "9223372036854775808",
                                                        "-9223372036854775808",
                                                        "18446744073709551615",
                                                        "18446744073709551616",
                                                        "\"\"",
                                                        "\"1\"",
                                                        "\"\\u0000\"",
                                                        "\"\\ud800\"",
                                                        "\"\\ud83d\\ude00\"",
                                                        "\"a/b~c\"",
                                                        "\"é\"",
                                                        "[]",
                                                        "{}",
                                                        "[@]",
                                                        "[@,@]",
                                                        "{\"x\":@}",
                                                        "[[[[@]]]]"};

auto is_word(char c) -> bool {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' ||
         c == '+' || c == '.';
}

/// One past the string that begins at `at`.
auto end_of_string(std::string_view text, std::size_t at) -> std::size_t {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return std::min(at + 1, text.size());
}

/// Strings, words and what stands in brackets, each with its end.
auto list_values(std::string_view text) -> std::vector<piece> {
  constexpr std::size_t max_count = 4'000;
  std::vector<piece> out;
  std::vector<std::size_t> open;
  for (std::size_t at = 0; at < text.size() && out.size() < max_count;) {
    const std::size_t begin = at++;
    const char c = text[begin];
    if (c == '"') {
      at = end_of_string(text, begin);
      out.push_back({begin, at});
    } else if (c == '{' || c == '[') {
      open.push_back(begin);
    } else if ((c == '}' || c == ']') && !open.empty()) {
      out.push_back({open.back(), at});
      open.pop_back();
    } else if (is_word(c)) {
      while (at < text.size() && is_word(text[at])) ++at;
      out.push_back({begin, at});
    }
  }
  return out;
}

auto list_lines(std::string_view text) -> std::vector<piece> {
  std::vector<piece> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t feed = text.find('\n', at);
    const std::size_t end = feed == std::string_view::npos ? text.size() : feed + 1;
    out.push_back({at, end});
    at = end;
  }
  return out;
}

class mutator {
 public:
  mutator(std::string_view text, std::span<const std::string_view> words, std::uint64_t seed)
      : text_(text), words_(words), random_(seed) {}

  auto run() -> std::string {
    for (auto left = 1 + random_.below(4); left > 0; --left) change();
    return std::move(text_);
  }

 private:
  void change();
  void replace(piece where, std::string_view by) { text_.replace(where.begin, where.end - where.begin, by); }
  void exchange(piece a, piece b);
  void remove(piece value);
  void change_lines();
  auto word_for(std::string_view old) -> std::string;

  template <typename List>
  auto one_of(const List& list) {
    return list[random_.below(list.size())];
  }

  std::string text_;
  std::span<const std::string_view> words_;
  random_source random_;
};

void mutator::change() {
  const auto values = list_values(text_);
  if (values.empty()) return text_.append(word_for("1")), void();
  const piece value = one_of(values);
  switch (random_.below(10)) {
    case 0:
    case 1:
    case 2:
    case 3: return replace(value, word_for(value.of(text_)));
    case 4: return replace(value, one_of(values).of(text_));
    case 5: return exchange(value, one_of(values));
    case 6: return remove(value);
    case 7: return text_.insert(value.begin, value.of(text_) + ","), void();
    case 8: return text_.insert(value.begin, word_for(value.of(text_)) + (random_.below(2) == 0 ? "," : ":")), void();
    default: return change_lines();
  }
}

/// Values that lie within one another stay.
void mutator::exchange(piece a, piece b) {
  if (a.begin > b.begin) std::swap(a, b);
  if (a.end > b.begin) return;
  const std::string first = a.of(text_);
  const std::string second = b.of(text_);
  replace(b, first);
  replace(a, second);
}

/// The value, and a comma or colon on one side of it.
void mutator::remove(piece value) {
  const auto is_separator = [&](std::size_t at) { return at < text_.size() && (text_[at] == ',' || text_[at] == ':'); };
  while (value.end < text_.size() && text_[value.end] == ' ') ++value.end;
  if (is_separator(value.end))
    ++value.end;
  else if (value.begin > 0 && is_separator(value.begin - 1))
    --value.begin;
  replace(value, "");
}

void mutator::change_lines() {
  const auto lines = list_lines(text_);
  const piece line = one_of(lines);
  const std::string copy = line.of(text_);
  switch (random_.below(3)) {
    case 0: return replace(line, "");
    case 1: return text_.insert(one_of(lines).begin, copy), void();
    default: return exchange(line, one_of(lines));
  }
}

auto mutator::word_for(std::string_view old) -> std::string {
  const bool ours = !words_.empty() && random_.below(3) != 0;
  const std::string_view word = ours ? one_of(words_) : one_of(common_words);
  std::string out;
  for (const char c : word) {
    if (c == '@')
      out += old;
    else
      out += c;
  }
  return out;
}

}  // namespace

auto mutated(std::string_view text, std::span<const std::string_view> words, std::uint64_t seed) -> std::string {
  return mutator(text, words, seed).run();
}

auto with_other_bytes(std::string_view text, std::uint64_t seed) -> std::string {
  random_source random(seed);
  std::string out(text);
  for (auto left = 1 + random.below(4); left > 0; --left) {
    const auto at = static_cast<std::size_t>(random.below(out.size() + 1));
    const auto byte = static_cast<char>(random.below(256));
    if (at == out.size() || random.below(3) == 0)
      out.insert(out.begin() + static_cast<std::ptrdiff_t>(at), byte);
    else if (random.below(2) == 0)
      out.erase(at, 1 + random.below(8));
    else
      out[at] = byte;
  }
  return out;
}

}  // namespace braid::testing
