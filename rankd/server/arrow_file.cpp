// rankd/server/arrow_file.cpp: row sets on their way to a file, in batches.
#include <rankd/server/arrow_file.hpp>

#include <rankd/engine/engine.hpp>
#include <rankd/server/arrow_stream.hpp>

#include <cerrno>
#include <system_error>
#include <utility>

namespace rankd {

auto arrow_file::open(options how) -> braid::checked<std::unique_ptr<arrow_file>> {
  auto files = file_series::create(how.series);
  if (!files) return std::unexpected(std::move(files.error()));
  files->close();  // the first one is made with its first rows: before, its schema is not known
  std::unique_ptr<arrow_file> made(new arrow_file(std::move(*files), std::move(how)));
  auto writer = braid::thread::create({.name = "captures", .on_refused = braid::refusal::ignore},
                                      [self = made.get()] { self->write_until_end(); });
  if (!writer) return std::unexpected(no_runtime(writer.error()));
  made->writer_.emplace(std::move(*writer));
  return made;
}

arrow_file::arrow_file(file_series files, options how) : how_(std::move(how)), files_(std::move(files)) {}

arrow_file::~arrow_file() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  writer_.reset();  // joins it
}

void arrow_file::add(captured_copy rows) {
  const std::size_t bytes = rows.bytes();
  bool is_awaited = false;
  {
    const std::scoped_lock lock(mutex_);
    if (bytes_ + bytes >= max_waiting) {
      ++lost_;
      return;
    }
    const bool was_enough = bytes_ >= how_.batch_bytes;
    waiting_.push_back(std::move(rows));
    bytes_ += bytes;
    is_awaited = waiting_.size() == 1 || (!was_enough && bytes_ >= how_.batch_bytes);
  }
  if (is_awaited) changed_.notify_one();
}

void arrow_file::reopen() {
  {
    const std::scoped_lock lock(mutex_);
    reopen_ = true;
  }
  changed_.notify_one();
}

auto arrow_file::lost() const -> std::uint64_t {
  const std::scoped_lock lock(mutex_);
  return lost_;
}

auto arrow_file::written() const -> std::uint64_t {
  const std::scoped_lock lock(mutex_);
  return written_;
}

void arrow_file::write_until_end() {
  for (;;) {
    std::vector<captured_copy> taken;
    bool anew = false;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return ending_ || reopen_ || !waiting_.empty(); });
      changed_.wait_for(lock, how_.max_delay, [this] { return ending_ || reopen_ || bytes_ >= how_.batch_bytes; });
      if (waiting_.empty() && !reopen_) break;
      taken = std::exchange(waiting_, {});
      bytes_ = 0;
      anew = std::exchange(reopen_, false);
    }
    write(std::move(taken));
    if (anew) is_ended_ = files_.size() != 0;
  }
  files_.close(arrow_end);
}

/// In batches of one schema, none of which is much larger than it has to be.
void arrow_file::write(std::vector<captured_copy> taken) {
  std::size_t begin = 0;
  std::size_t bytes = 0;
  const auto write_to = [&](std::size_t end) {
    write_batch(std::span(taken).subspan(begin, end - begin));
    begin = end;
    bytes = 0;
  };
  for (std::size_t at = 0; at < taken.size(); ++at) {
    std::vector<captured_key> wider = keys_;
    if (fit_columns(wider, taken[at]) == column_fit::other) write_to(at);
    keys_ = std::move(wider);
    bytes += taken[at].bytes();
    if (bytes >= how_.batch_bytes) write_to(at + 1);
  }
  write_to(taken.size());
}

/// What the system does not take whole is lost, and cut off again, since what comes after it could not be read.
void arrow_file::write_batch(std::span<const captured_copy> sets) {
  if (sets.empty()) return;
  std::string text = arrow_batch(keys_, sets);
  const bool is_ready = make_room(text.size());
  if (is_ready && files_.size() == 0) text.insert(0, arrow_schema(keys_));
  const std::size_t taken = is_ready ? files_.append(text) : 0;
  const bool is_whole = is_ready && taken == text.size();
  {
    const std::scoped_lock lock(mutex_);
    (is_whole ? written_ : lost_) += sets.size();
  }
  if (is_ready && !files_.keep(is_whole ? taken : 0, taken)) is_ended_ = true;
}

/// A file for the columns, with room for so much. False where there is none.
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
