// rankd/registry/registry_change.hpp: decides which changes of registries a running server can apply.
#pragma once

#include <rankd/registry/registries.hpp>

#include <braid/base/error.hpp>

#include <memory>
#include <string>
#include <vector>

namespace rankd {

/// The result of reading the registries again.
struct registry_change {
  /// The registries to use from now on. This is the earlier object if the changes do not affect plans and requests, for
  /// example if only a doc has changed.
  std::shared_ptr<const registries> next;
  std::vector<std::string> until_restart;  ///< sentences about changes that were not applied
};

/// Returns the registries `read`, but keeps the resolvers and policies of the endpoints in `now`, because the server is
/// connected to these endpoints.
/// Errors: needs_restart if the type of ids has changed, or if endpoints were added or removed, or if the kind of an
/// endpoint has changed.
auto change_registries(std::shared_ptr<const registries> now, registries read) -> braid::checked<registry_change>;

}  // namespace rankd
