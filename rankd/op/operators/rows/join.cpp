// rankd/op/operators/rows/join.cpp: implements the operator that combines rows with the matching rows (partners) of
// another node.
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/detail/key_types.hpp>
#include <rankd/op/detail/lookup.hpp>
#include <rankd/rows/equal_rows.hpp>
#include <rankd/registry/counted.hpp>

#include <braid/base/config.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace rankd::detail::join_op {
namespace {

/// Says how a join treats the rows of its first source.
enum class join_kind : std::uint8_t { inner, left, semi, anti, broadcast };

/// The value that a left join stores in an added column of a row without a partner.
enum class missing_rule : std::uint8_t { null, default_value, error };

/// A column that a join adds.
struct added_column {
  std::uint32_t from_key = 0;  ///< of the other side
  std::uint32_t to_key = 0;
  value_type type = value_type::floating;
  scalar default_value;  ///< of `to_key`
};

/// The active rows of the first source, and the partner of each row in the second source.
struct matched_rows {
  row_set left;
  row_set right;
  std::span<const std::uint32_t> partners;  ///< for each position of `left`
};

/// The values of a column of the second source, and the default for rows without a partner.
template <typename T>
struct source_values {
  std::optional<std::span<const T>> given;  ///< of the other side, if it has the column
  bitmap validity;
  std::optional<T> otherwise;  ///< of rows without partner
};

/// Copies the values of the partners to a column for the batch of `rows.left`. The column is null on inactive rows.
template <typename T>
auto taken_over(const matched_rows& rows, const source_values<T>& from, braid::arena& memory)
    -> std::pair<std::span<const T>, bitmap> {
  const std::size_t size = rows.left.table().size();
  const std::span<T> values = memory.filled(size, T{});
  const std::span<std::uint64_t> valid = memory.filled(words_for(size), std::uint64_t{0});
  for (std::size_t position = 0; position < rows.partners.size(); ++position) {
    const std::uint32_t partner = rows.partners[position];
    const std::uint32_t row = rows.left.row(position);
    if (partner == no_partner) {
      if (!from.otherwise) continue;
      values[row] = *from.otherwise;
    } else {
      if (!from.given || !from.validity[partner]) continue;
      values[row] = (*from.given)[partner];
    }
    set_bit(valid.data(), row);
  }
  return {values, bitmap(valid.data())};
}

template <typename T>
auto plain_column(const matched_rows& rows, const added_column& target, const std::optional<column>& given,
                  missing_rule missing, braid::arena& memory) -> column {
  source_values<T> from;
  if (given) {
    from.given = std::get<std::span<const T>>(given->values);
    from.validity = given->validity;
  }
  if (missing == missing_rule::default_value && !is_null(target.default_value)) {
    from.otherwise = std::get<T>(target.default_value);
  }
  const auto [values, validity] = taken_over(rows, from, memory);
  return {.values = values, .validity = validity};
}

/// Builds a string column. The column reuses the dictionary of the second source, unless a default value is not in this
/// dictionary.
auto text_column(const matched_rows& rows, const added_column& target, const std::optional<column>& given,
                 missing_rule missing, braid::arena& memory) -> column {
  source_values<std::uint32_t> from;
  const dictionary* words = nullptr;
  std::uint32_t dimensions = 0;
  if (given) {
    from.given = given->strings()->codes;
    from.validity = given->validity;
    words = given->strings()->words;
    dimensions = given->strings()->dimensions;
  }
  if (missing == missing_rule::default_value && !is_null(target.default_value)) {
    dictionary_builder more(memory);
    if (words != nullptr)
      for (const std::string_view entry : words->entries()) static_cast<void>(more.intern_shared(entry));
    from.otherwise = more.intern_shared(std::get<std::string>(target.default_value));
    words = more.finish();
  }
  if (words == nullptr) words = memory.make<dictionary>();
  const auto [codes, validity] = taken_over(rows, from, memory);
  return {.values = string_values{codes, words, dimensions}, .validity = validity};
}

auto find_column(const matched_rows& rows, const added_column& target, missing_rule missing, braid::arena& memory)
    -> column {
  const std::optional<column> given = rows.right.table().find(target.from_key);
  switch (target.type) {
    case value_type::integer: return plain_column<std::int64_t>(rows, target, given, missing, memory);
    case value_type::boolean: return plain_column<bool>(rows, target, given, missing, memory);
    case value_type::vector:
    case value_type::string: return text_column(rows, target, given, missing, memory);
    case value_type::floating: break;
  }
  return plain_column<double>(rows, target, given, missing, memory);
}

struct join_params {
  join_kind how = join_kind::inner;
  missing_rule missing = missing_rule::null;
  std::uint32_t key_id = 0;
  std::string key_name;
  std::vector<added_column> added;

  [[nodiscard]] auto cost_ns(std::size_t rows) const noexcept -> double {
    return (20.0 + 4.0 * static_cast<double>(added.size())) * static_cast<double>(rows);
  }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> {
    matched_rows rows{.left = context.inputs[0], .right = context.inputs[1], .partners = {}};
    if (how == join_kind::broadcast) {
      if (rows.right.size() > 1) return refused_rows(rows.right.size());
      rows.partners = context.memory.filled(rows.left.size(), rows.right.empty() ? no_partner : rows.right.row(0));
    } else {
      const auto partners = find_partners(rows.left, rows.right, key_id, context.memory);
      if (!partners) return refused_repeat(rows.right, partners.error().row);
      rows.partners = *partners;
      if (how != join_kind::left) return kept(rows, context.memory);
    }
    if (missing == missing_rule::error)
      for (std::size_t position = 0; position < rows.partners.size(); ++position)
        if (rows.partners[position] == no_partner) return refused_missing(rows.left, rows.left.row(position));
    return with_columns(rows, context.memory);
  }

 private:
  /// Returns the rows that have a partner. For an anti join, returns the rows without a partner.
  [[nodiscard]] auto kept(const matched_rows& rows, braid::arena& memory) const -> row_set {
    const std::span<std::uint64_t> stays = memory.filled(words_for(rows.left.size()), std::uint64_t{0});
    for (std::size_t position = 0; position < rows.partners.size(); ++position)
      if ((rows.partners[position] == no_partner) == (how == join_kind::anti)) set_bit(stays.data(), position);
    const bitmap chosen(stays.data());
    const row_set left = rows.left.select(chosen, memory);
    if (added.empty()) return left;
    const std::span<std::uint32_t> partners = memory.uninitialized<std::uint32_t>(left.size());
    std::size_t next = 0;
    chosen.for_each_set(rows.left.size(), [&](std::size_t position) { partners[next++] = rows.partners[position]; });
    return with_columns({.left = left, .right = rows.right, .partners = partners}, memory);
  }

  [[nodiscard]] auto with_columns(const matched_rows& rows, braid::arena& memory) const -> row_set {
    row_set out = rows.left;
    for (const added_column& each : added) {
      BRAID_ASSERT(!out.table().find(each.to_key), "a join must not overwrite a column");
      out = out.with_column(each.to_key, find_column(rows, each, missing, memory), memory);
    }
    return out;
  }

  static auto row_text(const row_set& rows, std::uint32_t row) -> std::string {
    return "row " + std::to_string(row) + " (id " + to_text(rows.table().id(row)) + ")";
  }

  [[nodiscard]] auto refused_repeat(const row_set& right, std::uint32_t row) const -> std::unexpected<op_error> {
    return std::unexpected(op_error{"duplicate_join_key", row_text(right, row) + " of the right side has the same `" +
                                                              key_name + "` as an earlier row"});
  }

  static auto refused_rows(std::size_t rows) -> std::unexpected<op_error> {
    return std::unexpected(op_error{
        "not_one_row", "the right side has " + std::to_string(rows) + " rows; a broadcast join needs exactly one"});
  }

  [[nodiscard]] auto refused_missing(const row_set& left, std::uint32_t row) const -> std::unexpected<op_error> {
    const std::string why = how == join_kind::broadcast ? "" : " with the same `" + key_name + "`";
    return std::unexpected(op_error{"missing_join_partner", row_text(left, row) + " has no partner" + why});
  }
};

constexpr std::array<std::string_view, 5> join_kinds{"inner", "left", "semi", "anti", "broadcast"};
constexpr std::array<std::string_view, 4> of_comparing{"inner", "left", "semi", "anti"};
constexpr std::array<std::string_view, 3> of_adding{"inner", "left", "broadcast"};
constexpr std::array<std::string_view, 2> of_keeping{"left", "broadcast"};
constexpr std::array<std::string_view, 3> missing_rules{"null", "default", "error"};
constexpr std::array join_shape{
    param_shape{.name = "rhs", .kind = param_kind::node_ref},
    param_shape{.name = "how", .kind = param_kind::enumeration, .choices = join_kinds},
    param_shape{.name = "by",
                .kind = param_kind::key_id,
                .need = presence::nullable,
                .choices = scalar_types,
                .when = {.param = "how", .values = of_comparing}},
    param_shape{.name = "select",
                .kind = param_kind::key_ids,
                .choices = scalar_types,
                .when = {.param = "how", .values = of_adding}},
    param_shape{.name = "map",
                .kind = param_kind::key_ids,
                .need = presence::nullable,
                .use = key_use::write,
                .choices = scalar_types,
                .when = {.param = "how", .values = of_adding}},
    param_shape{.name = "on_missing",
                .kind = param_kind::enumeration,
                .need = presence::nullable,
                .choices = missing_rules,
                .when = {.param = "how", .values = of_keeping}},
};

auto refused_map(std::string code, std::string pointer, std::string message) -> braid::diagnostic {
  return {.code = std::move(code),
          .pointer = std::move(pointer),
          .message = std::move(message),
          .hint = "list one key in `map` for each key of `select`, in the same order",
          .node = {},
          .source = {}};
}

/// Checks that `map` fits `select`: the two options must list the same number of keys, with the same types.
void check_map(const plan_param& map, std::span<const key_entry* const> from, std::span<const key_entry* const> to,
               braid::diagnostics& problems) {
  if (from.size() != to.size()) {
    problems.add(
        refused_map("wrong_length", map.pointer,
                    "`map` has " + counted(to.size(), "key") + ", but `select` has " + std::to_string(from.size())));
    return;
  }
  for (std::size_t at = 0; at < to.size(); ++at)
    if (from[at]->type != to[at]->type)
      problems.add(refused_map("wrong_key_type", braid::json_pointer(map.pointer, at),
                               "key " + std::to_string(to[at]->key_id) + " (" + to[at]->name + ") is of type " +
                                   std::string(to_string(to[at]->type)) +
                                   ", but the matching key of `select` is of type " +
                                   std::string(to_string(from[at]->type))));
}

/// Reports null_in_key if a join keeps rows without a partner and would therefore add nulls under a key that does not
/// allow nulls.
void check_missing(const plan_node& node, const plan_param& targets, std::span<const key_entry* const> to,
                   braid::diagnostics& problems) {
  const std::string_view how = join_kinds[find_choice(node, find_param_shape(join_shape, "how"))];
  const bool keeps = std::ranges::find(of_keeping, how) != of_keeping.end();
  if (!keeps || missing_rules[find_choice(node, find_param_shape(join_shape, "on_missing"))] != "null") return;
  for (std::size_t at = 0; at < to.size(); ++at)
    if (!to[at]->nullable)
      problems.add({.code = "null_in_key",
                    .pointer = braid::json_pointer(targets.pointer, at),
                    .message = "rows without a partner would have null under key " + std::to_string(to[at]->key_id) +
                               " (" + to[at]->name + "), which is not nullable",
                    .hint = "set `on_missing` to default or error, or use `map` with a nullable key",
                    .node = {},
                    .source = {}});
}

auto find_added(const plan_node& node, const bind_context& context, braid::diagnostics& problems)
    -> std::vector<added_column> {
  const plan_param* select = node.find_param("select");
  if (select == nullptr) return {};
  const plan_param* map = node.find_param("map");
  const auto from = find_typed_keys(*select, find_param_shape(join_shape, "select"), context, problems);
  auto to = from;
  if (map != nullptr) to = find_typed_keys(*map, find_param_shape(join_shape, "map"), context, problems);
  if (problems.empty() && map != nullptr) check_map(*map, from, to, problems);
  if (problems.empty()) check_missing(node, map != nullptr ? *map : *select, to, problems);
  if (!problems.empty()) return {};
  std::vector<added_column> added;
  for (std::size_t at = 0; at < from.size(); ++at)
    added.push_back({.from_key = from[at]->key_id,
                     .to_key = to[at]->key_id,
                     .type = to[at]->type,
                     .default_value = to[at]->default_value});
  return added;
}

auto bind_join(const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  const key_entry* by = find_by(node, find_param_shape(join_shape, "by"), context, problems);
  std::vector<added_column> added = find_added(node, context, problems);
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return make_bound(
      join_params{.how = static_cast<join_kind>(find_choice(node, find_param_shape(join_shape, "how"))),
                  .missing = static_cast<missing_rule>(find_choice(node, find_param_shape(join_shape, "on_missing"))),
                  .key_id = by->key_id,
                  .key_name = by->name,
                  .added = std::move(added)});
}

}  // namespace

auto entry() -> op_entry {
  return {.shape = {.name = "core::join", .inputs = 1, .params = join_shape},
          .change = row_change::matched,
          .doc = "Combines each row with the rows of another node that have the same value of a key.",
          .bind = &bind_join,
          .adds = {.option = "map", .otherwise = "select", .hint = "rename the key by `map`"}};
}

}  // namespace rankd::detail::join_op
