// rankd/op/operators/columns/members_of.cpp: implements the operator that looks up each row's member in a set of the
// store, and adds a column with the membership or the score of the member.
#include <rankd/op/detail/asking.hpp>
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/detail/bound_template.hpp>
#include <rankd/op/detail/lookup.hpp>
#include <rankd/op/detail/stored_columns.hpp>

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

namespace rankd::detail::members_of_op {
namespace {

/// The members to look up under each key, in the order of the rows.
struct asked_members {
  std::span<const std::span<const std::string_view>> of_key;
  std::span<const std::uint32_t> places;  ///< for each row: its position among the members of its key
};

struct members_params {
  std::uint32_t endpoint = 0;
  bound_template keys;
  read_kind kind = read_kind::members;
  std::uint32_t member_key = registries::id_key;
  std::uint32_t out_key = 0;
  bool gives_scores = false;
  std::optional<double> otherwise = {};  ///< the score of a row whose member is absent

  [[nodiscard]] auto start(node_context& context) const -> braid::task<op_result<row_set>> {
    store* from = context.stores[endpoint];
    if (from == nullptr) co_return no_store();
    const row_set& rows = context.inputs[0];
    const std::uint64_t row_bytes = 2 * sizeof(std::uint32_t) + 2 * sizeof(std::string_view) + sizeof(stored_item);
    if (!context.may_make(0, rows.size() * row_bytes + rows.table().size() * sizeof(double))) co_return over_budget();
    const row_keys named = keys.list_keys(context);
    const asked_members asked = members_of(rows, named, context.memory);
    item_batch found;
    if (!named.asked.empty()) {
      const named_read what{.kind = kind, .keys = named.asked, .members = asked.of_key};
      const auto got = answer_to<named_read>(co_await from->ask(what, context.memory));
      if (!got) co_return store_failed(*from, got.error());
      found = *got;
    }
    co_return rows.with_column(out_key, column_from(named, asked, found, context), context.memory);
  }

 private:
  /// Returns the member to look up for each row. A row whose member is null needs no look-up.
  [[nodiscard]] auto members_of(const row_set& rows, const row_keys& named, braid::arena& memory) const
      -> asked_members {
    const std::optional<column> from = rows.table().find(member_key);
    const std::span<std::uint32_t> places = memory.filled(rows.size(), row_keys::none);
    const std::span<std::uint32_t> counts = memory.filled(named.asked.size(), std::uint32_t{0});
    const auto asks = [&](std::size_t index) {
      return named.places[index] != row_keys::none && from && !from->is_null(rows.row(index));
    };
    for (std::size_t at = 0; at < rows.size(); ++at)
      if (asks(at)) places[at] = counts[named.places[at]]++;
    const auto members = memory.uninitialized<std::span<std::string_view>>(counts.size());
    for (std::size_t key = 0; key < counts.size(); ++key)
      members[key] = memory.uninitialized<std::string_view>(counts[key]);
    for (std::size_t at = 0; at < rows.size(); ++at)
      if (asks(at)) members[named.places[at]][places[at]] = text_of(*from, rows.row(at), memory);
    const auto of_key = memory.uninitialized<std::span<const std::string_view>>(counts.size());
    for (std::size_t key = 0; key < counts.size(); ++key) of_key[key] = members[key];
    return {.of_key = of_key, .places = places};
  }

  static auto text_of(const column& column, std::uint32_t row, braid::arena& memory) -> std::string_view {
    if (const string_values* texts = column.strings()) return (*texts)[row];
    return memory.copied(std::string_view(std::to_string((*column.integers())[row])));
  }

  [[nodiscard]] auto column_from(const row_keys& named, const asked_members& asked, const item_batch& found,
                                 node_context& context) const -> column {
    const row_set& rows = context.inputs[0];
    const auto item_at = [&](std::size_t index) {
      return asked.places[index] == row_keys::none ? stored_item()
                                                   : found.of_key[named.places[index]][asked.places[index]];
    };
    if (!gives_scores) {
      decoded<bool> flags(rows.table().size(), context.memory);
      for (std::size_t at = 0; at < rows.size(); ++at) flags.set(rows.row(at), item_at(at).is_there);
      return {.values = std::span<const bool>(flags.values), .validity = bitmap(flags.valid.data())};
    }
    decoded<double> scores(rows.table().size(), context.memory);
    for (std::size_t at = 0; at < rows.size(); ++at) {
      const stored_item item = item_at(at);
      const bool is_finite = std::isfinite(item.score);
      if (!is_finite) ++context.malformed_values;
      if (item.is_there && is_finite)
        scores.set(rows.row(at), item.score);
      else if (otherwise)
        scores.set(rows.row(at), *otherwise);
    }
    return {.values = std::span<const double>(scores.values), .validity = bitmap(scores.valid.data())};
  }
};

constexpr std::array<std::string_view, 2> set_kinds{"set", "sorted_set"};
constexpr std::array<std::string_view, 2> member_types{"int", "string"};
constexpr std::array<std::string_view, 2> known_types{"bool", "float"};
constexpr param_shape member_shape{
    .name = "member", .kind = param_kind::key_id, .need = presence::nullable, .choices = member_types};
constexpr param_shape known_shape{
    .name = "out_key", .kind = param_kind::key_id, .use = key_use::write, .choices = known_types};
constexpr std::array members_shape{
    store_endpoint,
    key_shape,
    param_shape{.name = "of", .kind = param_kind::enumeration, .need = presence::nullable, .choices = set_kinds},
    member_shape,
    known_shape,
};

/// Reports wrong_key_type if the node requests a column of scores but the set is not a sorted set, because only sorted
/// sets have scores.
void check_out_key(const plan_param& param, const key_entry& key, bool is_sorted, braid::diagnostics& problems) {
  if (is_sorted || key.type == value_type::boolean) return;
  problems.add({.code = "wrong_key_type",
                .pointer = param.pointer,
                .message = "key " + std::to_string(key.key_id) + " (" + key.name +
                           ") is of type float, but the members of a set have no scores",
                .hint = "use a key of type bool, or set `of` to sorted_set",
                .node = {},
                .source = {}});
}

auto bind_members(const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  members_params params;
  params.endpoint = find_redis_endpoint(*node.find_param("endpoint"), context, problems);
  params.keys = bound_template::bind(*node.find_param("key"), context, problems);
  const plan_param* of = node.find_param("of");
  const bool is_sorted = of != nullptr && std::get<std::string>(of->value) == "sorted_set";
  if (is_sorted) params.kind = read_kind::scores;
  if (const plan_param* member = node.find_param("member"))
    if (const key_entry* key = find_typed_key(*member, member_shape, context, problems))
      params.member_key = key->key_id;
  const plan_param& out = *node.find_param("out_key");
  if (const key_entry* key = find_typed_key(out, known_shape, context, problems)) {
    check_out_key(out, *key, is_sorted, problems);
    params.out_key = key->key_id;
    params.gives_scores = key->type == value_type::floating;
    if (params.gives_scores && !key->nullable) params.otherwise = std::get<double>(key->default_value);
  }
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return make_bound(std::move(params));
}

}  // namespace

auto entry() -> op_entry {
  return {.shape = {.name = "core::members_of", .inputs = 1, .params = members_shape},
          .change = row_change::preserves_view,
          .doc = "Adds a column: whether the set under `key` has a member, or the score of the member.",
          .bind = &bind_members};
}

}  // namespace rankd::detail::members_of_op
