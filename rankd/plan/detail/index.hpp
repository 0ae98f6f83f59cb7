// rankd/plan/detail/index.hpp: compares the index of a folder with its artifacts.
#pragma once

#include <rankd/plan/artifact_folder.hpp>
#include <rankd/registry/object_reader.hpp>

#include <braid/base/error.hpp>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace rankd::detail {

/// Returns the digest of an artifact's bytes, or the error that occurred while they were read.
using digest_source = std::function<braid::checked<std::string>(const artifact&)>;

/// Compares one row of the index with the artifact that the row names. Adds the artifact's name to `indexed`.
void check_index_row(object_reader& row, const std::vector<artifact>& artifacts, const digest_source& make_digest,
                     std::set<std::string, std::less<>>& indexed);

/// Checks the whole index: it must list all artifacts exactly once, with their digests.
void check_index(const nlohmann::json& document, const std::vector<artifact>& artifacts,
                 const digest_source& make_digest, braid::diagnostics& problems);

/// Checks the whole index, and returns the errors grouped by the name of the artifact. Errors that do not concern a
/// single artifact are grouped under an empty name.
auto index_faults(const nlohmann::json& document, const std::vector<artifact>& artifacts,
                  const digest_source& make_digest) -> std::map<std::string, braid::diagnostics, std::less<>>;

}  // namespace rankd::detail
