// rankd/store/redis_load.hpp: fills a Redis database from NDJSON files.
#pragma once

#include <rankd/store/load_store.hpp>
#include <rankd/store/redis_options.hpp>
#include <rankd/store/vector_lengths.hpp>

#include <braid/base/error.hpp>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>

namespace rankd {

/// The key under which a load stores its progress, in the database that it fills.
inline constexpr std::string_view redis_load_key = "rankd:load";

struct redis_load_options {
  std::size_t piece_bytes = std::size_t{256} << 10U;  ///< the approximate size of one transaction
  /// A function that is called for each MiB that is read, and for each transaction.
  std::function<void(const load_progress&)> progress = nullptr;
  vector_lengths vectors = {};                            ///< vectors of other lengths are refused
  record_viewer seen = nullptr;                           ///< called before anything is sent
  std::function<braid::diagnostics()> refused = nullptr;  ///< called after the last record: see load_options
};

/// Sets each key of `files` to the value in the files, in transactions of many keys. Keys that are not in the files
/// stay unchanged. All files are read and checked before anything is sent, so invalid data changes nothing. Each
/// transaction also stores the progress under `redis_load_key`. So the next load of the same files continues an
/// interrupted load, and a load of other files starts from the beginning. A continued load results in the same database
/// as an uninterrupted one. In a cluster, there are no transactions over several keys. Instead, each value is first
/// built under another key, `rankd:new:{…}`, which then replaces the old key. The progress of the load is stored after
/// that. Two concurrent loads do not exclude each other: the last write to a key wins.
/// Blocks: on the disk and on the server. Cost: about 100 bytes of memory for each key.
/// Errors: diagnostics about lines (of record_parser, duplicate_key, reserved_key), too_many_diagnostics,
/// data_unreadable, data_changed; refusals and connection failures of a server, with the codes of `redis_store`.
auto load_redis(const redis_address& server, std::span<const std::filesystem::path> files,
                const redis_load_options& options) -> braid::checked<load_report>;

}  // namespace rankd
