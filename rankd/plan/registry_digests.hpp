// rankd/plan/registry_digests.hpp: checks that the registries have not changed since an artifact was built.
#pragma once

#include <rankd/registry/object_reader.hpp>
#include <rankd/registry/registries.hpp>

#include <braid/base/error.hpp>

#include <string_view>
#include <vector>

namespace rankd {

/// Reads `registry_digests` of an artifact, compares them with the registries, and returns them. For each registry, the
/// artifact contains either one digest of all entries, or an object that maps the id of each used entry to the digest
/// of this entry. `artifact` is the first part of error messages, such as "the plan was".
/// Errors: wrong_type, bad_value, unknown_field, registry_changed.
auto read_registry_digests(object_reader& top, std::string_view artifact, const registries& declared,
                           braid::diagnostics& problems) -> std::vector<registry_digest>;

}  // namespace rankd
