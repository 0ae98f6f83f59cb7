// rankd/engine/detail/capture_rows.hpp: functions that collect the captured rows of a run.
#pragma once

#include <rankd/engine/captured_rows.hpp>
#include <rankd/engine/detail/explain.hpp>
#include <rankd/registry/registries.hpp>

#include <string_view>
#include <vector>

namespace rankd {

/// Returns the rows that the request itself asks to capture, in the order of the request. Returns at most
/// `max_captured_rows` rows in total.
auto captured_for_request(const run_picture& run, const registries& declared) -> std::vector<captured_rows>;

/// Returns whether any node of the plan captures rows of the request with this id.
[[nodiscard]] auto captures_request(const bound_plan& plan, std::string_view request_id) -> bool;

/// Returns the rows that nodes of the plan are set to capture, in the order of the plan.
auto captured_by_plan(const run_picture& run, const registries& declared) -> std::vector<captured_rows>;

}  // namespace rankd
