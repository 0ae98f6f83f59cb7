// rankd/store/batch_read.hpp: the batches of batch.hpp answered from an open embedded store.
#pragma once

#include <rankd/store/batch.hpp>
#include <rankd/store/embedded.hpp>
#include <rankd/store/named_read.hpp>

#include <braid/base/arena.hpp>
#include <braid/base/error.hpp>

#include <cstdint>
#include <string_view>

namespace rankd {

// Answers are copied into `arena`, so that they outlive the snapshot and the store.
// Errors of all: store_errc::wrong_type, store_errc::corrupt; the whole batch fails with the first.

/// One field of each hash.
auto read_fields(const embedded_store::snapshot& from, key_batch keys, std::string_view field, braid::arena& arena)
    -> braid::result<field_batch>;

/// All fields of each hash.
auto read_hashes(const embedded_store::snapshot& from, key_batch keys, braid::arena& arena)
    -> braid::result<hash_batch>;

/// The first `first` elements of each list; malformed ones among these are left out, and counted.
auto read_ids(const embedded_store::snapshot& from, key_batch keys, std::uint32_t first, braid::arena& arena)
    -> braid::result<id_batch>;

/// What is asked for of values under named keys.
auto read_named(const embedded_store::snapshot& from, const named_read& what, braid::arena& arena)
    -> braid::result<item_batch>;

}  // namespace rankd
