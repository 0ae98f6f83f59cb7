// rankd/op/hash_columns.cpp: requests each hash once, and converts its fields to columns.
#include <rankd/op/detail/hash_columns.hpp>

#include <rankd/op/detail/asking.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace rankd::detail {
namespace {

/// The reply of the store. If only one feature is read, the reply contains only the field of that feature from each
/// hash. Otherwise, the reply contains all fields.
struct found_fields {
  field_batch one;
  hash_batch all;

  [[nodiscard]] auto find(std::size_t hash, std::string_view name) const -> std::optional<std::string_view> {
    if (all.empty()) return one[hash];
    const auto fields = all[hash];
    const auto at = std::ranges::lower_bound(fields, name, {}, &hash_field::name);
    if (at == fields.end() || at->name != name) return std::nullopt;
    return at->value;
  }
};

/// Returns the distinct ids of the hashes of the active rows. Stores in `places`, for each row, the index of the row's
/// id among these ids.
auto ask_for(const row_set& rows, std::uint32_t by_key, std::span<std::uint32_t> places, braid::arena& memory)
    -> std::span<const std::int64_t> {
  const auto by = rows.table().find(by_key);
  const std::span<std::int64_t> named = memory.uninitialized<std::int64_t>(by ? rows.size() : 0);
  std::size_t count = 0;
  for (std::size_t at = 0; at < named.size(); ++at)
    if (!by->is_null(rows.row(at))) named[count++] = (*by->integers())[rows.row(at)];
  const std::span<const std::int64_t> asked = distinct_ids(named.first(count), memory);
  for (std::size_t at = 0; at < named.size(); ++at)
    if (!by->is_null(rows.row(at)))
      places[at] = static_cast<std::uint32_t>(find_id((*by->integers())[rows.row(at)], asked));
  return asked;
}

}  // namespace

auto hash_columns::add_to(row_set rows, store& store, node_context& context) const -> braid::task<op_result<row_set>> {
  const std::span<std::uint32_t> places = context.memory.filled(rows.size(), asked_rows::none);
  const std::span<const std::int64_t> asked = ask_for(rows, by_key, places, context.memory);
  const asked_rows of{.rows = rows, .asked = asked.size(), .places = places};
  found_fields found;
  if (!asked.empty() && wanted.size() == 1) {
    const field_read what{.keys = {.prefix = prefix, .ids = asked}, .field = wanted.front().name};
    const auto got = answer_to<field_read>(co_await store.ask(what, context.memory));
    if (!got) co_return store_failed(store, got.error());
    found.one = *got;
  } else if (!asked.empty()) {
    const hash_read what{.keys = {.prefix = prefix, .ids = asked}};
    const auto got = answer_to<hash_read>(co_await store.ask(what, context.memory));
    if (!got) co_return store_failed(store, got.error());
    found.all = *got;
  }
  const auto find = [&](std::size_t hash, const wanted_feature& feature) { return found.find(hash, feature.name); };
  row_set out = rows;
  for (const wanted_feature& each : wanted)
    out = out.with_column(each.key_id, find_column(each, of, find, context), context.memory);
  co_return out;
}

}  // namespace rankd::detail
