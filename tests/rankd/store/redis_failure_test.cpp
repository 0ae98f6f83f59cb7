// tests/rankd/store/redis_failure_test.cpp: what a server says stands in messages whole, or cut between characters.
#include <rankd/store/detail/redis_failure.hpp>

#include <rankd/registry/names.hpp>

#include <cstddef>
#include <string>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::detail;

TEST_CASE("an error of a server is told as it is, and a long one is cut between characters") {
  CHECK(server_message("NOPERM no rights") == "the server says: NOPERM no rights");
  CHECK(server_message("") == "the server says: ");
  for (int before = 290; before <= 300; ++before) {
    const std::string error = std::string(static_cast<std::size_t>(before), 'a') + "äöü€ and more of it";
    const std::string told = server_message(error);
    CAPTURE(before);
    CHECK(is_utf8(told));
    CHECK(told.ends_with("…"));
    CHECK(told.size() <= 340);
  }
}

TEST_CASE("what is not text in an error of a server is left out") {
  CHECK(server_message("ERR \xff\xfe rest") == "the server says: ERR …");
}
