// rankd/plan/detail/index.hpp: an index against the artifacts that it names.
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

/// The digest of an artifact's bytes, or why they cannot be read.
using digest_source = std::function<braid::checked<std::string>(const artifact&)>;

/// One row of the index against the file that it names, which is added to `indexed`.
void check_index_row(object_reader& row, const std::vector<artifact>& artifacts, const digest_source& make_digest,
                     std::set<std::string, std::less<>>& indexed);

/// The whole index: it must name all artifacts, each once, with their digests.
void check_index(const nlohmann::json& document, const std::vector<artifact>& artifacts,
                 const digest_source& make_digest, braid::diagnostics& problems);

/// The same, by the names of the artifacts that it concerns; what is wrong with the whole index is under no name.
auto index_faults(const nlohmann::json& document, const std::vector<artifact>& artifacts,
                  const digest_source& make_digest) -> std::map<std::string, braid::diagnostics, std::less<>>;

}  // namespace rankd::detail
