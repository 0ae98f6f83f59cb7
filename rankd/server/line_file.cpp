// rankd/server/line_file.cpp: lines on their way to a file.
#include <rankd/server/line_file.hpp>

#include <rankd/engine/engine.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace rankd {
namespace {

constexpr int writable_by_owner = 0640;
constexpr auto folder_of_owner = static_cast<std::filesystem::perms>(0750);

auto open_to_append(const std::filesystem::path& path, int how = 0) -> braid::descriptor {
  return braid::descriptor(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | how, writable_by_owner));
}

auto unwritable(const std::filesystem::path& path, int why) -> std::unexpected<braid::diagnostics> {
  return std::unexpected(braid::diagnostics({.code = "unwritable_file",
                                             .pointer = {},
                                             .message = "cannot be written: " + std::generic_category().message(why),
                                             .hint = {},
                                             .node = {},
                                             .source = path.string()}));
}

/// `20261127T033609Z`.
auto time_of_name() -> std::string {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &parts)};
}

/// As many whole lines as fit, and one at least.
auto lines_within(std::string_view text, std::uint64_t room) -> std::string_view {
  if (text.size() <= room) return text;
  const std::size_t end = room == 0 ? std::string_view::npos : text.rfind('\n', room - 1);
  return text.substr(0, (end == std::string_view::npos ? text.find('\n') : end) + 1);
}

}  // namespace

auto line_file::open(const std::filesystem::path& path) -> braid::checked<std::unique_ptr<line_file>> {
  braid::descriptor file = open_to_append(path);
  if (!file) return unwritable(path, errno);
  return start(std::unique_ptr<line_file>(new line_file(path, std::move(file))));
}

auto line_file::series(line_series of) -> braid::checked<std::unique_ptr<line_file>> {
  std::error_code why;
  if (std::filesystem::create_directories(of.folder, why))
    std::filesystem::permissions(of.folder, folder_of_owner, why);
  if (why) return unwritable(of.folder, why.value());
  std::unique_ptr<line_file> made(new line_file(of.folder, braid::descriptor()));
  made->series_ = std::move(of);
  if (!made->open_next()) return unwritable(made->path_, errno);
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
  if (series_ && size_ == 0) ::unlink(path_.c_str());
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
      if (size_ != 0) static_cast<void>(open_next());
      continue;
    }
    if (braid::descriptor file = open_to_append(path_)) file_ = std::move(file);
  }
}

/// A name that nothing has: another process may write to the same folder, or the clock may have gone back.
auto line_file::open_next() -> bool {
  constexpr int tries = 1000;
  for (int i = 0; i < tries; ++i) {
    std::string number = std::to_string(++number_);
    number.insert(0, 6 - std::min<std::size_t>(number.size(), 6), '0');
    std::filesystem::path path = series_->folder / (series_->name + "-" + time_of_name() + "-" +
                                                    std::to_string(::getpid()) + "-" + number + ".ndjson");
    braid::descriptor next = open_to_append(path, O_EXCL);
    if (!next && errno == EEXIST) continue;
    if (!next) return false;
    path_ = std::move(path);
    file_ = std::move(next);
    size_ = 0;
    return true;
  }
  return false;
}

void line_file::write(std::string_view text) {
  while (!text.empty()) {
    std::string_view part = text;
    if (series_) {
      part = lines_within(text, series_->max_bytes - std::min(size_, series_->max_bytes));
      if (size_ != 0 && size_ + part.size() > series_->max_bytes) {
        if (open_next()) continue;  // else it goes on with the file that it has
      }
    }
    text.remove_prefix(part.size());
    if (!write_whole(part)) static_cast<void>(open_next());
  }
}

/// What the system does not take is lost, up to the end of its line. Of a series the part of that line is cut off
/// again, since what is behind it would be no line either; false where it stays.
auto line_file::write_whole(std::string_view lines) -> bool {
  std::string_view rest = lines;
  while (!rest.empty()) {
    const ::ssize_t done = ::write(file_.number(), rest.data(), rest.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) break;
    rest.remove_prefix(static_cast<std::size_t>(done));
  }
  const std::string_view taken = lines.substr(0, lines.size() - rest.size());
  const std::size_t whole = taken.rfind('\n') + 1;  // npos + 1 is 0
  size_ += whole;
  {
    const auto lost = static_cast<std::uint64_t>(std::ranges::count(rest, '\n'));
    const auto all = static_cast<std::uint64_t>(std::ranges::count(lines, '\n'));
    const std::scoped_lock lock(mutex_);
    lost_ += lost;
    written_ += all - lost;
  }
  return !series_ || whole == taken.size() || ::ftruncate(file_.number(), static_cast<::off_t>(size_)) == 0;
}

}  // namespace rankd
