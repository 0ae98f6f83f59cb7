// rankd/store/dump.hpp: the records of an embedded store as NDJSON, in the form that a load reads.
#pragma once

#include <rankd/store/record.hpp>

#include <braid/base/error.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace rankd {

struct dump_progress {
  std::uint64_t records_done = 0;
  std::uint64_t records_total = 0;  ///< the number of records of the whole store, regardless of the prefix
};

struct dump_options {
  std::string_view prefix = {};       ///< only records whose keys begin with the prefix are written
  std::filesystem::path output = {};  ///< the destination of the sink, for diagnostics
  /// A function that is called for each piece that is written, and at the end.
  std::function<void(const dump_progress&)> progress = nullptr;
};

/// Receives the output piece by piece. Each piece consists of complete lines.
using dump_sink = std::function<braid::result<void>(std::string_view lines)>;

/// Writes a line for each record of the store in `folder`, in bytewise order of the keys. The same records produce the
/// same bytes, and loading the lines restores the records. Returns the number of lines.
/// Blocks: on the disk, and in `sink`. A load that runs during the dump does not affect the dump.
/// Errors: those of `embedded_store::open`; output_unwritable with the error of `sink` and `output` as its source;
/// not_loadable for a record that a load would refuse: text that is not UTF-8, a field without a name, a line of more
/// than 16 MiB.
auto dump_store(const std::filesystem::path& folder, const dump_options& options, const dump_sink& sink)
    -> braid::checked<std::uint64_t>;

/// Appends a record as a line of JSON with its line feed. `append_json_string` replaces text that is not UTF-8.
void append_record(std::string& out, std::string_view key, const record_view& record);

}  // namespace rankd
