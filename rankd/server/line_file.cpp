// rankd/server/line_file.cpp: lines on their way to a file.
#include <rankd/server/line_file.hpp>

#include <rankd/engine/engine.hpp>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace rankd {
namespace {

constexpr int writable_by_owner = 0640;

auto open_to_append(const std::filesystem::path& path) -> braid::descriptor {
  return braid::descriptor(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, writable_by_owner));
}

}  // namespace

auto line_file::open(const std::filesystem::path& path) -> braid::checked<std::unique_ptr<line_file>> {
  braid::descriptor file = open_to_append(path);
  if (!file)
    return std::unexpected(
        braid::diagnostics({.code = "unwritable_file",
                            .pointer = {},
                            .message = "cannot be written: " + std::generic_category().message(errno),
                            .hint = {},
                            .node = {},
                            .source = path.string()}));
  return start(std::unique_ptr<line_file>(new line_file(path, std::move(file))));
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
    reopen_ = !path_.empty();
  }
  changed_.notify_one();
}

auto line_file::lost() const -> std::uint64_t {
  const std::scoped_lock lock(mutex_);
  return lost_;
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
    braid::descriptor file = anew ? open_to_append(path_) : braid::descriptor();
    if (file) file_ = std::move(file);
  }
}

/// What the system does not take is lost, up to the end of its line.
void line_file::write(std::string_view text) {
  while (!text.empty()) {
    const ::ssize_t done = ::write(file_.number(), text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) break;
    text.remove_prefix(static_cast<std::size_t>(done));
  }
  const auto lines = std::ranges::count(text, '\n');
  if (lines == 0) return;
  const std::scoped_lock lock(mutex_);
  lost_ += static_cast<std::uint64_t>(lines);
}

}  // namespace rankd
