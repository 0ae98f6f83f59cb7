// rankd/cli/serve/served_stores.cpp: selects stores by the resolvers and policies of their endpoints.
#include <rankd/cli/serve/served_stores.hpp>

#include <algorithm>
#include <utility>
#include <variant>

namespace rankd {

auto list_scrubbed(const workspace& workspace, const open_stores& stores) -> std::vector<store_scrubber::target> {
  std::vector<store_scrubber::target> found;
  for (std::size_t at = 0; at < stores.owned.size(); ++at)
    if (const endpoint_entry& each = workspace.declared.endpoints()[at];
        stores.owned[at] && std::holds_alternative<embedded_resolver>(each.resolver))
      found.push_back({.endpoint_id = each.endpoint_id, .reads = stores.owned[at].get()});
  return found;
}

auto list_followed(const workspace& workspace, const open_stores& stores) -> std::vector<store_follower::target> {
  std::vector<store_follower::target> found;
  for (const store_scrubber::target& each : list_scrubbed(workspace, stores))
    if (followed_store* const follows = each.reads->followed()) found.push_back({each.endpoint_id, follows});
  return found;
}

auto list_merged(const workspace& workspace, const std::vector<store_follower::target>& stores)
    -> std::vector<vector_merger::target> {
  std::vector<vector_merger::target> found;
  for (const endpoint_entry& each : workspace.declared.endpoints()) {
    if (!each.policy.changes) continue;
    const auto store =
        std::ranges::find(stores, each.policy.changes->endpoint_id, &store_follower::target::endpoint_id);
    if (store != stores.end())
      found.push_back({.endpoint_id = each.endpoint_id,
                       .file = workspace.where.root / std::get<file_resolver>(each.resolver).path,
                       .list = *each.policy.changes,
                       .store = store->follows});
  }
  return found;
}

auto open_shadow_stores(const workspace& workspace, const open_stores& served) -> braid::checked<shadow_stores> {
  shadow_stores out;
  for (std::size_t at = 0; at < served.owned.size(); ++at) {
    const endpoint_entry& endpoint = workspace.declared.endpoints()[at];
    out.all.push_back(served.owned[at].get());
    if (served.owned[at] == nullptr || std::holds_alternative<embedded_resolver>(endpoint.resolver)) continue;
    auto made = open_store(endpoint, workspace.where.root, server_messages::hidden);
    if (!made) return std::unexpected(std::move(made.error()));
    out.all.back() = out.own.emplace_back(std::move(*made)).get();
  }
  return out;
}

}  // namespace rankd
