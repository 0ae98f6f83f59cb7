// rankd/server/files/arrow_file.cpp: writes row sets to Arrow files in batches.
#include <rankd/server/files/arrow_file.hpp>

#include <rankd/engine/engine.hpp>
#include <rankd/server/files/arrow_stream.hpp>

#include <cerrno>
#include <system_error>
#include <utility>

namespace rankd {

auto arrow_file::open(options options) -> braid::checked<std::unique_ptr<arrow_file>> {
  auto files = file_series::create(options.series);
  if (!files) return std::unexpected(std::move(files.error()));
  files->close();  // the first file is made with its first rows, because its schema is not known before
  std::unique_ptr<arrow_file> made(new arrow_file(std::move(*files), std::move(options)));
  if (const auto started = made->log_.start(); !started) return std::unexpected(no_runtime(started.error()));
  return made;
}

arrow_file::arrow_file(file_series files, options options)
    : options_(std::move(options)),
      files_(std::move(files)),
      log_(*this, {.thread = "captures", .batch_bytes = options_.batch_bytes, .max_delay = options_.max_delay}) {}

arrow_file::~arrow_file() {
  log_.finish();
  files_.close(arrow_end);
}

void arrow_file::add(captured_copy rows) {
  log_.locked([&](batch& waiting, append_counts& counts) {
    const std::size_t bytes = rows.bytes();
    if (waiting.bytes + bytes >= max_waiting) {
      ++counts.lost;
      return;
    }
    waiting.sets.push_back(std::move(rows));
    waiting.bytes += bytes;
  });
}

void arrow_file::lose() noexcept {
  log_.locked([](batch&, append_counts& counts) { ++counts.lost; });
}

void arrow_file::lose(const batch& taken) noexcept {
  const std::size_t lost = taken.sets.size() - settled_;
  log_.locked([lost](batch&, append_counts& counts) { counts.lost += lost; });
}

/// Writes the row sets as batches. All row sets of a batch have the same schema, and a batch is written once it
/// contains `batch_bytes` bytes.
void arrow_file::write(const batch& taken, append_then then) {
  settled_ = 0;
  std::size_t bytes = 0;
  const auto write_to = [&](std::size_t end) {
    write_batch(std::span(taken.sets).subspan(settled_, end - settled_));
    bytes = 0;
  };
  for (std::size_t at = 0; at < taken.sets.size(); ++at) {
    std::vector<captured_key> wider = keys_;
    if (fit_columns(wider, taken.sets[at]) == column_fit::other) write_to(at);
    keys_ = std::move(wider);
    bytes += taken.sets[at].bytes();
    if (bytes >= options_.batch_bytes) write_to(at + 1);
  }
  write_to(taken.sets.size());
  if (then == append_then::reopen) is_ended_ = files_.size() != 0;
}

/// Writes one batch. If the system does not write the whole batch, the batch is lost, and its bytes are removed from
/// the file. Otherwise, readers could not read the batches after this one.
void arrow_file::write_batch(std::span<const captured_copy> sets) {
  if (sets.empty()) return;
  std::string text = arrow_batch(keys_, sets);
  const bool is_ready = make_room(text.size());
  if (is_ready && files_.size() == 0) text.insert(0, arrow_schema(keys_));
  const std::size_t taken = is_ready ? files_.append(text) : 0;
  const bool is_whole = is_ready && taken == text.size();
  log_.locked([&](batch&, append_counts& counts) { (is_whole ? counts.written : counts.lost) += sets.size(); });
  settled_ += sets.size();
  if (is_ready && !files_.keep(is_whole ? taken : 0, taken)) is_ended_ = true;
}

/// Opens a new file if the current file has other columns or too little room for `bytes` bytes. Returns false if no
/// suitable file can be opened.
auto arrow_file::make_room(std::size_t bytes) -> bool {
  const bool has_batches = files_.size() != 0;
  const bool is_other = has_batches && keys_of_file_ != keys_;
  const bool is_full = has_batches && bytes > files_.room();
  if (!files_.is_open() || is_ended_ || is_other || is_full) {
    errno = 0;
    const bool is_next = files_.open_next(arrow_end);
    const std::error_code why = is_next ? std::error_code() : std::error_code(errno, std::generic_category());
    reopening_.note(why, reopening::attempt::repeated);
    if (is_next)
      is_ended_ = false;
    else if (!files_.is_open() || is_other)
      return false;
  }
  if (files_.size() == 0) keys_of_file_ = keys_;
  return true;
}

}  // namespace rankd
