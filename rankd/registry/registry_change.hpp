// rankd/registry/registry_change.hpp: what of new registries a server can take over while it runs.
#pragma once

#include <rankd/registry/registries.hpp>

#include <braid/base/error.hpp>

#include <memory>
#include <string>
#include <vector>

namespace rankd {

/// The result of reading the files of registries again.
struct registry_change {
  /// The registries that serve from now on: the earlier object, if nothing has changed that plans or requests notice (a
  /// doc, for example, is not noticed).
  std::shared_ptr<const registries> next;
  std::vector<std::string> until_restart;  ///< sentences: what was left out of them
};

/// Returns `read` with the places and policies of the endpoints of `now`, to which the server is connected. Errors:
/// needs_restart if ids have another type, or if endpoints were added, removed or changed their kind.
auto change_registries(std::shared_ptr<const registries> now, registries read) -> braid::checked<registry_change>;

}  // namespace rankd
