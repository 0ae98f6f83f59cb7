// rankd/op/operators/testing/sleep.cpp: implements the test operator that returns its input rows after a timer has
// expired.
#include <rankd/op/detail/bound.hpp>

#include <braid/coro/sleep.hpp>

#include <array>
#include <chrono>
#include <variant>

namespace rankd::detail::sleep_op {
namespace {

enum class sleep_end : std::uint8_t { pass_on, fail };

struct sleep_params {
  std::chrono::milliseconds span{};
  sleep_end end = sleep_end::pass_on;

  [[nodiscard]] auto may_fail() const noexcept -> bool { return end == sleep_end::fail; }

  [[nodiscard]] auto start(node_context& context) const -> braid::task<op_result<row_set>> {
    co_await braid::sleep_for(span);
    if (end == sleep_end::fail)
      co_return std::unexpected(op_error{"test_failure", "the node was set to fail after its sleep"});
    co_return context.inputs[0];
  }
};

constexpr std::int64_t max_ms = 3'600'000;

constexpr std::array sleep_shape{
    param_shape{.name = "duration_ms", .kind = param_kind::int64, .range = {.min = 0, .max = max_ms}},
    param_shape{.name = "fail_after_sleep", .kind = param_kind::boolean, .need = presence::nullable},
};

auto bind_sleep(const plan_node& node, const bind_context& /*with*/) -> braid::checked<bound_ptr> {
  const plan_param* fails = node.find_param("fail_after_sleep");
  const bool fail = fails != nullptr && std::get<bool>(fails->value);
  return make_bound(
      sleep_params{.span = std::chrono::milliseconds(std::get<std::int64_t>(node.find_param("duration_ms")->value)),
                   .end = fail ? sleep_end::fail : sleep_end::pass_on});
}

}  // namespace

auto entry() -> op_entry {
  return {.shape = {.name = "test::sleep", .inputs = 1, .params = sleep_shape},
          .change = row_change::preserves_view,
          .doc = "Returns its input rows after `duration_ms`.",
          .bind = &bind_sleep};
}

}  // namespace rankd::detail::sleep_op
