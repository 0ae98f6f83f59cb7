// rankd/cli/commands/dump_command.cpp: rankd dump: writes the contents of a store as data that a load can read.
#include <rankd/cli/commands/commands.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/cli/atomic_file.hpp>
#include <rankd/cli/output/printable.hpp>
#include <rankd/cli/output/progress.hpp>
#include <rankd/cli/output/report.hpp>
#include <rankd/embed/workspace.hpp>
#include <rankd/store/dump.hpp>

#include <string>
#include <system_error>
#include <utility>

namespace rankd {
namespace {

auto unwritable(const dump_command_options& options, std::error_code error) -> braid::diagnostics {
  return make_diagnostic("output_unwritable", "the output cannot be written: " + error.message(), {}, options.out);
}

}  // namespace

auto dump_command(const dump_command_options& options) -> exit_status {
  const auto folder = store_folder(options.project, options.store);
  if (!folder) return report(folder.error());
  auto out = atomic_file::create(options.out);
  if (!out && out.error() == std::errc::operation_would_block)
    return report(
        make_diagnostic("output_busy", "another process is writing this file", "wait until it is done", options.out));
  if (!out) return report(unwritable(options, out.error()));

  braid::checked<std::uint64_t> records;
  {
    progress_bar bar("dumping");
    records = dump_store(
        *folder,
        {.prefix = options.prefix,
         .output = options.out,
         .progress =
             [&bar](const dump_progress& progress) { bar.show(progress.records_done, progress.records_total); }},
        [&out](std::string_view lines) { return out->write(lines); });
  }
  if (!records) return report(records.error());
  if (const auto done = out->finish(); !done) return report(unwritable(options, done.error()));
  if (!options.out.empty())
    print("dumped " + counted(*records, "record") + " into " + printable(options.out.string()) + "\n");
  return exit_status::fine;
}

}  // namespace rankd
