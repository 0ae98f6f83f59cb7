// rankd/op/fetch_features.cpp: the operator that reads named features of rows from the store.
#include <rankd/op/detail/asking.hpp>
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/detail/entries.hpp>
#include <rankd/op/detail/lookup.hpp>
#include <rankd/rows/column.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace rankd::detail {
namespace {

constexpr std::string_view usual_hash = "features";

/// One field of the hashes, which becomes a column. What it is called is the name of its key.
struct wanted_feature {
  std::uint32_t key_id = 0;
  std::string name;
  value_type type = value_type::floating;
  scalar otherwise;  ///< what a row without the feature gets
};

/// Which hash each row has: a position among those that are asked for, or `none`.
struct asked_rows {
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  const row_set& rows;
  std::span<const std::int64_t> asked;
  std::span<const std::uint32_t> places;  ///< for each position of `rows`
};

// What the text of a feature spells; nothing where it is none of that type.

auto spelled(std::string_view text, std::int64_t /*type*/) -> std::optional<std::int64_t> { return parse_id(text); }

auto spelled(std::string_view text, double /*type*/) -> std::optional<double> {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

auto spelled(std::string_view text, bool /*type*/) -> std::optional<bool> {
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  return std::nullopt;
}

/// A value for each hash that was asked for, with nulls beside.
template <typename T>
struct decoded {
  std::span<T> values;
  std::span<std::uint64_t> valid;

  decoded(std::size_t size, braid::arena& memory)
      : values(memory.filled(size, T{})), valid(memory.filled(words_for(size), std::uint64_t{0})) {}

  void set(std::size_t at, T value) {
    values[at] = value;
    set_bit(valid.data(), at);
  }
};

/// The values of the hashes at their rows: inactive rows are null, and rows without value get `otherwise`.
template <typename T>
auto spread(const asked_rows& of, const decoded<T>& from, const std::optional<T>& otherwise, braid::arena& memory)
    -> std::pair<std::span<const T>, bitmap> {
  decoded<T> out(of.rows.table().size(), memory);
  for (std::size_t position = 0; position < of.rows.size(); ++position) {
    const std::uint32_t place = of.places[position];
    if (place != asked_rows::none && test_bit(from.valid.data(), place))
      out.set(of.rows.row(position), from.values[place]);
    else if (otherwise)
      out.set(of.rows.row(position), *otherwise);
  }
  return {out.values, bitmap(out.valid.data())};
}

/// What the store answered: of one feature its field of each hash, of several all fields.
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

template <typename T>
auto plain_column(const wanted_feature& what, const asked_rows& of, const found_fields& found, node_context& context)
    -> column {
  decoded<T> values(of.asked.size(), context.memory);
  for (std::size_t at = 0; at < of.asked.size(); ++at) {
    const auto text = found.find(at, what.name);
    if (!text) continue;
    if (const auto value = spelled(*text, T{}))
      values.set(at, *value);
    else
      ++context.malformed_values;
  }
  std::optional<T> otherwise;
  if (!is_null(what.otherwise)) otherwise = std::get<T>(what.otherwise);
  const auto [spans, validity] = spread(of, values, otherwise, context.memory);
  return {.values = spans, .validity = validity};
}

auto text_column(const wanted_feature& what, const asked_rows& of, const found_fields& found, node_context& context)
    -> column {
  decoded<std::uint32_t> codes(of.asked.size(), context.memory);
  dictionary_builder words(context.memory);
  for (std::size_t at = 0; at < of.asked.size(); ++at)
    if (const auto text = found.find(at, what.name)) codes.set(at, words.intern_shared(*text));
  std::optional<std::uint32_t> otherwise;
  if (!is_null(what.otherwise)) otherwise = words.intern(std::get<std::string>(what.otherwise));
  const auto [spans, validity] = spread(of, codes, otherwise, context.memory);
  return {.values = string_values{spans, words.finish()}, .validity = validity};
}

auto column_of(const wanted_feature& what, const asked_rows& of, const found_fields& found, node_context& context)
    -> column {
  switch (what.type) {
    case value_type::integer: return plain_column<std::int64_t>(what, of, found, context);
    case value_type::boolean: return plain_column<bool>(what, of, found, context);
    case value_type::string: return text_column(what, of, found, context);
    case value_type::floating:
    case value_type::feature_bundle: break;
  }
  return plain_column<double>(what, of, found, context);
}

struct fetch_params {
  std::uint32_t endpoint = 0;
  std::string prefix;
  std::uint32_t by_key = registries::id_key;
  std::vector<wanted_feature> wanted;

  [[nodiscard]] auto start(node_context& context) const -> braid::task<op_result<row_set>> {
    store* from = context.stores[endpoint];
    if (from == nullptr) co_return no_store();
    const row_set& rows = context.inputs[0];
    // A value, its validity and the place of its hash; the replies themselves are counted when the node has ended.
    const std::uint64_t bytes = rows.table().size() * (sizeof(std::uint32_t) + wanted.size() * (sizeof(double) + 1));
    if (!context.may_make(0, bytes)) co_return over_budget();

    const asked_rows of = ask_for(rows, context.memory);
    auto reading = read(*from, of.asked, context.memory);
    const store_result<found_fields> found = co_await std::move(reading);
    if (!found) co_return store_failed(*from, found.error());
    row_set out = rows;
    for (const wanted_feature& each : wanted)
      out = out.with_column(each.key_id, column_of(each, of, *found, context), context.memory);
    co_return out;
  }

 private:
  /// The hashes of the active rows, each once.
  [[nodiscard]] auto ask_for(const row_set& rows, braid::arena& memory) const -> asked_rows {
    const std::span<std::uint32_t> places = memory.filled(rows.size(), asked_rows::none);
    const auto by = rows.table().find(by_key);
    const std::span<std::int64_t> named = memory.uninitialized<std::int64_t>(by ? rows.size() : 0);
    std::size_t count = 0;
    for (std::size_t at = 0; at < named.size(); ++at)
      if (!by->is_null(rows.row(at))) named[count++] = (*by->integers())[rows.row(at)];
    const std::span<const std::int64_t> asked = distinct(named.first(count), memory);
    for (std::size_t at = 0; at < named.size(); ++at)
      if (!by->is_null(rows.row(at)))
        places[at] = static_cast<std::uint32_t>(place_of((*by->integers())[rows.row(at)], asked));
    return {.rows = rows, .asked = asked, .places = places};
  }

  /// One batch, or none where no row has a hash.
  [[nodiscard]] auto read(store& from, std::span<const std::int64_t> asked, braid::arena& memory) const
      -> braid::task<store_result<found_fields>> {
    if (asked.empty()) co_return found_fields{};
    if (wanted.size() == 1) {
      auto reading = from.hget({prefix, asked}, wanted.front().name, memory);
      const store_result<field_batch> found = co_await std::move(reading);
      if (!found) co_return std::unexpected(found.error());
      co_return found_fields{.one = *found, .all = {}};
    }
    auto reading = from.hgetall({prefix, asked}, memory);
    const store_result<hash_batch> found = co_await std::move(reading);
    if (!found) co_return std::unexpected(found.error());
    co_return found_fields{.one = {}, .all = *found};
  }
};

constexpr std::array<std::string_view, 1> by_types{"int"};
constexpr std::array<std::string_view, 4> feature_types{"int", "float", "string", "bool"};
constexpr param_shape by_shape{
    .name = "by", .kind = param_kind::key_id, .need = presence::nullable, .choices = by_types};
constexpr param_shape keys_shape{
    .name = "keys", .kind = param_kind::key_ids, .use = key_use::write, .min_items = 1, .choices = feature_types};
constexpr std::array fetch_shape{
    store_endpoint,
    keys_shape,
    param_shape{.name = "hash", .kind = param_kind::name, .need = presence::nullable},
    by_shape,
};

auto bind_fetch_features(const plan_node& node, const bind_context& with) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  fetch_params params;
  params.endpoint = find_redis_endpoint(*node.find_param("endpoint"), with, problems);
  const plan_param* hash = node.find_param("hash");
  params.prefix = (hash == nullptr ? std::string(usual_hash) : std::get<std::string>(hash->value)) + ":";
  const plan_param& keys = *node.find_param("keys");
  for (const key_entry* key : find_typed_keys(keys, keys_shape, with, problems)) {
    if (key == nullptr) continue;
    params.wanted.push_back({.key_id = key->key_id,
                             .name = key->name,
                             .type = key->type,
                             .otherwise = key->nullable ? scalar() : key->default_value});
  }
  if (const plan_param* by = node.find_param("by"))
    if (const key_entry* key = find_typed_key(*by, by_shape, with, problems)) params.by_key = key->key_id;
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return make_bound(std::move(params));
}

}  // namespace

auto fetch_features_entry() -> op_entry {
  return {.shape = {.name = "core::fetch_features", .inputs = 1, .params = fetch_shape},
          .change = row_change::preserves_view,
          .doc = "Adds columns: the fields of hash features:ID, by the names of their keys.",
          .bind = &bind_fetch_features};
}

}  // namespace rankd::detail
