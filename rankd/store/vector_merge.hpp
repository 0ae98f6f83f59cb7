// rankd/store/vector_merge.hpp: applies changes to the vectors of a file, and reads changes from records of a store.
#pragma once

#include <rankd/registry/registries.hpp>
#include <rankd/store/embedded.hpp>
#include <rankd/store/vector_build.hpp>
#include <rankd/store/vector_file.hpp>

#include <braid/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rankd {

/// Returns the file that a build of the remaining vectors makes, with the index of `base`. If fewer
/// vectors than lists remain, the file has as many lists as vectors. Requires changes for this file. Cost: that of
/// `vector_file_bytes`, and the memory of all vectors twice. Errors: no_vectors if no vector remains, too_many_vectors.
auto merge_vectors(const vector_file& base, vector_changes changes, const vector_progress& progress = {})
    -> braid::checked<built_vectors>;

/// An id in a list of changed vectors.
struct listed_vector {
  row_id id;
  std::string member;  ///< the id as the set has it
  std::string vector;  ///< as bytes; empty if the vector is deleted
};

/// Returns how many ids a list has. Errors: of the store; store_errc::wrong_type if the key of the list is no set.
auto count_listed(const embedded_store::snapshot& in, const vector_changes_policy& list) -> braid::result<std::size_t>;

/// Reads a list of changes to a file. A vector that a plan would read as null counts as deleted. Members that are not
/// ids of the file's type are left out. Errors: as `count_listed`; also if the key of an id is no hash.
auto read_listed(const embedded_store::snapshot& in, const vector_changes_policy& list, const vector_file& base)
    -> braid::result<std::vector<listed_vector>>;

/// Returns whether a file has the vector of a list, or lacks the one that the list deletes.
auto is_merged(const vector_file& file, const listed_vector& change) -> bool;

/// Returns the vectors of a list as changes to a file.
auto to_changes(std::vector<listed_vector> listed, const vector_file& base) -> vector_changes;

}  // namespace rankd
