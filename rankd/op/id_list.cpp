// rankd/op/id_list.cpp: requests the list of each distinct id once, and joins the lists in the order of the rows.
#include <rankd/op/detail/id_list.hpp>

#include <rankd/op/detail/countries.hpp>
#include <rankd/op/detail/lookup.hpp>
#include <rankd/op/option_value.hpp>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace rankd::detail {
namespace {

struct id_list_params {
  std::string_view prefix;
  std::uint32_t endpoint = 0;
  option_value<std::int64_t> fanout = {};
  std::optional<hash_columns> country = {};

  [[nodiscard]] auto start(node_context& context) const -> braid::task<op_result<row_set>> {
    store* from = context.stores[endpoint];
    if (from == nullptr) co_return no_store();
    op_result<std::span<const std::int64_t>> ids;
    if (!context.inputs[0].empty()) {
      const std::span<const std::int64_t> owners = list_owners(context);
      const std::span<const std::int64_t> asked = distinct_ids(owners, context.memory);
      const auto first = static_cast<std::uint32_t>(fanout.in(context.params));
      const list_read what{.keys = {.prefix = prefix, .ids = asked}, .first = first};
      const auto found = answer_to<list_read>(co_await from->ask(what, context.memory));
      if (!found) co_return store_failed(*from, found.error());
      context.malformed_ids += found->malformed;
      ids = joined(find_lists(owners, asked, *found, context), context);
    }
    if (!ids) co_return std::unexpected(ids.error());
    row_set rows{batch(*ids)};
    if (!country || !context.wants_extras) co_return rows;
    auto adding = country->add_to(std::move(rows), *from, context);
    co_return co_await std::move(adding);
  }

 private:
  /// Returns the ids of the active rows, in the order of the rows.
  static auto list_owners(const node_context& context) -> std::span<const std::int64_t> {
    const row_set& rows = context.inputs[0];
    const std::span<std::int64_t> owners = context.memory.uninitialized<std::int64_t>(rows.size());
    for (std::size_t at = 0; at < rows.size(); ++at) owners[at] = rows.id(at);
    return owners;
  }

  /// Returns the list of each owner id. Rows with the same owner id share a list.
  static auto find_lists(std::span<const std::int64_t> owners, std::span<const std::int64_t> asked,
                         const id_batch& found, const node_context& context)
      -> std::span<const std::span<const std::int64_t>> {
    const auto lists = context.memory.uninitialized<std::span<const std::int64_t>>(owners.size());
    for (std::size_t at = 0; at < owners.size(); ++at) lists[at] = found.lists[find_id(owners[at], asked)];
    return lists;
  }

  /// Returns the ids of all lists, concatenated.
  static auto joined(std::span<const std::span<const std::int64_t>> lists, node_context& context)
      -> op_result<std::span<const std::int64_t>> {
    std::size_t total = 0;
    for (const auto list : lists) total += list.size();
    if (total > batch::max_rows)
      return std::unexpected(op_error{
          "too_many_rows", "the lists together contain more ids than a batch can hold: " + std::to_string(total)});
    if (!context.may_make(total, total * sizeof(std::int64_t))) return over_budget();
    const std::span<std::int64_t> ids = context.memory.uninitialized<std::int64_t>(total);
    auto out = ids.begin();
    for (const auto list : lists) out = std::ranges::copy(list, out).out;
    return ids;
  }
};

}  // namespace

auto bind_id_list(std::string_view prefix, list_columns columns, const plan_node& node, const bind_context& context)
    -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  id_list_params params{.prefix = prefix};
  need_integer_ids(node, context, "use core::list with `key`: " + std::string(prefix) + "{id}", problems);
  params.endpoint = find_redis_endpoint(*node.find_param("endpoint"), context, problems);
  params.fanout = option_value<std::int64_t>(*node.find_param("fanout"), context.declared);
  if (columns == list_columns::country) {
    const key_entry* country = find_string_key(country_field, node, context, problems);
    if (country != nullptr) params.country = countries(country->key_id);
  }
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return make_bound(std::move(params));
}

}  // namespace rankd::detail
