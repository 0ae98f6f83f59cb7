// rankd/op/operators/testing/busy_cpu.cpp: implements the test operator that keeps a core busy for some time and then
// returns its input rows.
#include <rankd/op/detail/bound.hpp>

#include <array>
#include <chrono>
#include <variant>

namespace rankd::detail::busy_cpu_op {
namespace {

struct busy_cpu_params {
  std::chrono::milliseconds span{};

  [[nodiscard]] static auto may_fail() noexcept -> bool { return false; }

  [[nodiscard]] auto cost_ns(std::size_t /*rows*/) const noexcept -> double {
    return std::chrono::duration<double, std::nano>(span).count();
  }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> {
    if (span == span.zero()) return context.inputs[0];
    const auto until = std::chrono::steady_clock::now() + span;
    while (std::chrono::steady_clock::now() < until)
      if (context.stop->requested())
        return std::unexpected(op_error{"stopped", "the node was stopped during its computation"});
    return context.inputs[0];
  }
};

constexpr std::int64_t max_ms = 3'600'000;

constexpr std::array busy_cpu_shape{
    param_shape{.name = "busy_wait_ms", .kind = param_kind::int64, .range = {.min = 0, .max = max_ms}}};

auto bind_busy_cpu(const plan_node& node, const bind_context& /*with*/) -> braid::checked<bound_ptr> {
  return make_bound(
      busy_cpu_params{std::chrono::milliseconds(std::get<std::int64_t>(node.find_param("busy_wait_ms")->value))});
}

}  // namespace

auto entry() -> op_entry {
  return {.shape = {.name = "test::busy_cpu", .inputs = 1, .params = busy_cpu_shape},
          .change = row_change::preserves_view,
          .doc = "Returns its input rows after computing for `busy_wait_ms`.",
          .bind = &bind_busy_cpu};
}

}  // namespace rankd::detail::busy_cpu_op
