// tests/rankd/registry/digest_memory_test.cpp: a digest for which OpenSSL gets no memory fails, and the next one is
// made. A program of its own, as those that have scarce_memory: it replaces the memory functions of OpenSSL.
#include <rankd/registry/digest.hpp>

#include <cstdlib>
#include <string>
#include <system_error>
#include <thread>

#include <doctest/doctest.h>
#include <openssl/crypto.h>

using namespace rankd;

namespace {

/// Allocations that still succeed; below zero: all do.
long until_failure = -1;
long failed = 0;

auto is_refused() -> bool {
  if (until_failure < 0) return false;
  if (until_failure > 0) {
    --until_failure;
    return false;
  }
  ++failed;
  return true;
}

auto allocate(std::size_t size, const char* /*file*/, int /*line*/) -> void* {
  return is_refused() ? nullptr : std::malloc(size);
}
auto allocate_again(void* place, std::size_t size, const char* /*file*/, int /*line*/) -> void* {
  return is_refused() ? nullptr : std::realloc(place, size);
}
void give_back(void* place, const char* /*file*/, int /*line*/) { std::free(place); }

const bool is_replaced = CRYPTO_set_mem_functions(&allocate, &allocate_again, &give_back) == 1;

/// Makes digests on a thread of its own, whose context is not made yet. Returns whether all were made.
auto makes_digests() -> bool {
  bool made = false;
  std::thread([&made] {
    try {
      made = sha256_head("abc") == 0xba7816bf8f01cfeaULL && sha256_hex("abc").starts_with("ba7816bf") &&
             hmac_sha256("key", "abc").size() == 32;
      CHECK(made);
    } catch (const std::system_error& why) {
      CHECK(why.code() == std::errc::not_enough_memory);
    }
  }).join();
  return made;
}

}  // namespace

TEST_CASE("a digest fails if OpenSSL gets no memory, whichever allocation it is, and later ones are made") {
  REQUIRE(is_replaced);
  // OpenSSL 3.0 itself does not survive a shortage while it sets itself up, which programs do when they start.
  REQUIRE(makes_digests());
  for (long n = 0;; ++n) {
    REQUIRE(n < 10'000);
    failed = 0;
    until_failure = n;
    const bool made = makes_digests();
    until_failure = -1;
    if (n == 0) CHECK_FALSE(made);
    const bool was_short = failed != 0;
    CHECK(makes_digests());
    if (!was_short) break;
  }
}
