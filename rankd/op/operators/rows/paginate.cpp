// rankd/op/operators/rows/paginate.cpp: implements the operator that returns one page of its input rows. The request's
// cursor selects the page.
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/option_value.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace rankd::detail::paginate_op {
namespace {

struct paginate_params {
  option_value<std::int64_t> size;

  [[nodiscard]] auto cost_ns(std::size_t /*rows*/, std::span<const scalar> params) const noexcept -> double {
    return 20 + static_cast<double>(size.in(params));
  }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> {
    const row_set& rows = context.inputs[0];
    const std::size_t begin = std::min<std::uint64_t>(context.page_begin, rows.size());
    const std::size_t count = std::min(static_cast<std::size_t>(size.in(context.params)), rows.size() - begin);
    if (begin + count < rows.size()) context.next_page = begin + count;
    if (begin == 0) return rows.take(count);
    if (!context.may_make(0, count * sizeof(std::uint32_t))) return over_budget();
    const std::span<std::uint32_t> order = context.memory.uninitialized<std::uint32_t>(count);
    for (std::size_t at = 0; at < count; ++at) order[at] = rows.row(begin + at);
    return row_set(rows.table(), order);
  }
};

constexpr std::array paginate_shape{
    param_shape{.name = "size", .kind = param_kind::int64, .range = {.min = 1, .max = 10'000}, .bindable = true}};

auto bind_paginate(const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  return make_bound(paginate_params{option_value<std::int64_t>(*node.find_param("size"), context.declared)});
}

}  // namespace

auto entry() -> op_entry {
  return {.shape = {.name = "core::paginate", .inputs = 1, .params = paginate_shape},
          .change = row_change::selection,
          .doc = "Returns one page of the rows: the first page, or the page that begins at the cursor of the request.",
          .bind = &bind_paginate,
          .reads = request_part::cursor};
}

}  // namespace rankd::detail::paginate_op
