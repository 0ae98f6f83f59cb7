// rankd/op/test_ops.cpp: operators whose only purpose is to take a known time or give known rows.
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/detail/entries.hpp>
#include <rankd/op/detail/lookup.hpp>

#include <braid/base/clock.hpp>
#include <braid/coro/sleep.hpp>

#include <array>
#include <chrono>
#include <numeric>
#include <string>

namespace rankd::detail {
namespace {

struct fixed_source_params {
  std::size_t rows = 1;

  [[nodiscard]] auto cost_ns(std::size_t /*incoming*/) const noexcept -> double { return static_cast<double>(rows); }
  [[nodiscard]] static auto may_fail() noexcept -> bool { return false; }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> {
    if (!context.may_make(rows, rows * sizeof(std::int64_t))) return over_budget();
    const std::span<std::int64_t> ids = context.memory.uninitialized<std::int64_t>(rows);
    std::iota(ids.begin(), ids.end(), std::int64_t{1});
    return row_set(batch(ids));
  }
};

enum class sleep_end : std::uint8_t { pass_on, fail };

struct sleep_params {
  std::chrono::milliseconds span{};
  sleep_end end = sleep_end::pass_on;

  [[nodiscard]] auto may_fail() const noexcept -> bool { return end == sleep_end::fail; }

  [[nodiscard]] auto start(node_context& context) const -> braid::task<op_result<row_set>> {
    co_await braid::sleep_for(span);
    if (end == sleep_end::fail)
      co_return std::unexpected(op_error{"test_failure", "it was set to fail after its sleep"});
    co_return context.inputs[0];
  }
};

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
      if (context.stop->requested()) return std::unexpected(op_error{"stopped", "it was stopped while it computed"});
    return context.inputs[0];
  }
};

constexpr std::int64_t max_ms = 3'600'000;
constexpr std::array fixed_source_shape{param_shape{.name = "row_count",
                                                    .kind = param_kind::int64,
                                                    .need = presence::nullable,
                                                    .range = {.min = 0, .max = 10'000'000}}};
constexpr std::array sleep_shape{
    param_shape{.name = "duration_ms", .kind = param_kind::int64, .range = {.min = 0, .max = max_ms}},
    param_shape{.name = "fail_after_sleep", .kind = param_kind::boolean, .need = presence::nullable},
};
constexpr std::array busy_cpu_shape{
    param_shape{.name = "busy_wait_ms", .kind = param_kind::int64, .range = {.min = 0, .max = max_ms}}};

auto bind_fixed_source(const plan_node& node, const bind_context& with) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  need_integer_ids(node, with, "", problems);
  if (!problems.empty()) return std::unexpected(std::move(problems));
  const plan_param* rows = node.find_param("row_count");
  return make_bound(
      fixed_source_params{rows == nullptr ? 1 : static_cast<std::size_t>(std::get<std::int64_t>(rows->value))});
}

auto milliseconds_of(const plan_param& param) -> std::chrono::milliseconds {
  return std::chrono::milliseconds(std::get<std::int64_t>(param.value));
}

auto bind_sleep(const plan_node& node, const bind_context& /*with*/) -> braid::checked<bound_ptr> {
  const plan_param* fails = node.find_param("fail_after_sleep");
  const bool fail = fails != nullptr && std::get<bool>(fails->value);
  return make_bound(sleep_params{.span = milliseconds_of(*node.find_param("duration_ms")),
                                 .end = fail ? sleep_end::fail : sleep_end::pass_on});
}

auto bind_busy_cpu(const plan_node& node, const bind_context& /*with*/) -> braid::checked<bound_ptr> {
  return make_bound(busy_cpu_params{milliseconds_of(*node.find_param("busy_wait_ms"))});
}

}  // namespace

auto fixed_source_entry() -> op_entry {
  return {.shape = {.name = "test::fixed_source", .inputs = 0, .params = fixed_source_shape},
          .change = row_change::dense_source,
          .doc = "Rows with the ids 1 to row_count.",
          .bind = &bind_fixed_source};
}

auto sleep_entry() -> op_entry {
  return {.shape = {.name = "test::sleep", .inputs = 1, .params = sleep_shape},
          .change = row_change::preserves_view,
          .doc = "Its input, after a timer.",
          .bind = &bind_sleep};
}

auto busy_cpu_entry() -> op_entry {
  return {.shape = {.name = "test::busy_cpu", .inputs = 1, .params = busy_cpu_shape},
          .change = row_change::preserves_view,
          .doc = "Its input, after computing for that time.",
          .bind = &bind_busy_cpu};
}

}  // namespace rankd::detail
