// tests/rankd/cli/option_checks_test.cpp: what numbers, addresses and stores on a command line look like.
#include <rankd/cli/checks/option_checks.hpp>

#include <tests/support/scratch_folder.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>

using namespace rankd;

TEST_CASE("whole numbers are digits of ten within their bounds") {
  const CLI::Validator check = whole_number(1, 4096);
  for (const char* fine : {"1", "10", "4096"}) CHECK(check(std::string(fine)).empty());
  for (const char* wrong : {"", "0", "4097", "-1", "+1", "01", "010", "0x10", "1.0", "1e2", " 1", "1 ", "one",
                            "18446744073709551617", "9223372036854775808"}) {
    CAPTURE(wrong);
    CHECK(check(std::string(wrong)) == "must be an integer from 1 to 4096, got `" + std::string(wrong) + "`");
  }
  const CLI::Validator any =
      whole_number(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
  for (const char* fine : {"0", "-1", "9223372036854775807", "-9223372036854775808"})
    CHECK(any(std::string(fine)).empty());
  for (const char* wrong : {"9223372036854775808", "-9223372036854775809", "-01", "00"})
    CHECK(any(std::string(wrong)) == "must be an integer of 64 bits, got `" + std::string(wrong) + "`");
}

TEST_CASE("numbers with fractions are finite and within their bounds") {
  const CLI::Validator check = number_between(0.001, 10'000'000);
  for (const char* fine : {"0.001", "1", "2.5", "1e3", "10000000"}) CHECK(check(std::string(fine)).empty());
  for (const char* wrong : {"", "0", "nan", "-nan", "inf", "-1", "10000001", "1,5", "1x"}) {
    CAPTURE(wrong);
    CHECK(check(std::string(wrong)) == "must be a number from 0.001 to 10000000, got `" + std::string(wrong) + "`");
  }
}

TEST_CASE("a folder that must exist is named if it does not") {
  const braid::testing::scratch_folder folder;
  folder.write("file", "");
  const std::string file = (folder.path() / "file").string();
  const std::string missing = (folder.path() / "missing").string();
  CHECK(check_folder(folder.path().string()).empty());
  CHECK(check_folder("") == "must not be empty");
  CHECK(check_folder(missing) == "must be an existing folder, but `" + missing + "` does not exist");
  CHECK(check_folder(file) == "must be an existing folder, but `" + file + "` is not a folder");
}

TEST_CASE("servers, addresses and stores are told from what only looks like them") {
  for (const char* fine : {"http://h", "http://127.0.0.1:80", "https://[::1]:8443"})
    CHECK(check_server_url(fine).empty());
  for (const char* wrong : {"", "h:80", "127.0.0.1:80", "ftp://h", "http://h/", "http://h/x", "http://u@h"})
    CHECK(check_server_url(wrong) == "must be http://HOST:PORT or https://HOST:PORT, got `" + std::string(wrong) + "`");
  for (const char* fine : {"http://localhost:4318", "https://c.example/in/traces"})
    CHECK(check_collector_url(fine).empty());
  CHECK(check_collector_url("localhost:4317") ==
        "must be the URL of a collector for OTLP over HTTP, such as http://HOST:4318, got `localhost:4317`");
  CHECK(check_listen("127.0.0.1:8080").empty());
  CHECK(check_listen("localhost:8080").ends_with("[::]:8080, got `localhost:8080`"));
  for (const char* fine : {"folder", "./a:b", "lmdb:folder", "lmdb:a:b", "/tmp/a:b/c"})
    CHECK(check_store(fine).empty());
  for (const char* wrong : {"", "lmdb:", "redis:h", "redis://h", "http://h", "a:b"})
    CHECK_FALSE(check_store(wrong).empty());
  CHECK(check_filled_store("redis://127.0.0.1:6379").empty());
  CHECK(check_filled_store("folder").empty());
  CHECK_FALSE(check_filled_store("redis:127.0.0.1").empty());
  CHECK_FALSE(check_filled_store("redis://h/x").empty());
}
