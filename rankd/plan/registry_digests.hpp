// rankd/plan/registry_digests.hpp: whether the registries are still those that an artifact was built with.
#pragma once

#include <rankd/registry/object_reader.hpp>
#include <rankd/registry/registries.hpp>

#include <braid/base/error.hpp>

#include <string_view>
#include <vector>

namespace rankd {

/// Reads `registry_digests` of an artifact, and holds it against the registries: of each of them either one digest of
/// all of its entries, or an object with the digests of those that the artifact refers to, by their ids. Gives what
/// stands there. `artifact` is what messages call it, such as "the plan was".
/// Errors: wrong_type, bad_value, unknown_field, registry_changed.
auto read_registry_digests(object_reader& top, std::string_view artifact, const registries& declared,
                           braid::diagnostics& problems) -> std::vector<registry_digest>;

}  // namespace rankd
