// rankd/op/stored_fields.cpp: reads the fields or strings under the keys of all rows with one request to the store, and
// converts the results to columns.
#include <rankd/op/detail/stored_fields.hpp>

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd::detail {

static_assert(row_keys::none == asked_rows::none);

auto stored_fields::start(node_context& context) const -> braid::task<op_result<row_set>> {
  store* from = context.stores[endpoint];
  if (from == nullptr) co_return no_store();
  const row_set& rows = context.inputs[0];
  const std::uint64_t bytes = rows.table().size() * (sizeof(std::uint32_t) + wanted.size() * (sizeof(double) + 1));
  if (!context.may_make(0, bytes)) co_return over_budget();
  const row_keys named = keys.list_keys(context);
  item_batch found;
  if (!named.asked.empty()) {
    std::vector<std::string_view> names;
    for (const wanted_feature& each : wanted) names.emplace_back(each.name);
    const named_read what{.kind = kind, .keys = named.asked, .fields = names};
    const auto got = answer_to<named_read>(co_await from->ask(what, context.memory));
    if (!got) co_return store_failed(*from, got.error());
    found = *got;
  }
  co_return with_columns(named, found, context);
}

auto stored_fields::with_columns(const row_keys& named, const item_batch& found, node_context& context) const
    -> row_set {
  const row_set& rows = context.inputs[0];
  const asked_rows of{.rows = rows, .asked = named.asked.size(), .places = named.places};
  row_set out = rows;
  for (std::size_t field = 0; field < wanted.size(); ++field) {
    const auto find = [&](std::size_t key, const wanted_feature& /*what*/) -> std::optional<std::string_view> {
      const stored_item& item = found.of_key[key][field];
      return item.is_there ? std::optional(item.text) : std::nullopt;
    };
    out = out.with_column(wanted[field].key_id, find_column(wanted[field], of, find, context), context.memory);
  }
  return out;
}

}  // namespace rankd::detail
