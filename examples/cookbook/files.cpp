// examples/cookbook/files.cpp: writes whole files and parts of them, and
// replaces a file in one step.
#include <braid/coro.hpp>
#include <braid/io.hpp>
#include <braid/runtime/default_runtime.hpp>
#include <braid/task.hpp>

#include <cstdio>
#include <filesystem>
#include <string>

#include <unistd.h>

using braid::task;

// [write]
auto keep_notes(braid::executor& blocking, std::string folder) -> task<void> {
  const std::string path = folder + "/notes.txt";
  // Creates the file, or replaces it.
  braid::or_throw(co_await braid::file::write(blocking, path, "one\n"));

  // `create` opens a file, and creates it if it is missing; `make` refuses a
  // file that exists.
  const auto notes = braid::or_throw(
      co_await braid::file::open(blocking, path, braid::file::mode::create));
  const auto end = braid::or_throw(co_await notes.size());
  braid::or_throw(co_await notes.write_at(end, braid::bytes_of("two\n")));
  braid::or_throw(co_await notes.sync());  // it is on the disk now

  // A reader sees the old file or the new one, and no part of either.
  braid::or_throw(
      co_await braid::file::write(blocking, path + ".new", "three\n"));
  const auto before =
      braid::or_throw(co_await braid::file::read(blocking, path));
  braid::or_throw(co_await braid::file::rename(blocking, path + ".new", path));
  const auto after =
      braid::or_throw(co_await braid::file::read(blocking, path));
  std::printf("before:\n%safter:\n%s", before.c_str(), after.c_str());
}
// [/write]

auto main() -> int {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("files." + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  braid::blocking_pool blocking;
  braid::spawn(keep_notes(blocking, folder)).get();
  std::filesystem::remove_all(folder);
}
