// rankd/cli/serve/served_stores.hpp: lists the stores of a project for the parts of a server that work on them.
#pragma once

#include <rankd/embed/workspace.hpp>
#include <rankd/server/rank_server.hpp>
#include <rankd/server/store_follower.hpp>
#include <rankd/server/store_scrubber.hpp>
#include <rankd/server/vector_merger.hpp>

#include <braid/base/error.hpp>

#include <vector>

namespace rankd {

/// Returns the embedded stores of a workspace, with the ids of their endpoints, for `store_scrubber`.
auto list_scrubbed(const workspace& workspace, const open_stores& stores) -> std::vector<store_scrubber::target>;

/// Returns the embedded stores that can switch to new generations, for `store_follower`.
auto list_followed(const workspace& workspace, const open_stores& stores) -> std::vector<store_follower::target>;

/// Returns the files of vectors whose changes are listed in one of the stores, for `vector_merger`.
auto list_merged(const workspace& workspace, const std::vector<store_follower::target>& stores)
    -> std::vector<vector_merger::target>;

/// Opens stores for candidate plans. Each Redis gets separate connections, so that no served request waits for a
/// candidate. Embedded stores have no connections, and are shared.
auto open_shadow_stores(const workspace& workspace, const open_stores& served) -> braid::checked<shadow_stores>;

}  // namespace rankd
