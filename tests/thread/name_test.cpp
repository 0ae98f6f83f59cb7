// tests/thread/name_test.cpp: names are what the system shows, and an index is never cut.
#include <braid/thread/this_thread.hpp>

#include <doctest/doctest.h>

#include <ostream>
#include <string>
#include <system_error>
#include <thread>

using braid::detail::indexed_thread_name;

namespace {

/// Runs `fn` on a thread of its own, so that the name of the main thread stays.
template <typename Fn>
void on_a_thread(Fn fn) {
  std::thread(fn).join();
}

}  // namespace

TEST_CASE("a name that was set is the name that is shown") {
  std::string shown;
  bool set = false;
  on_a_thread([&] {
    set = braid::this_thread::set_name("io_0").has_value();
    shown = braid::this_thread::name();
  });
  CHECK(set);
  CHECK(shown == "io_0");
}

TEST_CASE("fifteen bytes fit, sixteen are refused and change nothing") {
  std::string shown;
  std::error_code refusal;
  on_a_thread([&] {
    static_cast<void>(braid::this_thread::set_name("fifteen-bytes-x"));
    if (const auto set = braid::this_thread::set_name("sixteen-bytes-xy"); !set) refusal = set.error();
    shown = braid::this_thread::name();
  });
  CHECK(refusal == std::errc::invalid_argument);
  CHECK(shown == "fifteen-bytes-x");
}

TEST_CASE("an empty name can be set") {
  std::string shown = "something";
  on_a_thread([&] {
    if (braid::this_thread::set_name("")) shown = braid::this_thread::name();
  });
  CHECK(shown.empty());
}

TEST_CASE("the name of a thread is its own") {
  const std::string before = braid::this_thread::name();
  on_a_thread([] { static_cast<void>(braid::this_thread::set_name("somebody else")); });
  CHECK(braid::this_thread::name() == before);
}

TEST_CASE("the prefix is cut so that the whole index fits") {
  CHECK(braid::detail::indexed_thread_name("braid", 0) == "braid-0");
  CHECK(braid::detail::indexed_thread_name("braid", 4095) == "braid-4095");
  CHECK(braid::detail::indexed_thread_name("exactly-twelv", 7) == "exactly-twelv-7");
  CHECK(braid::detail::indexed_thread_name("a-very-long-prefix", 7) == "a-very-long-p-7");
  CHECK(braid::detail::indexed_thread_name("a-very-long-prefix", 123) == "a-very-long-123");
  CHECK(braid::detail::indexed_thread_name("", 12) == "-12");
}

TEST_CASE("every index of a pool gives a name that the system takes, and no two are equal") {
  for (std::size_t index = 1; index <= 1'000'000'000'000; index *= 10) {
    const std::string name = braid::detail::indexed_thread_name("a-very-long-prefix", index);
    CHECK(name.size() <= braid::detail::max_thread_name);
    CHECK(name.ends_with("-" + std::to_string(index)));
    CHECK(name != braid::detail::indexed_thread_name("a-very-long-prefix", index + 1));
  }
}
