// rankd/op/operators/sources/candidates.cpp: implements the source that returns the rows of the request's field
// `candidates`.
#include <rankd/op/candidates.hpp>

#include <rankd/op/detail/bound.hpp>
#include <rankd/op/detail/lookup.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

namespace rankd::detail::candidates_op {
namespace {

struct candidates_params {
  std::vector<std::uint32_t> keys;  // ascending

  [[nodiscard]] auto cost_ns(std::size_t /*rows*/) const noexcept -> double {
    return 50 + 10 * static_cast<double>(keys.size());  // the columns are shared with the request, not copied
  }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> {
    if (context.candidates == nullptr)
      return std::unexpected(op_error{"missing_candidates", "the request carries no candidates"});
    const batch& given = context.candidates->rows;
    if (!context.may_make(given.size(), context.candidates->memory.used())) return over_budget();
    const std::span<keyed_column> columns = context.memory.uninitialized<keyed_column>(keys.size());
    std::size_t count = 0;
    for (const std::uint32_t key : keys)
      if (const std::optional<column> values = given.find(key)) columns[count++] = {.key_id = key, .values = *values};
    return row_set(given.with_only(columns.first(count)));
  }
};

constexpr std::array<std::string_view, 5> column_types{"int", "float", "string", "bool", "vector"};
constexpr std::array candidates_shape{param_shape{.name = "keys",
                                                  .kind = param_kind::key_ids,
                                                  .need = presence::nullable,
                                                  .use = key_use::write,
                                                  .choices = column_types}};

auto bind_candidates(const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  candidates_params params;
  if (const plan_param* keys = node.find_param("keys")) {
    braid::diagnostics problems;
    find_typed_keys(*keys, candidates_shape[0], context, problems);
    if (!problems.empty()) return std::unexpected(std::move(problems));
    params.keys = keys->key_ids;
    std::ranges::sort(params.keys);
  }
  return make_bound(std::move(params));
}

}  // namespace

auto entry() -> op_entry {
  return {.shape = {.name = "core::candidates", .inputs = 0, .params = candidates_shape},
          .change = row_change::dense_source,
          .doc = "Returns the candidates of the request as rows, with the columns of these keys.",
          .bind = &bind_candidates,
          .reads = request_part::candidates};
}

}  // namespace rankd::detail::candidates_op
