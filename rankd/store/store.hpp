// rankd/store/store.hpp: where operators get data from, whoever keeps it.
#pragma once

#include <rankd/registry/registries.hpp>
#include <rankd/store/batch.hpp>

#include <braid/base/arena.hpp>
#include <braid/base/diagnostics.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/task.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

namespace rankd {

/// Answers batches: an operator asks for all of its keys at once. A key that is absent is an empty answer, not an
/// error; one that holds the other kind of value fails the batch with store_errc::wrong_type.
/// Threads: any number of batches at once. Lifetime: keys, arena and store must outlive the task; answers lie in the
/// arena and need neither the store nor the keys.
class store {
 public:
  store() = default;
  store(const store&) = delete;
  auto operator=(const store&) -> store& = delete;
  virtual ~store() = default;

  /// One field of each hash.
  virtual auto hget(key_batch keys, std::string_view field, braid::arena& arena)
      -> braid::task<braid::result<field_batch>> = 0;

  /// All fields of each hash.
  virtual auto hgetall(key_batch keys, braid::arena& arena) -> braid::task<braid::result<hash_batch>> = 0;

  /// The first `first` elements of each list as ids; malformed ones among these are left out, and counted.
  virtual auto lrange_ids(key_batch keys, std::uint32_t first, braid::arena& arena)
      -> braid::task<braid::result<id_batch>> = 0;
};

/// Opens what an endpoint's resolver names; paths are relative to the project's `root`. Batches of the embedded store
/// are answered at once, on the thread that awaits them.
/// Errors: those of embedded_store::open, store_unsupported.
auto open_store(const endpoint_entry& endpoint, const std::filesystem::path& root)
    -> braid::checked<std::unique_ptr<store>>;

}  // namespace rankd
