// src/thread/cpu_set.cpp: implements sets of CPUs as bitmaps. Trailing zero words are removed, so that equal sets have
// equal words.
#include <braid/base/config.hpp>
#include <braid/thread/cpu_set.hpp>

#include <braid/base/detail/number_in.hpp>

#include <algorithm>
#include <bit>

namespace braid {
namespace {

constexpr std::string_view blanks = " \t\r\n";

auto without_blanks(std::string_view text) -> std::string_view {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// Parses the number of a CPU. Returns nothing if the text contains anything else, or if the number is too large.
auto parse_cpu(std::string_view text) -> std::optional<unsigned> {
  const auto cpu = detail::number_in<unsigned>(text);
  return cpu && *cpu < cpu_set::limit ? cpu : std::nullopt;
}

}  // namespace

cpu_set::cpu_set(std::initializer_list<unsigned> cpus) {
  for (const unsigned cpu : cpus) add(cpu);
}

auto cpu_set::parse(std::string_view text) -> result<cpu_set> {
  cpu_set all;
  text = without_blanks(text);
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    const std::size_t dash = item.find('-');
    const auto first = parse_cpu(item.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_cpu(item.substr(dash + 1));
    if (!first || !last || *first > *last) return fail(errc::invalid_argument);
    all |= range(*first, *last);
    if (comma == std::string_view::npos) return all;
    text.remove_prefix(comma + 1);
    if (text.empty()) return fail(errc::invalid_argument);
  }
  return all;
}

auto cpu_set::range(unsigned first, unsigned last) -> cpu_set {
  BRAID_EXPECTS(first <= last && last < limit,
                "the first CPU of a range must not be above the last, and the last must be below cpu_set::limit");
  cpu_set all;
  for (unsigned cpu = first; cpu <= last; ++cpu) all.add(cpu);
  return all;
}

void cpu_set::add(unsigned cpu) {
  BRAID_EXPECTS(cpu < limit, "the number of a CPU must be below cpu_set::limit");
  const std::size_t word = cpu / word_bits;
  if (word >= words_.size()) words_.resize(word + 1);
  words_[word] |= std::uint64_t{1} << (cpu % word_bits);
}

void cpu_set::remove(unsigned cpu) noexcept {
  if (!contains(cpu)) return;
  words_[cpu / word_bits] &= ~(std::uint64_t{1} << (cpu % word_bits));
  trim();
}

auto cpu_set::contains(unsigned cpu) const noexcept -> bool {
  const std::size_t word = cpu / word_bits;
  return word < words_.size() && ((words_[word] >> (cpu % word_bits)) & 1U) != 0;
}

auto cpu_set::contains_all(const cpu_set& other) const noexcept -> bool {
  if (other.words_.size() > words_.size()) return false;
  for (std::size_t word = 0; word < other.words_.size(); ++word)
    if ((other.words_[word] & ~words_[word]) != 0) return false;
  return true;
}

auto cpu_set::size() const noexcept -> std::size_t {
  std::size_t total = 0;
  for (const std::uint64_t word : words_) total += static_cast<std::size_t>(std::popcount(word));
  return total;
}

auto cpu_set::first() const noexcept -> std::optional<unsigned> {
  if (empty()) return std::nullopt;
  return next_from(0);
}

auto cpu_set::begin() const noexcept -> iterator { return {this, next_from(0)}; }

auto cpu_set::end() const noexcept -> iterator { return {this, limit}; }

auto cpu_set::to_string() const -> std::string {
  std::string text;
  for (unsigned cpu = next_from(0); cpu != limit; cpu = next_from(cpu + 1)) {
    unsigned last = cpu;
    while (contains(last + 1)) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(cpu);
    if (last != cpu) text += '-' + std::to_string(last);
    cpu = last;
  }
  return text;
}

auto cpu_set::operator&=(const cpu_set& other) -> cpu_set& {
  words_.resize(std::min(words_.size(), other.words_.size()));
  for (std::size_t word = 0; word < words_.size(); ++word) words_[word] &= other.words_[word];
  trim();
  return *this;
}

auto cpu_set::operator|=(const cpu_set& other) -> cpu_set& {
  words_.resize(std::max(words_.size(), other.words_.size()));
  for (std::size_t word = 0; word < other.words_.size(); ++word) words_[word] |= other.words_[word];
  return *this;
}

auto cpu_set::operator-=(const cpu_set& other) -> cpu_set& {
  const std::size_t shared = std::min(words_.size(), other.words_.size());
  for (std::size_t word = 0; word < shared; ++word) words_[word] &= ~other.words_[word];
  trim();
  return *this;
}

void cpu_set::trim() noexcept {
  while (!words_.empty() && words_.back() == 0) words_.pop_back();
}

/// Returns the smallest member that is not below `cpu`, or `limit` if there is no such member.
auto cpu_set::next_from(unsigned cpu) const noexcept -> unsigned {
  std::size_t word = cpu / word_bits;
  if (word >= words_.size()) return limit;
  std::uint64_t rest = words_[word] >> (cpu % word_bits) << (cpu % word_bits);
  while (rest == 0) {
    if (++word == words_.size()) return limit;
    rest = words_[word];
  }
  return static_cast<unsigned>(word * word_bits) + static_cast<unsigned>(std::countr_zero(rest));
}

}  // namespace braid
