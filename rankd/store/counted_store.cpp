// rankd/store/counted_store.cpp: answers batches from a store and from the values that events have written.
#include <rankd/store/counted_store.hpp>

#include <rankd/store/detail/key_speller.hpp>
#include <rankd/store/detail/named_reader.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace rankd {
namespace {

/// Merges two lists of fields that are sorted by name. If both lists have a field, the field of `over` is used.
auto merged(std::span<const hash_field> under, std::span<const hash_field> over, braid::arena& arena)
    -> std::span<const hash_field> {
  const std::span<hash_field> out = arena.uninitialized<hash_field>(under.size() + over.size());
  std::size_t used = 0;
  std::size_t next = 0;
  for (const hash_field& each : under) {
    while (next < over.size() && over[next].name < each.name) out[used++] = over[next++];
    if (next < over.size() && over[next].name == each.name) continue;
    out[used++] = each;
  }
  while (next < over.size()) out[used++] = over[next++];
  return out.first(used);
}

/// Says whether events have written a value under a key, and whether that value can answer a question about a list or a
/// set.
enum class found_kind : std::uint8_t {
  absent,  // nothing, or a hash, which does not hide what was loaded
  other,   // another kind of value than the one that is asked for
  right,
};

auto compare_kinds(const counted_value& value, read_kind kind) -> found_kind {
  if (value.kind() == record_kind::hash) return found_kind::absent;
  return detail::suits(value.kind(), kind) ? found_kind::right : found_kind::other;
}

/// Returns the ids among the first elements of a list. Adds the number of first elements that are not ids to
/// `malformed`.
auto list_ids(const counted_list& list, std::uint32_t first, braid::arena& arena, std::uint64_t& malformed)
    -> std::span<const std::int64_t> {
  const auto out = arena.uninitialized<std::int64_t>(std::min<std::size_t>(first, list.elements.size()));
  std::size_t used = 0;
  for (std::size_t at = 0; at < out.size(); ++at)
    if (const auto id = parse_element(list.elements[at])) out[used++] = *id;
  malformed += out.size() - used;
  return out.first(used);
}

/// The answers from collections that events have written, and the positions of the keys for which the inner store must
/// be asked.
template <typename Item>
struct first_answers {
  std::span<std::span<const Item>> of_key;
  std::vector<std::uint32_t> others = {};
  std::uint64_t malformed = 0;

  /// Stores the answers of the inner store at their positions.
  void complete(std::span<const std::span<const Item>> under) const {
    for (std::size_t at = 0; at < others.size(); ++at) of_key[others[at]] = under[at];
  }
};

/// Returns the items at the given positions.
template <typename T>
auto picked(std::span<const T> all, const std::vector<std::uint32_t>& places, braid::arena& arena)
    -> std::span<const T> {
  const auto out = arena.uninitialized<T>(places.size());
  for (std::size_t at = 0; at < out.size(); ++at) out[at] = all[places[at]];
  return out;
}

auto wrong_type() -> std::unexpected<store_error> {
  return std::unexpected<store_error>(make_error_code(store_errc::wrong_type));
}

}  // namespace

auto counted_store::ask(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> {
  if (counted_->size() == 0) return behind().ask(question, arena);
  if (const auto* fields = std::get_if<field_read>(&question)) return ask_hashes(*fields, arena);
  if (const auto* hashes = std::get_if<hash_read>(&question)) return ask_hashes(*hashes, arena);
  if (const auto* lists = std::get_if<list_read>(&question)) return ask_lists(*lists, arena);
  const auto* named = std::get_if<named_read>(&question);
  if (named == nullptr || named->kind == read_kind::strings) return behind().ask(question, arena);
  return named->kind == read_kind::fields ? ask_hashes(*named, arena) : ask_named(*named, arena);
}

auto counted_store::pinned() -> std::shared_ptr<store> {
  auto under = behind().pinned();
  return under == nullptr ? nullptr : std::make_shared<counted_store>(std::move(under), counted_);
}

auto counted_store::ask_lists(list_read question, braid::arena& arena) -> braid::task<store_result<store_answer>> {
  first_answers<std::int64_t> out{arena.filled(question.keys.ids.size(), std::span<const std::int64_t>())};
  detail::key_speller speller(question.keys.prefix);
  std::string key;
  for (std::size_t at = 0; at < out.of_key.size(); ++at) {
    key = speller.spell(question.keys.ids[at]);
    auto found = found_kind::absent;
    counted_->read(key, [&](const counted_value& value) {
      found = compare_kinds(value, read_kind::list);
      if (const auto* list = std::get_if<counted_list>(&value.data))
        out.of_key[at] = list_ids(*list, question.first, arena, out.malformed);
    });
    if (found == found_kind::other) co_return wrong_type();
    if (found == found_kind::absent) out.others.push_back(static_cast<std::uint32_t>(at));
  }
  if (out.others.size() == out.of_key.size()) co_return co_await behind().ask(question, arena);
  if (!out.others.empty()) {
    question.keys.ids = picked(question.keys.ids, out.others, arena);
    const auto under = answer_to<list_read>(co_await behind().ask(question, arena));
    if (!under) co_return std::unexpected(under.error());
    out.complete(under->lists);
    out.malformed += under->malformed;
  }
  co_return id_batch{.lists = out.of_key, .malformed = out.malformed};
}

auto counted_store::ask_named(named_read question, braid::arena& arena) -> braid::task<store_result<store_answer>> {
  const bool asks_about_members = question.kind == read_kind::members || question.kind == read_kind::scores;
  first_answers<stored_item> out{arena.filled(question.keys.size(), std::span<const stored_item>())};
  detail::named_reader<counted_value> reader(question, arena);
  std::string key;
  for (std::size_t at = 0; at < out.of_key.size(); ++at) {
    key = question.keys[at];
    auto found = found_kind::absent;
    counted_->read(key, [&](const counted_value& value) {
      found = compare_kinds(value, question.kind);
      if (found == found_kind::right) out.of_key[at] = reader.read(&value, at);
    });
    const bool is_asked = !asks_about_members || !question.members[at].empty();
    if (found == found_kind::other && is_asked) co_return wrong_type();
    if (found == found_kind::absent) out.others.push_back(static_cast<std::uint32_t>(at));
  }
  if (out.others.size() == out.of_key.size()) co_return co_await behind().ask(question, arena);
  out.malformed = reader.malformed();
  if (!out.others.empty()) {
    question.keys = picked(question.keys, out.others, arena);
    if (asks_about_members) question.members = picked(question.members, out.others, arena);
    const auto under = answer_to<named_read>(co_await behind().ask(question, arena));
    if (!under) co_return std::unexpected(under.error());
    out.complete(under->of_key);
    out.malformed += under->malformed;
  }
  co_return item_batch{.of_key = out.of_key, .malformed = out.malformed};
}

template <typename Question>
auto counted_store::ask_hashes(Question question, braid::arena& arena) -> braid::task<store_result<store_answer>> {
  const auto under = answer_to<Question>(co_await behind().ask(question, arena));
  if (!under) co_return std::unexpected(under.error());
  co_return over(question, *under, arena);
}

auto counted_store::over(const field_read& question, field_batch under, braid::arena& arena) const
    -> store_result<store_answer> {
  const auto out = arena.copied(under);
  detail::key_speller speller(question.keys.prefix);
  std::string key;
  for (std::size_t at = 0; at < out.size(); ++at) {
    key = speller.spell(question.keys.ids[at]);
    bool is_hash = true;
    counted_->read(key, [&](const counted_value& value) {
      is_hash = value.kind() == record_kind::hash;
      if (!is_hash) return;
      if (const auto text = value.field(question.field)) out[at] = arena.copied(*text);
    });
    if (!is_hash) return wrong_type();
  }
  return field_batch(out);
}

auto counted_store::over(const hash_read& question, hash_batch under, braid::arena& arena) const
    -> store_result<store_answer> {
  const auto out = arena.copied(under);
  detail::key_speller speller(question.keys.prefix);
  std::string key;
  for (std::size_t at = 0; at < out.size(); ++at) {
    key = speller.spell(question.keys.ids[at]);
    const auto over = counted_->fields(key, arena);
    if (!over) return wrong_type();
    if (!over->empty()) out[at] = merged(out[at], *over, arena);
  }
  return hash_batch(out);
}

/// Reads all fields of a hash at once, so that a caller never sees only some of the fields of a change.
auto counted_store::over(const named_read& question, item_batch under, braid::arena& arena) const
    -> store_result<store_answer> {
  const auto out = arena.copied(under.of_key);
  std::string key;
  for (std::size_t at = 0; at < out.size(); ++at) {
    key = question.keys[at];
    const auto over = counted_->fields(key, arena);
    if (!over) return wrong_type();
    if (over->empty()) continue;
    const auto items = arena.copied(out[at]);
    for (std::size_t field = 0; field < items.size(); ++field)
      if (const auto found = std::ranges::find(*over, question.fields[field], &hash_field::name); found != over->end())
        items[field] = {.is_there = true, .text = found->value};
    out[at] = items;
  }
  return item_batch{.of_key = out, .malformed = under.malformed};
}

}  // namespace rankd
