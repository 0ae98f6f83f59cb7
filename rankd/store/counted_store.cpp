// rankd/store/counted_store.cpp: batches of a store, with what was counted in place of what was loaded.
#include <rankd/store/counted_store.hpp>
#include <rankd/store/detail/key_speller.hpp>

#include <algorithm>
#include <string>

namespace rankd {
namespace {

/// Both sorted by name; `over` has the last word.
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

}  // namespace

auto counted_store::hget(key_batch keys, std::string_view field, braid::arena& arena)
    -> braid::task<store_result<field_batch>> {
  return counted_->size() == 0 ? behind_->hget(keys, field, arena) : field_over(keys, field, arena);
}

auto counted_store::hgetall(key_batch keys, braid::arena& arena) -> braid::task<store_result<hash_batch>> {
  return counted_->size() == 0 ? behind_->hgetall(keys, arena) : hashes_over(keys, arena);
}

auto counted_store::lrange_ids(key_batch keys, std::uint32_t first, braid::arena& arena)
    -> braid::task<store_result<id_batch>> {
  return behind_->lrange_ids(keys, first, arena);
}

auto counted_store::read(const named_read& what, braid::arena& arena) -> braid::task<store_result<item_batch>> {
  const bool is_over = what.kind == read_kind::fields && counted_->size() != 0;
  return is_over ? items_over(what, arena) : behind_->read(what, arena);
}

auto counted_store::score(const model_call& what, braid::arena& arena) -> braid::task<store_result<score_batch>> {
  return behind_->score(what, arena);
}

auto counted_store::field_over(key_batch keys, std::string_view field, braid::arena& arena)
    -> braid::task<store_result<field_batch>> {
  auto reading = behind_->hget(keys, field, arena);
  const store_result<field_batch> under = co_await std::move(reading);
  if (!under) co_return under;
  const auto out = arena.copied(*under);
  detail::key_speller speller(keys.prefix);
  std::string key;
  for (std::size_t at = 0; at < out.size(); ++at) {
    key = speller.spell(keys.ids[at]);
    if (const auto value = counted_->field(key, field, arena)) out[at] = value;
  }
  co_return field_batch(out);
}

auto counted_store::hashes_over(key_batch keys, braid::arena& arena) -> braid::task<store_result<hash_batch>> {
  auto reading = behind_->hgetall(keys, arena);
  const store_result<hash_batch> under = co_await std::move(reading);
  if (!under) co_return under;
  const auto out = arena.copied(*under);
  detail::key_speller speller(keys.prefix);
  std::string key;
  for (std::size_t at = 0; at < out.size(); ++at) {
    key = speller.spell(keys.ids[at]);
    if (const auto over = counted_->fields(key, arena); !over.empty()) out[at] = merged(out[at], over, arena);
  }
  co_return hash_batch(out);
}

/// All fields of a hash at once, so that those of one change are seen together.
auto counted_store::items_over(const named_read& what, braid::arena& arena) -> braid::task<store_result<item_batch>> {
  auto reading = behind_->read(what, arena);
  const store_result<item_batch> under = co_await std::move(reading);
  if (!under) co_return under;
  const auto out = arena.copied(under->of_key);
  std::string key;
  for (std::size_t at = 0; at < out.size(); ++at) {
    key = what.keys[at];
    const auto over = counted_->fields(key, arena);
    if (over.empty()) continue;
    const auto items = arena.copied(out[at]);
    for (std::size_t field = 0; field < items.size(); ++field)
      if (const auto found = std::ranges::find(over, what.fields[field], &hash_field::name); found != over.end())
        items[field] = {.is_there = true, .text = found->value};
    out[at] = items;
  }
  co_return item_batch{.of_key = out, .malformed = under->malformed};
}

}  // namespace rankd
