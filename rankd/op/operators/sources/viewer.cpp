// rankd/op/operators/sources/viewer.cpp: implements the source that returns one row, which is the user of the request.
#include <rankd/op/detail/asking.hpp>
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/detail/countries.hpp>
#include <rankd/op/detail/lookup.hpp>
#include <rankd/plan/key_template.hpp>
#include <rankd/rows/column_builder.hpp>

#include <array>
#include <string>
#include <utility>

namespace rankd::detail::viewer_op {
namespace {

/// Returns the row of a user whose id is a string, with the column `country`. In the store's key, the id is escaped in
/// the same way as in a key_template.
auto viewer_by_text(const std::string& id, batch row, store& store, std::uint32_t key, braid::arena& memory)
    -> braid::task<op_result<row_set>> {
  std::string name(user_prefix);
  append_escaped(name, id);
  const std::array keys{std::string_view(name)};
  const std::array fields{country_field};
  const named_read what{.kind = read_kind::fields, .keys = keys, .fields = fields};
  const auto found = answer_to<named_read>(co_await store.ask(what, memory));
  if (!found) co_return store_failed(store, found.error());
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
    const batch row = text != nullptr ? find_row(*text, context.memory) : find_row(context);
    if (!context.wants_extras) return ended(row_set(row));
    if (text != nullptr) return viewer_by_text(*text, row, *from, country.wanted.front().key_id, context.memory);
    return country.add_to(row_set(row), *from, context);
  }

 private:
  static auto find_row(const std::string& id, braid::arena& memory) -> batch {
    column_builder<std::string_view> ids(memory, 1);
    ids.push(id);
    return batch(*ids.finish().strings());
  }

  static auto find_row(node_context& context) -> batch {
    const std::int64_t id = context.user == nullptr ? 0 : std::get<std::int64_t>(*context.user);
    return batch(context.memory.filled(1, id));
  }
};

constexpr std::array viewer_shape{store_endpoint};
constexpr std::array<std::string_view, 1> forms{"user:{id}"};

auto bind_viewer(const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  const std::uint32_t endpoint = find_redis_endpoint(*node.find_param("endpoint"), context, problems);
  const key_entry* country = find_string_key(country_field, node, context, problems);
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return make_bound(viewer_params{.endpoint = endpoint, .country = countries(country->key_id)});
}

}  // namespace

auto entry() -> op_entry {
  return {.shape = {.name = "core::viewer", .inputs = 0, .params = viewer_shape},
          .change = row_change::dense_source,
          .doc = "Returns one row: the user of the request, with the country of hash user:ID.",
          .bind = &bind_viewer,
          .reads = request_part::user,
          .records = {.keys = forms},
          .extra_column = country_field};
}

}  // namespace rankd::detail::viewer_op
