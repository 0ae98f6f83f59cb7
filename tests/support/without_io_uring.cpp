// tests/support/without_io_uring.cpp: becomes the program that its arguments name, to which io_uring is refused.
#include <braid/io/backend.hpp>

#include <tests/support/io_uring.hpp>

#include <cstdio>
#include <cstdlib>

#include <unistd.h>

namespace {

auto fails(const char* sentence) -> int {
  std::fprintf(stderr, "without_io_uring: %s\n", sentence);
  return 125;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return fails("no program is named");
  ::unsetenv("BRAID_IO");
  if (!braid::testing::refuse_io_uring()) return fails("the system does not take the filter");
  // What the program gets is what this one gets: they have the same filter and the same environment.
  const auto made = braid::io_backend::make();
  if (!made || (*made)->name() != "epoll") return fails("the backend of loops is not epoll where io_uring is refused");
  ::execv(argv[1], argv + 1);
  return fails("the program cannot be run");
}
