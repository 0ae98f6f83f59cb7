// rankd/server/endpoints/endpoint.hpp: the endpoints of a server and their paths. Metrics and spans use the paths as
// names.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rankd {

/// The endpoints of a server. `other` stands for requests that reach no endpoint.
enum class endpoint : std::uint8_t {
  rank,
  batch,
  events,
  records,
  plans,
  plan,
  health,
  ready,
  metrics,
  limits,
  tasks,
  trace,
  shadow,
  openapi,
  page,
  versions,
  diff,
  diff_answers,
  diff_traffic,
  traffic,
  source,
  draft,
  completions,
  option,
  project,
  pin,
  unpin,
  roll_back,
  reload,
  grpc_rank,
  grpc_batch,
  grpc_events,
  grpc_health_check,
  grpc_health_watch,
  grpc_reflection,
  grpc_reflection_alpha,
  grpc_other,
  other
};

/// The paths of the endpoints, in the order of the enumeration.
inline constexpr std::array<std::string_view, static_cast<std::size_t>(endpoint::other) + 1> endpoint_paths{
    "/v1/rank",
    "/v1/rank/batch",
    "/v1/events",
    "/v1/records",
    "/v1/plans",
    "/v1/plans/{name}",
    "/healthz",
    "/readyz",
    "/metrics",
    "/v1/limits",
    "/v1/tasks",
    "/v1/trace",
    "/v1/shadow/{name}",
    "/v1/openapi.json",
    "/ui",
    "/v1/plans/{name}/versions",
    "/v1/plans/{name}/diff",
    "/v1/plans/{name}/diff/answers",
    "/v1/plans/{name}/diff/traffic",
    "/v1/traffic",
    "/v1/plans/{name}/source",
    "/v1/plans/{name}/draft",
    "/v1/plans/{name}/completions",
    "/v1/plans/{name}/option",
    "/v1/plans/{name}/project",
    "/v1/plans/{name}/versions/{number}/pin",
    "/v1/plans/{name}/unpin",
    "/v1/plans/{name}/rollback",
    "/v1/reload",
    "/rankd.v1.Ranking/Rank",
    "/rankd.v1.Ranking/RankBatch",
    "/rankd.v1.Ranking/Events",
    "/grpc.health.v1.Health/Check",
    "/grpc.health.v1.Health/Watch",
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    "/rankd.v1.Ranking/{method}",
    "other"};

/// Returns the path of an endpoint, with `{name}` in place of the variable part. Returns "other" for `endpoint::other`.
[[nodiscard]] constexpr auto name_of(endpoint endpoint) noexcept -> std::string_view {
  return endpoint_paths[static_cast<std::size_t>(endpoint)];
}

/// Returns whether an endpoint is a gRPC method.
[[nodiscard]] constexpr auto is_grpc(endpoint value) noexcept -> bool {
  return value >= endpoint::grpc_rank && value <= endpoint::grpc_other;
}

}  // namespace rankd
