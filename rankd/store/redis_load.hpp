// rankd/store/redis_load.hpp: filling a Redis database from NDJSON files.
#pragma once

#include <rankd/store/load.hpp>
#include <rankd/store/redis_options.hpp>
#include <rankd/store/vector_lengths.hpp>

#include <braid/base/error.hpp>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>

namespace rankd {

/// Where a load writes down how far it has come, in the database that it fills.
inline constexpr std::string_view redis_load_key = "rankd:load";

struct redis_load_options {
  std::size_t piece_bytes = std::size_t{256} << 10U;             ///< about what one transaction takes
  std::function<void(const load_progress&)> progress = nullptr;  ///< for each MiB read, and for each transaction
  vector_lengths vectors = {};                                   ///< vectors of other lengths are refused
  record_viewer seen = nullptr;                                  ///< before anything is sent
  std::function<braid::diagnostics()> refused = nullptr;         ///< asked behind the last record: see load_options
};

/// Gives each key of `files` the value that stands there, in transactions of many keys; keys that the files do not name
/// stay. All files are read and checked before anything is sent, so data that is wrong changes nothing. The end of each
/// transaction is written down by that transaction itself, under `redis_load_key`: a load that was interrupted,
/// whatever the reason, is gone on with by the next one of the same files, and otherwise the next one begins anew. Both
/// end in the same database. In a cluster there are no transactions over several keys: each value is made under another
/// key, `rankd:new:{…}`, which then takes the place of the old one, and how far a load has come is written down behind
/// that. Two loads at once are not kept apart: a key has the value of the later.
/// Blocks: on the disk and the server. Cost: about 100 bytes of memory for each key.
/// Errors: diagnostics about lines (of record_parser, duplicate_key, reserved_key), too_many_diagnostics,
/// data_unreadable, data_changed; what a server refuses, and why it cannot be reached, by the codes of `redis_store`.
auto load_redis(const redis_address& server, std::span<const std::filesystem::path> files,
                const redis_load_options& options) -> braid::checked<load_report>;

}  // namespace rankd
