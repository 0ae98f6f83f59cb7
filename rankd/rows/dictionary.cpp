// rankd/rows/dictionary.cpp: assigns codes to strings, using a hash table with open addressing.
#include <rankd/rows/dictionary.hpp>

#include <algorithm>
#include <functional>

namespace rankd {
namespace {

constexpr std::size_t first_slots = 16;

/// Returns the high bits of a hash. A slot stores these bits for comparison, and the low bits determine the slot's
/// position.
auto remembered(std::size_t hash) -> std::uint32_t { return static_cast<std::uint32_t>(hash >> 32U); }

}  // namespace

auto dictionary_builder::intern(std::string_view text) -> std::uint32_t {
  if (slots_.size() * 3 <= entries_.size() * 4) grow();
  const std::size_t hash = std::hash<std::string_view>{}(text);
  slot& place = find(text, hash);
  return place.code != slot::free ? place.code : insert(place, memory_.copied(text), hash);
}

auto dictionary_builder::intern_shared(std::string_view text) -> std::uint32_t {
  if (slots_.size() * 3 <= entries_.size() * 4) grow();
  const std::size_t hash = std::hash<std::string_view>{}(text);
  slot& place = find(text, hash);
  return place.code != slot::free ? place.code : insert(place, text, hash);
}

auto dictionary_builder::finish() -> const dictionary* {
  return memory_.make<dictionary>(memory_.copied(std::span<const std::string_view>(entries_)));
}

/// Returns the slot of `text`, or the free slot in which `text` can be inserted.
auto dictionary_builder::find(std::string_view text, std::size_t hash) -> slot& {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    slot& place = slots_[at];
    if (place.code == slot::free) return place;
    if (place.hash == remembered(hash) && entries_[place.code] == text) return place;
  }
}

auto dictionary_builder::insert(slot& place, std::string_view text, std::size_t hash) -> std::uint32_t {
  place = {.code = static_cast<std::uint32_t>(entries_.size()), .hash = remembered(hash)};
  entries_.push_back(text);
  return place.code;
}

void dictionary_builder::grow() {
  const std::size_t size = std::max(first_slots, slots_.size() * 2);
  slots_.assign(size, slot{});
  for (std::uint32_t code = 0; code < entries_.size(); ++code) {
    const std::size_t hash = std::hash<std::string_view>{}(entries_[code]);
    find(entries_[code], hash) = {.code = code, .hash = remembered(hash)};
  }
}

}  // namespace rankd
