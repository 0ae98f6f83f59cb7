// rankd/plan/capture_option.cpp: reads the option `capture` of a node.
#include <rankd/plan/detail/capture_option.hpp>

#include <rankd/registry/names.hpp>

#include <cstdint>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

namespace rankd::detail {
namespace {

constexpr param_shape sample_shape{
    .name = "sample", .kind = param_kind::float64, .need = presence::optional, .floats = {.min = 0, .max = 1}};

}  // namespace

void read_capture(object_reader& node, draft& draft, braid::diagnostics& problems, plan_node& out) {
  const nlohmann::json* value = node.object("capture", presence::optional);
  if (value == nullptr) return;
  if (!draft.known.capabilities.find(capture_capability))
    node.report("capture", "capability_not_required", "`capture` needs a capability that the plan does not list",
                "add " + quote_name(capture_capability) + " to `capabilities_required`");
  node_capture made;
  made.pointer = node.pointer_of("capture");
  object_reader in(*value, made.pointer, problems);
  if (const scalar sample = read_number(in, sample_shape); !is_null(sample)) made.sample = std::get<double>(sample);
  made.what.key_ids = read_key_list(in, "key_ids", problems);
  if (const auto rows = in.integer("max_rows", presence::optional, {.min = 1, .max = max_captured_rows}))
    made.what.max_rows = static_cast<std::size_t>(*rows);
  if (const auto side = in.choice("side", presence::optional, capture_side_names))
    made.what.side = static_cast<capture_side>(*side);
  in.refuse_unknown_fields();
  out.capture = std::move(made);
}

}  // namespace rankd::detail
