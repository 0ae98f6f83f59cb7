// rankd/plan/node_limits.cpp: reads the time limit, the retries and the hedge of a node.
#include <rankd/plan/detail/node_limits.hpp>

#include <rankd/registry/names.hpp>

#include <algorithm>
#include <string>
#include <string_view>

namespace rankd::detail {
namespace {

constexpr int_range timeout_range{.min = 1, .max = 3'600'000};
constexpr int_range retries_range{.min = 1, .max = 5};

void require_capability(object_reader& node, std::string_view field, std::string_view capability, const draft& draft) {
  if (draft.known.capabilities.find(capability)) return;
  node.report(field, "capability_not_required", quote_name(field) + " needs a capability that the plan does not list",
              "add " + quote_name(capability) + " to `capabilities_required`");
}

/// Returns whether the operator uses an endpoint of a kind other than `kind`.
auto asks_other_than(const op_shape& shape, std::string_view kind) -> bool {
  const auto endpoint = std::ranges::find(shape.params, param_kind::endpoint_ref, &param_shape::kind);
  return endpoint != shape.params.end() && std::ranges::find(endpoint->choices, kind) == endpoint->choices.end();
}

auto reads_store(const op_shape& shape) -> bool { return asks_other_than(shape, "vectors"); }

void read_hedge_ms(object_reader& node, const op_shape* shape, const draft& draft, plan_node& out) {
  const auto after = node.integer("hedge_ms", presence::optional, timeout_range);
  if (!after) return;
  out.hedge_ms = *after;
  require_capability(node, "hedge_ms", hedge_capability, draft);
  if (shape != nullptr && !(reads_store(*shape) && asks_other_than(*shape, "http")))
    node.report("hedge_ms", "bad_value", quote_name(shape->name) + " reads no store, so there is no read to send again",
                "leave out `hedge_ms`");
  else if (out.timeout_ms && *after >= *out.timeout_ms)
    node.report("hedge_ms", "bad_value", "the node times out before a read is sent again",
                "choose a time below the node's `timeout_ms`");
}

}  // namespace

void read_limits(object_reader& node, const op_shape* shape, draft& draft, plan_node& out) {
  out.timeout_ms = node.integer("timeout_ms", presence::optional, timeout_range);
  if (out.timeout_ms) require_capability(node, "timeout_ms", timeout_capability, draft);
  read_hedge_ms(node, shape, draft, out);
  const auto retries = node.integer("retries", presence::optional, retries_range);
  if (!retries) return;
  out.retries = *retries;
  require_capability(node, "retries", retry_capability, draft);
  if (shape != nullptr && !reads_store(*shape))
    node.report("retries", "bad_value",
                quote_name(shape->name) + " reads no store, so a retry would fail in the same way",
                "leave out `retries`");
}

}  // namespace rankd::detail
