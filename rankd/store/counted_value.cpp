// rankd/store/counted_value.cpp: changes values in the same way as the commands of Redis.
#include <rankd/store/counted_value.hpp>

#include <algorithm>
#include <array>
#include <tuple>

namespace rankd {
namespace {

constexpr std::size_t field_overhead = 64;   // two strings
constexpr std::size_t member_overhead = 32;  // one string
constexpr std::size_t scored_overhead = 48;  // a string, a score and a position

auto name_of(const std::pair<std::string, std::string>& field) -> std::string_view { return field.first; }

/// Reserves memory for one more element. There are many values, and most of them stay small, so a small vector grows by
/// one element instead of doubling.
template <typename T>
void make_room(std::vector<T>& all) {
  constexpr std::size_t small = 8;
  if (all.size() == all.capacity()) all.reserve(all.size() < small ? all.size() + 1 : 2 * all.size());
}

}  // namespace

auto counted_hash::find(std::string_view name) const noexcept -> const std::string* {
  const auto at = std::ranges::lower_bound(fields, name, {}, name_of);
  return at == fields.end() || at->first != name ? nullptr : &at->second;
}

void counted_hash::set(std::string_view name, std::string value) {
  const auto at = std::ranges::lower_bound(fields, name, {}, name_of);
  if (at != fields.end() && at->first == name) {
    at->second = std::move(value);
    return;
  }
  const auto place = at - fields.begin();
  make_room(fields);
  fields.emplace(fields.begin() + place, std::string(name), std::move(value));
}

void counted_list::push(std::string_view element, std::size_t max_items) {
  std::string made(element);
  make_room(elements);
  if (elements.size() >= max_items) elements.resize(max_items - 1);
  elements.insert(elements.begin(), std::move(made));
}

auto counted_set::add(std::string_view member, std::size_t max_items) -> bool {
  const auto at = std::ranges::lower_bound(members, member);
  if (at != members.end() && *at == member) return true;
  if (members.size() >= max_items) return false;
  const auto place = at - members.begin();
  make_room(members);
  members.emplace(members.begin() + place, member);
  return true;
}

void counted_set::remove(std::string_view member) {
  const auto at = std::ranges::lower_bound(members, member);
  if (at != members.end() && *at == member) members.erase(at);
}

auto counted_sorted_set::find(std::string_view member) const noexcept -> std::optional<std::size_t> {
  const auto text_of = [this](std::uint32_t place) { return std::string_view(items[place].text); };
  const auto at = std::ranges::lower_bound(by_text, member, {}, text_of);
  if (at == by_text.end() || items[*at].text != member) return std::nullopt;
  return *at;
}

void counted_sorted_set::set(std::string_view member, double score) {
  // Makes all allocations first, so that the value is unchanged if an allocation fails.
  item made{.text = std::string(member), .score = score};
  make_room(items);
  make_room(by_text);
  if (const auto before = find(member)) {
    if (items[*before].score == score) return;
    remove_at(*before);
  }
  const auto order = [](const item& each) { return std::tie(each.score, each.text); };
  const auto at = std::ranges::lower_bound(items, std::tie(made.score, made.text), {}, order);
  const auto place = static_cast<std::uint32_t>(at - items.begin());
  const auto text_of = [this](std::uint32_t index) { return std::string_view(items[index].text); };
  const auto rank = std::ranges::lower_bound(by_text, member, {}, text_of) - by_text.begin();
  for (std::uint32_t& each : by_text)
    if (each >= place) ++each;
  items.insert(at, std::move(made));
  by_text.insert(by_text.begin() + rank, place);
}

void counted_sorted_set::remove(std::string_view member) {
  if (const auto place = find(member)) remove_at(*place);
}

void counted_sorted_set::keep_highest(std::size_t max_items) {
  if (items.size() > max_items) remove_first(items.size() - max_items);
}

void counted_sorted_set::remove_below(double min) {
  const auto end = std::ranges::lower_bound(items, min, {}, &item::score);
  remove_first(static_cast<std::size_t>(end - items.begin()));
}

void counted_sorted_set::remove_at(std::size_t place) {
  std::erase(by_text, static_cast<std::uint32_t>(place));
  for (std::uint32_t& each : by_text)
    if (each > place) --each;
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(place));
}

void counted_sorted_set::remove_first(std::size_t count) {
  if (count == 0) return;
  std::erase_if(by_text, [count](std::uint32_t each) { return each < count; });
  for (std::uint32_t& each : by_text) each -= static_cast<std::uint32_t>(count);
  items.erase(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(count));
}

auto counted_value::kind() const noexcept -> record_kind {
  constexpr std::array kinds{counted_hash::kind, counted_list::kind, counted_set::kind, counted_sorted_set::kind};
  return kinds[data.index()];
}

auto counted_value::count() const noexcept -> std::size_t {
  if (const auto* hash = std::get_if<counted_hash>(&data)) return hash->fields.size();
  if (const auto* list = std::get_if<counted_list>(&data)) return list->elements.size();
  if (const auto* set = std::get_if<counted_set>(&data)) return set->members.size();
  return std::get_if<counted_sorted_set>(&data)->items.size();
}

auto counted_value::bytes() const noexcept -> std::size_t {
  std::size_t out = 0;
  if (const auto* hash = std::get_if<counted_hash>(&data))
    for (const auto& [name, value] : hash->fields) out += field_overhead + name.size() + value.size();
  if (const auto* list = std::get_if<counted_list>(&data))
    for (const std::string& each : list->elements) out += member_overhead + each.size();
  if (const auto* set = std::get_if<counted_set>(&data))
    for (const std::string& each : set->members) out += member_overhead + each.size();
  if (const auto* scored = std::get_if<counted_sorted_set>(&data))
    for (const auto& each : scored->items) out += scored_overhead + each.text.size();
  return out;
}

auto counted_value::field(std::string_view name) const -> std::optional<std::string_view> {
  const std::string* value = std::get<counted_hash>(data).find(name);
  return value == nullptr ? std::nullopt : std::optional<std::string_view>(*value);
}

auto counted_value::text_at(std::size_t index) const -> std::string_view {
  if (const auto* list = std::get_if<counted_list>(&data)) return list->elements[index];
  if (const auto* set = std::get_if<counted_set>(&data)) return set->members[index];
  return std::get<counted_sorted_set>(data).items[index].text;
}

auto counted_value::score_at(std::size_t index) const -> double {
  return std::get<counted_sorted_set>(data).items[index].score;
}

auto counted_value::find_member(std::string_view member) const -> std::optional<std::size_t> {
  const auto* set = std::get_if<counted_set>(&data);
  if (set == nullptr) return std::get<counted_sorted_set>(data).find(member);
  const auto at = std::ranges::lower_bound(set->members, member);
  if (at == set->members.end() || *at != member) return std::nullopt;
  return static_cast<std::size_t>(at - set->members.begin());
}

}  // namespace rankd
