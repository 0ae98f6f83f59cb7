// rankd/store/batch_read.hpp: functions that answer the questions of question.hpp from an open embedded store.
#pragma once

#include <rankd/store/embedded.hpp>
#include <rankd/store/question.hpp>

#include <braid/base/arena.hpp>
#include <braid/base/error.hpp>

namespace rankd {

// The functions below copy answers into `arena`, so that the answers outlive the snapshot and the store.
// Errors: store_errc::wrong_type, store_errc::corrupt. The first error fails the whole batch.

/// Reads one field of each hash.
auto read_batch(const embedded_store::snapshot& snapshot, const field_read& question, braid::arena& arena)
    -> braid::result<field_batch>;

/// Reads all fields of each hash.
auto read_batch(const embedded_store::snapshot& snapshot, const hash_read& question, braid::arena& arena)
    -> braid::result<hash_batch>;

/// Reads the first elements of each list as ids. Malformed elements are left out of the answer, and counted.
auto read_batch(const embedded_store::snapshot& snapshot, const list_read& question, braid::arena& arena)
    -> braid::result<id_batch>;

/// Reads values under named keys.
auto read_batch(const embedded_store::snapshot& snapshot, const named_read& question, braid::arena& arena)
    -> braid::result<item_batch>;

}  // namespace rankd
