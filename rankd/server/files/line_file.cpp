// rankd/server/files/line_file.cpp: writes lines to a file, and reopens it for log rotation.
#include <rankd/server/files/line_file.hpp>

#include <rankd/engine/engine.hpp>

#include <algorithm>
#include <cerrno>
#include <new>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace rankd {
namespace {

/// Returns as many whole lines as fit into `room` bytes, but at least one line.
auto lines_within(std::string_view text, std::uint64_t room) -> std::string_view {
  if (text.size() <= room) return text;
  const std::size_t end = room == 0 ? std::string_view::npos : text.rfind('\n', room - 1);
  return text.substr(0, (end == std::string_view::npos ? text.find('\n') : end) + 1);
}

}  // namespace

auto line_file::open(const std::filesystem::path& path) -> braid::checked<std::unique_ptr<line_file>> {
  braid::descriptor file = open_to_append(path);
  if (!file) return unwritable_file(path, errno);
  return start(std::unique_ptr<line_file>(new line_file(path, std::move(file))));
}

auto line_file::series(file_series::options options) -> braid::checked<std::unique_ptr<line_file>> {
  auto files = file_series::create(std::move(options));
  if (!files) return std::unexpected(std::move(files.error()));
  std::unique_ptr<line_file> made(new line_file({}, braid::descriptor()));
  made->series_.emplace(std::move(*files));
  return start(std::move(made));
}

auto line_file::standard_error() -> braid::checked<std::unique_ptr<line_file>> {
  braid::descriptor copy(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
  return start(std::unique_ptr<line_file>(new line_file({}, std::move(copy))));
}

line_file::line_file(std::filesystem::path path, braid::descriptor file)
    : path_(std::move(path)), file_(std::move(file)) {}

auto line_file::start(std::unique_ptr<line_file> made) -> braid::checked<std::unique_ptr<line_file>> {
  if (const auto started = made->log_.start(); !started) return std::unexpected(no_runtime(started.error()));
  return made;
}

line_file::~line_file() {
  log_.finish();
  if (series_) series_->close();
}

void line_file::add(std::string_view line) noexcept {
  try {
    log_.locked([line](batch& waiting, append_counts& counts) {
      if (waiting.size() + line.size() >= max_waiting) {
        ++counts.lost;
        return;
      }
      const std::size_t whole = waiting.size() + line.size() + 1;
      if (waiting.capacity() < whole) waiting.reserve(std::max(whole, 2 * waiting.capacity()));
      waiting += line;
      waiting += '\n';
    });
  } catch (const std::bad_alloc&) {
    lose();
  }
}

void line_file::lose() noexcept {
  log_.locked([](batch&, append_counts& counts) { ++counts.lost; });
}

void line_file::reopen(std::chrono::milliseconds retry) {
  if (!series_ && path_.empty()) return;
  log_.locked([&](batch&, append_counts&) { retry_ = retry; });
  log_.reopen();
}

auto line_file::next_attempt() const -> std::optional<std::chrono::steady_clock::time_point> {
  return reopening_.is_pending() ? std::optional(next_try_) : std::nullopt;
}

void line_file::write(const batch& lines, append_then then) {
  const auto is_due = [this] { return reopening_.is_pending() && std::chrono::steady_clock::now() >= next_try_; };
  const bool anew = then == append_then::reopen;
  settled_ = 0;
  // A retry reopens the file before the lines are written, because the waiting lines must be written to the new file.
  if (!anew && is_due()) open_anew(reopening::attempt::repeated);
  write_lines(lines);
  if (anew) open_anew(reopening::attempt::asked);
  if (!reopening_.is_pending() || (!anew && !is_due())) return;
  std::chrono::milliseconds retry{};
  log_.locked([&](batch&, append_counts&) { retry = retry_; });
  next_try_ = std::chrono::steady_clock::now() + retry;
}

void line_file::lose(const batch& lines) noexcept {
  const auto lost = static_cast<std::uint64_t>(std::ranges::count(std::string_view(lines).substr(settled_), '\n'));
  log_.locked([lost](batch&, append_counts& counts) { counts.lost += lost; });
}

/// Opens the file again. A series of files keeps its current file if that file is empty and still has its name.
void line_file::open_anew(reopening::attempt kind) {
  errno = 0;
  bool is_open = true;
  if (series_)
    is_open = (series_->size() == 0 && series_->is_in_place()) || series_->open_next();
  else if (braid::descriptor file = open_to_append(path_))
    file_ = std::move(file);
  else
    is_open = false;
  reopening_.note(is_open ? std::error_code() : std::error_code(errno, std::generic_category()), kind);
}

void line_file::write_lines(std::string_view text) {
  while (!text.empty()) {
    std::string_view part = text;
    if (series_) {
      part = lines_within(text, series_->room());
      if (series_->size() != 0 && part.size() > series_->room()) {
        errno = 0;
        const bool is_next = series_->open_next();  // otherwise it continues with the current file
        const std::error_code why = is_next ? std::error_code() : std::error_code(errno, std::generic_category());
        reopening_.note(why, reopening::attempt::repeated);
        if (is_next) continue;
      }
    }
    text.remove_prefix(part.size());
    if (!write_whole(part)) static_cast<void>(series_->open_next());
  }
}

/// Writes lines. Lines that the system does not write are lost, including a partly written line. In a series of files,
/// the partial line is removed from the file. Otherwise, the next line would be appended to it and be invalid, too.
/// Returns false if the partial line cannot be removed.
auto line_file::write_whole(std::string_view lines) -> bool {
  const std::size_t taken = series_ ? series_->append(lines) : write_bytes(file_.number(), lines);
  const auto lost = static_cast<std::uint64_t>(std::ranges::count(lines.substr(taken), '\n'));
  const auto all = static_cast<std::uint64_t>(std::ranges::count(lines, '\n'));
  log_.locked([&](batch&, append_counts& counts) {
    counts.lost += lost;
    counts.written += all - lost;
  });
  settled_ += lines.size();
  const std::size_t whole = lines.substr(0, taken).rfind('\n') + 1;  // npos + 1 is 0
  return !series_ || series_->keep(whole, taken);
}

}  // namespace rankd
