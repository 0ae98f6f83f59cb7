// tests/rankd/store/vector_claims_test.cpp: who uses which version of a file, and who merges into it.
#include <rankd/store/vector_claims.hpp>

#include <tests/support/scratch_folder.hpp>

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

using braid::testing::scratch_folder;
using rankd::vector_claims;

namespace {

/// The digests of versions: they differ in one of the digits that count.
const std::string low(64, '0');
const std::string middle = "000000000000001" + std::string(49, 'f');
const std::string high(64, 'f');

}  // namespace

TEST_CASE("a claim is seen by others until it is released, and never by its owner") {
  const scratch_folder folder;
  auto one = vector_claims::open(folder.path() / "v.rvec").value();
  auto two = vector_claims::open(folder.path() / "v.rvec").value();
  for (const std::string& version : {low, middle, high}) {
    REQUIRE(one.claim(version));
    REQUIRE(one.claim(version));  // a second claim is none
    CHECK_FALSE(one.has_others(low).value());
    for (const std::string& other : {low, middle, high}) CHECK(two.has_others(other).value() == (other != version));
    REQUIRE(one.release(version));
    CHECK_FALSE(two.has_others(low).value());
  }
  REQUIRE(one.claim(low));
  REQUIRE(one.claim(high));
  CHECK(two.has_others(low).value());
  REQUIRE(one.release(high));
  CHECK_FALSE(two.has_others(low).value());
  REQUIRE(two.claim(low));  // both may claim one version
}

TEST_CASE("claims end with their owner") {
  const scratch_folder folder;
  const auto two = vector_claims::open(folder.path() / "v.rvec").value();
  {
    auto one = vector_claims::open(folder.path() / "v.rvec").value();
    REQUIRE(one.claim(high));
    CHECK(two.has_others(low).value());
  }
  CHECK_FALSE(two.has_others(low).value());
}

TEST_CASE("one at a time holds the lock for merging, which is no claim") {
  const scratch_folder folder;
  auto one = vector_claims::open(folder.path() / "v.rvec").value();
  auto two = vector_claims::open(folder.path() / "v.rvec").value();
  CHECK(one.try_lock().value());
  CHECK_FALSE(two.try_lock().value());
  CHECK_FALSE(two.has_others(low).value());
  one.unlock();
  CHECK(two.try_lock().value());
  CHECK_FALSE(one.try_lock().value());
}

TEST_CASE("without a folder there is no lock file") {
  const scratch_folder folder;
  CHECK(vector_claims::open(folder.path() / "none/v.rvec").error() == std::errc::no_such_file_or_directory);
}
