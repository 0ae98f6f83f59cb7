// tests/sim/programs/disks.cpp: programs of machines with a disk. The first argument chooses one, the second a variant.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

constexpr std::size_t record_size = 700;  // crosses sectors

void print(const std::string& text) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

auto read_all(const char* path) -> std::string {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void check(bool is_true, const char* what) {
  if (is_true) return;
  std::printf("%s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

void sync_folder() {
  const int folder = ::open(".", O_RDONLY | O_DIRECTORY);
  check(folder >= 0 && ::fsync(folder) == 0, "fsync of a folder");
  ::close(folder);
}

auto make_record(int number) -> std::string {
  std::string text = "record " + std::to_string(number) + " ";
  text.resize(record_size - 1, static_cast<char>('a' + number % 26));
  return text + "\n";
}

/// Returns the number of the last record that any process of the machine has acknowledged, from its own output.
auto acknowledged() -> int {
  std::string output(1'000'000, '\0');
  const ssize_t size = ::pread(STDOUT_FILENO, output.data(), output.size(), 0);
  output.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  const std::size_t last = output.rfind("wrote ");
  return last == std::string::npos ? 0 : std::atoi(output.c_str() + last + 6);
}

bool is_checked = false;  // the program fails if acknowledged records are lost

/// Appends records to a log. At the start, prints how many of them are there.
auto append(std::string_view variant) -> int {
  const std::string before = read_all("log");
  int whole = 0;
  while (before.substr(static_cast<std::size_t>(whole) * record_size, record_size) == make_record(whole)) ++whole;
  const bool is_torn = before.size() != static_cast<std::size_t>(whole) * record_size;
  print("found " + std::to_string(whole) + (is_torn ? " torn" : ""));
  if (is_checked && whole < acknowledged()) return 1;
  if (!before.empty()) return 0;
  int flags = O_WRONLY | O_CREAT | O_APPEND;
  if (variant == "dsync") flags |= O_DSYNC;
  const int log = ::open("log", flags, 0600);
  check(log >= 0, "open");
  if (variant != "no_folder_sync") sync_folder();
  for (int at = 0; at < 100; ++at) {
    const std::string record = make_record(at);
    check(::write(log, record.data(), record.size()) == static_cast<ssize_t>(record.size()), "write");
    if (variant == "sync" || variant == "no_folder_sync") check(::fdatasync(log) == 0, "fdatasync");
    print("wrote " + std::to_string(at + 1));
    ::usleep(100'000);
  }
  return 0;
}

/// Replaces a file by renames. At the start, prints its version.
auto replace(std::string_view variant) -> int {
  const std::string before = read_all("state");
  const int version = before.size() == record_size ? std::atoi(before.c_str() + 7) : 0;
  print(version > 0 && before == make_record(version) ? "found " + std::to_string(version)
        : before.empty()                              ? "found 0"
                                                      : "found damage");
  if (is_checked && (version < acknowledged() || before != (version > 0 ? make_record(version) : ""))) return 1;
  if (::access("state", F_OK) == 0) return 0;
  for (int at = 1; at < 100; ++at) {
    const std::string record = make_record(at);
    const int file = ::creat("state.new", 0600);
    check(file >= 0 && ::write(file, record.data(), record.size()) == static_cast<ssize_t>(record.size()), "write");
    if (variant != "no_file_sync") check(::fsync(file) == 0, "fsync");
    ::close(file);
    check(::rename("state.new", "state") == 0, "rename");
    if (variant != "no_folder_sync") sync_folder();
    print("wrote " + std::to_string(at));
    ::usleep(100'000);
  }
  return 0;
}

/// Overwrites a file in place after it was synced. At the start, prints the kinds of bytes in it.
auto overwrite() -> int {
  const std::string before = read_all("block");
  if (!before.empty()) {
    std::string kinds;
    for (const char each : before)
      if (kinds.empty() || kinds.back() != each) kinds += each;
    print("found " + std::to_string(before.size()) + " bytes: " + kinds);
    return 0;
  }
  const int file = ::open("block", O_RDWR | O_CREAT, 0600);
  const std::string old_bytes(4096, 'o');
  const std::string new_bytes(2048, 'n');
  check(::pwrite(file, old_bytes.data(), old_bytes.size(), 0) == 4096 && ::fsync(file) == 0, "pwrite");
  sync_folder();
  check(::pwrite(file, new_bytes.data(), new_bytes.size(), 1024) == 2048, "pwrite");
  check(::ftruncate(file, 3500) == 0, "ftruncate");
  print("wrote");
  return ::pause();
}

/// Writes a byte while another thread syncs the byte before it. At the start, prints both.
auto write_meanwhile() -> int {
  if (const std::string before = read_all("pair"); !before.empty()) {
    print("found " + before.substr(0, 2));
    return 0;
  }
  const int file = ::open("pair", O_RDWR | O_CREAT, 0600);
  sync_folder();
  check(::pwrite(file, "1", 1, 0) == 1, "pwrite");
  std::thread syncs([file] { check(::fsync(file) == 0, "fsync"); });
  ::usleep(100'000);
  check(::pwrite(file, "2", 1, 1) == 1, "pwrite");
  syncs.join();
  print("wrote");
  return ::pause();
}

/// Syncs a file again after a sync has failed. At the start, prints how much of the file is there.
auto sync_again() -> int {
  if (::access("file", F_OK) == 0) {
    print("found " + std::to_string(read_all("file").size()));
    return 0;
  }
  const int file = ::open("file", O_RDWR | O_CREAT, 0600);
  sync_folder();
  check(::pwrite(file, "1", 1, 0) == 1, "pwrite");
  ::usleep(700'000);
  check(::fsync(file) != 0 && errno == EIO, "fsync of a disk that fails");
  ::usleep(600'000);
  check(::fsync(file) == 0, "fsync");
  print("wrote");
  return ::pause();
}

/// Removes files and folders without a sync. At the start, prints what is there.
auto remove_names() -> int {
  namespace fs = std::filesystem;
  if (fs::exists("synced")) {
    std::string names;
    for (const char* each : {"kept", "link", "folder", "folder/inner", "renamed", "added", "added/inner"})
      if (fs::exists(fs::symlink_status(each))) names += std::string(" ") + each;
    print("found" + names + ": " + read_all("kept"));
    return 0;
  }
  std::ofstream("kept") << "content";
  fs::create_directory("folder");
  std::ofstream("folder/inner") << "inner";
  fs::create_symlink("kept", "link");
  std::ofstream("synced") << "1";
  ::sync();
  fs::remove("kept");
  fs::rename("folder", "renamed");
  fs::remove("link");
  fs::create_directory("added");
  std::ofstream("added/inner") << "inner";
  print("wrote");
  return ::pause();
}

/// Prints each change of the result of calls about files, once in 100 ms.
auto watch_errors(const char* path) -> int {
  const int file = ::open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  std::string last;
  for (int at = 0; at < 100; ++at) {
    timespec begin{};
    timespec end{};
    ::clock_gettime(CLOCK_MONOTONIC, &begin);
    const ssize_t count = ::write(file, "0123456789", 10);
    std::string shown = count == 10 ? "written" : count > 0 ? "short" : ::strerrorname_np(errno);
    shown += std::string(", ") + (::fsync(file) == 0 ? "synced" : ::strerrorname_np(errno));
    const int made = ::open("new", O_WRONLY | O_CREAT, 0600);
    shown += std::string(", ") + (made >= 0 ? "created" : ::strerrorname_np(errno));
    ::close(made);
    ::unlink("new");
    ::clock_gettime(CLOCK_MONOTONIC, &end);
    if (end.tv_sec - begin.tv_sec >= 1) shown += ", slow";
    if (std::exchange(last, shown) != shown) print(shown);
    ::usleep(100'000);
  }
  return 0;
}

/// Makes many calls about files, and prints what they return. The output must not depend on the simulator.
auto show_calls() -> int {
  const auto show = [](const char* what, long result) {
    std::printf("%s: %ld%s%s\n", what, result, result < 0 ? " " : "", result < 0 ? ::strerrorname_np(errno) : "");
  };
  const int file = ::open("file", O_RDWR | O_CREAT | O_EXCL, 0640);
  show("again", ::open("file", O_RDWR | O_CREAT | O_EXCL, 0640));
  std::array<iovec, 2> parts = {{{const_cast<char*>("abc"), 3}, {const_cast<char*>("defg"), 4}}};
  show("writev", ::writev(file, parts.data(), 2));
  show("pwritev", ::pwritev(file, parts.data(), 2, 20));
  show("pwrite", ::pwrite(file, "xy", 2, 1));
  show("position", ::lseek(file, 0, SEEK_CUR));
  show("negative", ::pwrite(file, "xy", 2, -1));
  const int copy = ::dup(file);
  show("dup", ::write(copy, "!", 1));
  show("size", ::lseek(file, 0, SEEK_END));
  show("truncate", ::ftruncate(copy, 10));
  show("allocate", ::posix_fallocate(file, 0, 30));
  show("sync", ::fdatasync(file));
  show("closed", ::fsync(file + 100));
  pollfd ready{file, POLLIN | POLLOUT, 0};
  show("poll", ::poll(&ready, 1, 0));
  epoll_event event{};
  show("epoll", ::epoll_ctl(::epoll_create1(0), EPOLL_CTL_ADD, file, &event));
  ::close(copy);
  show("read only", ::write(::open("file", O_RDONLY), "x", 1));
  const int end = ::open("file", O_WRONLY | O_APPEND);
  show("append", ::pwrite(end, "end", 3, 0));
  show("truncated", ::lseek(::open("file", O_WRONLY | O_TRUNC), 0, SEEK_END));
  FILE* stream = std::fopen("stream", "w+");
  std::fputs("one\ntwo\n", stream);
  show("seek", std::fseek(stream, 4, SEEK_SET));
  std::fputs("TWO", stream);
  show("flush", std::fflush(stream));
  show("stream", ::fsync(::fileno(stream)));
  show("close", std::fclose(stream));
  std::ofstream("stream", std::ios::app) << "three\n";
  std::printf("%s", read_all("stream").c_str());
  std::error_code error;
  std::filesystem::copy_file("stream", "copy", error);
  show("copy", static_cast<long>(read_all("copy").size()));
  show("mkdir", ::mkdir("folder/", 0700));
  show("mkdir", ::mkdir("folder", 0700));
  show("rename", ::rename("copy", "folder/copy"));
  show("rmdir", ::rmdir("folder"));
  show("unlink", ::unlink("nothing"));
  show("exchange", ::renameat2(AT_FDCWD, "folder/copy", AT_FDCWD, "file", RENAME_EXCHANGE));
  show("link", ::link("file", "stream"));
  show("remove", std::remove("folder/copy"));
  show("remove", std::remove("folder"));
  std::array<char, 20> temporary = {"temporary-XXXXXX"};
  const int made = ::mkstemp(temporary.data());
  show("temporary", ::write(made, "x", 1));
  show("truncate", ::truncate(temporary.data(), 0));
  show("unlink", ::unlink(temporary.data()));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view kind = argc > 1 ? argv[1] : "";
  const char* variant = argc > 2 ? argv[2] : "";
  is_checked = argc > 3;
  if (kind == "append") return append(variant);
  if (kind == "replace") return replace(variant);
  if (kind == "overwrite") return overwrite();
  if (kind == "meanwhile") return write_meanwhile();
  if (kind == "sync_again") return sync_again();
  if (kind == "remove") return remove_names();
  if (kind == "errors") return watch_errors(variant);
  if (kind == "calls") return show_calls();
  return 2;
}
