// rankd/op/store_ops.cpp: the operators that read the store: viewer, follow, recommendation, media.
#include <rankd/op/detail/asking.hpp>
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/detail/entries.hpp>
#include <rankd/op/detail/hash_columns.hpp>
#include <rankd/op/detail/lookup.hpp>
#include <rankd/op/option_value.hpp>
#include <rankd/plan/key_template.hpp>
#include <rankd/rows/column_builder.hpp>

#include <braid/base/error.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace rankd::detail {
namespace {

constexpr std::string_view country_field = "country";
constexpr std::string_view user_prefix = "user:";

/// The column `country` of users; null where the user or the field is absent.
auto countries(std::uint32_t key) -> hash_columns {
  return {.prefix = std::string(user_prefix),
          .wanted = {{.key_id = key, .name = std::string(country_field), .type = value_type::string, .otherwise = {}}}};
}

/// The row of a user whose id is a text, which stands escaped in the key as in a key_template, with the country.
auto viewer_by_text(const std::string& id, batch row, store& from, std::uint32_t key, braid::arena& memory)
    -> braid::task<op_result<row_set>> {
  std::string name(user_prefix);
  append_escaped(name, id);
  const std::array keys{std::string_view(name)};
  const std::array fields{country_field};
  const named_read what{.kind = read_kind::fields, .keys = keys, .fields = fields};
  auto reading = from.read(what, memory);
  const store_result<item_batch> found = co_await std::move(reading);
  if (!found) co_return store_failed(from, found.error());
  column_builder<std::string_view> countries(memory, 1);
  if (const stored_item& country = found->of_key[0][0]; country.is_there)
    countries.push(country.text);
  else
    countries.push_null();
  co_return row_set(row.with_column(key, countries.finish(), memory));
}

struct viewer_params {
  std::uint32_t endpoint = 0;
  hash_columns country;

  [[nodiscard]] auto start(node_context& context) const -> braid::task<op_result<row_set>> {
    store* from = context.stores[endpoint];
    if (from == nullptr) return ended(no_store());
    const auto* text = std::get_if<std::string>(context.user);
    const batch row = text != nullptr ? row_of(*text, context.memory) : row_of(context);
    if (!context.wants_extras) return ended(row_set(row));
    if (text != nullptr) return viewer_by_text(*text, row, *from, country.wanted.front().key_id, context.memory);
    return country.add_to(row_set(row), *from, context);
  }

 private:
  static auto row_of(const std::string& id, braid::arena& memory) -> batch {
    column_builder<std::string_view> ids(memory, 1);
    ids.push(id);
    return batch(*ids.finish().strings());
  }

  static auto row_of(node_context& context) -> batch {
    const std::int64_t id = context.user == nullptr ? 0 : std::get<std::int64_t>(*context.user);
    return batch(context.memory.filled(1, id));
  }
};

/// What a source by list gives besides ids.
enum class list_columns : std::uint8_t { none, country };

struct list_params {
  std::string_view prefix;
  std::uint32_t endpoint = 0;
  option_value<std::int64_t> fanout = {};
  std::optional<hash_columns> country = {};

  [[nodiscard]] auto start(node_context& context) const -> braid::task<op_result<row_set>> {
    store* from = context.stores[endpoint];
    if (from == nullptr) co_return no_store();
    op_result<std::span<const std::int64_t>> ids;
    if (!context.inputs[0].empty()) {
      const std::span<const std::int64_t> owners = owners_of(context);
      const std::span<const std::int64_t> asked = distinct(owners, context.memory);
      const auto first = static_cast<std::uint32_t>(fanout.in(context.params));
      auto reading = from->lrange_ids({prefix, asked}, first, context.memory);
      const store_result<id_batch> found = co_await std::move(reading);
      if (!found) co_return store_failed(*from, found.error());
      context.malformed_ids += found->malformed;
      ids = joined(lists_of(owners, asked, *found, context), context);
    }
    if (!ids) co_return std::unexpected(ids.error());
    row_set rows{batch(*ids)};
    if (!country || !context.wants_extras) co_return rows;
    auto adding = country->add_to(std::move(rows), *from, context);
    co_return co_await std::move(adding);
  }

 private:
  /// The ids of the active rows, in their order.
  static auto owners_of(const node_context& context) -> std::span<const std::int64_t> {
    const row_set& rows = context.inputs[0];
    const std::span<std::int64_t> owners = context.memory.uninitialized<std::int64_t>(rows.size());
    for (std::size_t at = 0; at < rows.size(); ++at) owners[at] = rows.id(at);
    return owners;
  }

  /// The list of each owner.
  static auto lists_of(std::span<const std::int64_t> owners, std::span<const std::int64_t> asked, const id_batch& found,
                       const node_context& context) -> std::span<const std::span<const std::int64_t>> {
    const auto lists = context.memory.uninitialized<std::span<const std::int64_t>>(owners.size());
    for (std::size_t at = 0; at < owners.size(); ++at) lists[at] = found.lists[place_of(owners[at], asked)];
    return lists;
  }

  /// All of them, one behind the other.
  static auto joined(std::span<const std::span<const std::int64_t>> lists, node_context& context)
      -> op_result<std::span<const std::int64_t>> {
    std::size_t total = 0;
    for (const auto list : lists) total += list.size();
    if (total > batch::max_rows)
      return std::unexpected(op_error{"too_many_rows", "the lists hold " + std::to_string(total) + " ids together"});
    if (!context.may_make(total, total * sizeof(std::int64_t))) return over_budget();
    const std::span<std::int64_t> ids = context.memory.uninitialized<std::int64_t>(total);
    auto out = ids.begin();
    for (const auto list : lists) out = std::ranges::copy(list, out).out;
    return ids;
  }
};

constexpr std::array viewer_shape{store_endpoint};

constexpr std::array list_shape{
    store_endpoint,
    param_shape{.name = "fanout",
                .kind = param_kind::int64,
                .range = {.min = 1, .max = max_rows_of_a_source},
                .bindable = true},
};

constexpr std::array media_shape{
    store_endpoint,
    param_shape{.name = "fanout", .kind = param_kind::int64, .range = {.min = 1, .max = 10'000}, .bindable = true},
};

auto bind_viewer(const plan_node& node, const bind_context& with) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  const std::uint32_t endpoint = find_redis_endpoint(*node.find_param("endpoint"), with, problems);
  const key_entry* country = find_string_key(country_field, node, with, problems);
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return make_bound(viewer_params{.endpoint = endpoint, .country = countries(country->key_id)});
}

template <list_columns Columns>
auto bind_list(std::string_view prefix, const plan_node& node, const bind_context& with) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  list_params params{.prefix = prefix};
  need_integer_ids(node, with, "core::list reads the same by `key`: " + std::string(prefix) + "{id}", problems);
  params.endpoint = find_redis_endpoint(*node.find_param("endpoint"), with, problems);
  params.fanout = option_value<std::int64_t>(*node.find_param("fanout"), with.declared);
  if constexpr (Columns == list_columns::country) {
    const key_entry* country = find_string_key(country_field, node, with, problems);
    if (country != nullptr) params.country = countries(country->key_id);
  }
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return make_bound(std::move(params));
}

auto bind_follow(const plan_node& node, const bind_context& with) -> braid::checked<bound_ptr> {
  return bind_list<list_columns::country>("follow:", node, with);
}

auto bind_recommendation(const plan_node& node, const bind_context& with) -> braid::checked<bound_ptr> {
  return bind_list<list_columns::country>("recommendation:", node, with);
}

auto bind_media(const plan_node& node, const bind_context& with) -> braid::checked<bound_ptr> {
  return bind_list<list_columns::none>("media:", node, with);
}

}  // namespace

auto viewer_entry() -> op_entry {
  return {.shape = {.name = "core::viewer", .inputs = 0, .params = viewer_shape},
          .change = row_change::dense_source,
          .doc = "One row: the user of the request, with the country of hash user:ID.",
          .bind = &bind_viewer,
          .reads = request_part::user};
}

auto follow_entry() -> op_entry {
  return {.shape = {.name = "core::follow", .inputs = 1, .params = list_shape},
          .change = row_change::dense_source,
          .doc = "For each row the first ids of list follow:ID, each with its country.",
          .bind = &bind_follow};
}

auto recommendation_entry() -> op_entry {
  return {.shape = {.name = "core::recommendation", .inputs = 1, .params = list_shape},
          .change = row_change::dense_source,
          .doc = "For each row the first ids of list recommendation:ID, each with its country.",
          .bind = &bind_recommendation};
}

auto media_entry() -> op_entry {
  return {.shape = {.name = "core::media", .inputs = 1, .params = media_shape},
          .change = row_change::dense_source,
          .doc = "For each row the first ids of list media:ID.",
          .bind = &bind_media};
}

}  // namespace rankd::detail
