// rankd/registry/registry_change.hpp: what of new registries a server can take over while it runs.
#pragma once

#include <rankd/registry/registries.hpp>

#include <braid/base/error.hpp>

#include <memory>
#include <string>
#include <vector>

namespace rankd {

/// What becomes of registries whose files have been read again.
struct registry_change {
  /// Those that serve from now on: the earlier ones, the same object, where nothing has changed that plans or requests
  /// notice, such as a doc.
  std::shared_ptr<const registries> next;
  std::vector<std::string> until_restart;  ///< sentences: what was left out of them
};

/// `read` with the places and policies of the endpoints of `now`, to which the server is connected.
/// Errors: needs_restart where ids have another type, or there are other endpoints than before, or of other kinds.
auto change_registries(std::shared_ptr<const registries> now, registries read) -> braid::checked<registry_change>;

}  // namespace rankd
