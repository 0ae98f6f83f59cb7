// rankd/server/line_file.cpp: lines on their way to a file.
#include <rankd/server/line_file.hpp>

#include <rankd/engine/engine.hpp>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace rankd {
namespace {

/// As many whole lines as fit, and one at least.
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

auto line_file::series(file_series::options of) -> braid::checked<std::unique_ptr<line_file>> {
  auto files = file_series::create(std::move(of));
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
  auto writer = braid::thread::create({.name = "lines", .on_refused = braid::refusal::ignore},
                                      [self = made.get()] { self->write_until_end(); });
  if (!writer) return std::unexpected(no_runtime(writer.error()));
  made->writer_.emplace(std::move(*writer));
  return made;
}

line_file::~line_file() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  writer_.reset();  // joins it
  if (series_) series_->close();
}

void line_file::add(std::string_view line) {
  {
    const std::scoped_lock lock(mutex_);
    if (waiting_.size() + line.size() >= max_waiting) {
      ++lost_;
      return;
    }
    waiting_ += line;
    waiting_ += '\n';
  }
  changed_.notify_one();
}

void line_file::reopen() {
  {
    const std::scoped_lock lock(mutex_);
    reopen_ = series_ || !path_.empty();
  }
  changed_.notify_one();
}

auto line_file::lost() const -> std::uint64_t {
  const std::scoped_lock lock(mutex_);
  return lost_;
}

auto line_file::written() const -> std::uint64_t {
  const std::scoped_lock lock(mutex_);
  return written_;
}

void line_file::write_until_end() {
  std::string taken;
  for (;;) {
    bool anew = false;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return ending_ || reopen_ || !waiting_.empty(); });
      if (waiting_.empty() && !reopen_) return;
      std::swap(taken, waiting_);
      anew = std::exchange(reopen_, false);
    }
    write(taken);
    taken.clear();
    if (!anew) continue;
    if (series_) {
      if (series_->size() != 0) static_cast<void>(series_->open_next());
      continue;
    }
    if (braid::descriptor file = open_to_append(path_)) file_ = std::move(file);
  }
}

void line_file::write(std::string_view text) {
  while (!text.empty()) {
    std::string_view part = text;
    if (series_) {
      part = lines_within(text, series_->room());
      if (series_->size() != 0 && part.size() > series_->room()) {
        if (series_->open_next()) continue;  // else it goes on with the file that it has
      }
    }
    text.remove_prefix(part.size());
    if (!write_whole(part)) static_cast<void>(series_->open_next());
  }
}

/// What the system does not take is lost, up to the end of its line. Of a series the part of that line is cut off
/// again, since what is behind it would be no line either; false where it stays.
auto line_file::write_whole(std::string_view lines) -> bool {
  const std::size_t taken = series_ ? series_->append(lines) : write_bytes(file_.number(), lines);
  {
    const auto lost = static_cast<std::uint64_t>(std::ranges::count(lines.substr(taken), '\n'));
    const auto all = static_cast<std::uint64_t>(std::ranges::count(lines, '\n'));
    const std::scoped_lock lock(mutex_);
    lost_ += lost;
    written_ += all - lost;
  }
  const std::size_t whole = lines.substr(0, taken).rfind('\n') + 1;  // npos + 1 is 0
  return !series_ || series_->keep(whole, taken);
}

}  // namespace rankd
