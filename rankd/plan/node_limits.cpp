// rankd/plan/node_limits.cpp: reading the time limit and the retries of a node.
#include <rankd/plan/detail/node_limits.hpp>

#include <rankd/registry/names.hpp>

#include <algorithm>
#include <string>
#include <string_view>

namespace rankd::detail {
namespace {

constexpr int_range timeout_range{.min = 1, .max = 3'600'000};
constexpr int_range retries_range{.min = 1, .max = 5};

void require_capability(object_reader& node, std::string_view field, std::string_view capability, const draft& into) {
  if (into.known.capabilities.find(capability)) return;
  node.report(field, "capability_not_required",
              quote_name(field) + " belongs to a capability, which the plan does not require",
              "add " + quote_name(capability) + " to `capabilities_required`");
}

auto reads_store(const op_shape& shape) -> bool {
  const auto endpoint = std::ranges::find(shape.params, param_kind::endpoint_ref, &param_shape::kind);
  return endpoint != shape.params.end() && std::ranges::find(endpoint->choices, "vectors") == endpoint->choices.end();
}

}  // namespace

void read_limits(object_reader& node, const op_shape* shape, draft& into, plan_node& out) {
  out.timeout_ms = node.integer("timeout_ms", presence::optional, timeout_range);
  if (out.timeout_ms) require_capability(node, "timeout_ms", timeout_capability, into);
  const auto retries = node.integer("retries", presence::optional, retries_range);
  if (!retries) return;
  out.retries = *retries;
  require_capability(node, "retries", retry_capability, into);
  if (shape != nullptr && !reads_store(*shape))
    node.report("retries", "bad_value", quote_name(shape->name) + " reads no store, so it fails again",
                "leave out `retries`");
}

}  // namespace rankd::detail
