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

/// Applies changes to the vectors of `base`, and builds a file with the resulting vectors and the same kind of index.
/// If there are fewer vectors than lists afterwards, the file has as many lists as vectors. The changes must have been
/// read for this file. Cost: that of `vector_file_bytes`, and the memory of all vectors twice. Errors: no_vectors if no
/// vector remains, too_many_vectors.
auto merge_vectors(const vector_file& base, vector_changes changes, const vector_progress& progress = {})
    -> braid::checked<built_vectors>;

/// An id in a list of changed vectors.
struct listed_vector {
  row_id id;
  std::string member;  ///< the id as it is written in the set
  std::string vector;  ///< the vector as bytes; empty if the vector is deleted
};

/// Returns the number of ids in a list. Errors: those of the store; store_errc::wrong_type if the value of the list's
/// key is not a set.
auto count_listed(const embedded_store::snapshot& snapshot, const vector_changes_policy& list)
    -> braid::result<std::size_t>;

/// Reads a list of changes to a file. A vector that a plan would read as null counts as deleted. Members that are not
/// ids of the file's type are left out. Errors: those of `count_listed`; store_errc::wrong_type also if the value of an
/// id's key is not a hash.
auto read_listed(const embedded_store::snapshot& snapshot, const vector_changes_policy& list, const vector_file& base)
    -> braid::result<std::vector<listed_vector>>;

/// Returns whether a file already contains the change: it has the same vector, or lacks a vector that the list deletes.
auto is_merged(const vector_file& file, const listed_vector& change) -> bool;

/// Returns the vectors of a list as changes to a file.
auto to_changes(std::vector<listed_vector> listed, const vector_file& base) -> vector_changes;

}  // namespace rankd
