// tests/io/descriptor_test.cpp: owned file descriptors.
#include <braid/io/backend.hpp>

#include <doctest/doctest.h>

#include <utility>

#include <fcntl.h>
#include <unistd.h>

using namespace braid;

namespace {

auto open_null() -> descriptor { return descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

auto is_open(int number) -> bool { return ::fcntl(number, F_GETFD) != -1; }

}  // namespace

TEST_CASE("a default-made descriptor owns nothing, nor does one made from the answer of a call that failed") {
  const descriptor nothing;
  CHECK_FALSE(nothing);
  CHECK(nothing.number() == -1);
  const descriptor refused(::open("/no/such/file", O_RDONLY | O_CLOEXEC));
  CHECK_FALSE(refused);
}

TEST_CASE("a descriptor is closed when its owner goes") {
  int number = -1;
  {
    const descriptor owner = open_null();
    REQUIRE(owner);
    number = owner.number();
    CHECK(is_open(number));
  }
  CHECK_FALSE(is_open(number));
}

TEST_CASE("moving passes the descriptor on and leaves nothing behind") {
  descriptor first = open_null();
  const int number = first.number();
  descriptor second(std::move(first));
  CHECK_FALSE(first);
  CHECK(second.number() == number);
  CHECK(is_open(number));
}

TEST_CASE("assigning closes what was owned before, and assigning to itself does nothing") {
  descriptor first = open_null();
  descriptor second = open_null();
  const int before = first.number();
  const int after = second.number();
  first = std::move(second);
  CHECK_FALSE(is_open(before));
  CHECK(is_open(after));
  CHECK(first.number() == after);
  descriptor& same = first;
  first = std::move(same);
  CHECK(is_open(after));
}

TEST_CASE("closing twice closes once, and descriptor zero is one like any other") {
  descriptor owner = open_null();
  const int number = owner.number();
  owner.close();
  CHECK_FALSE(owner);
  CHECK_FALSE(is_open(number));
  const descriptor other = open_null();  // takes the number that has become free
  CHECK(other.number() == number);
  owner.close();
  CHECK(is_open(other.number()));

  const int saved = ::dup(0);
  {
    const descriptor zero(0);
    CHECK(zero);
  }
  CHECK_FALSE(is_open(0));
  if (saved != -1) {
    ::dup2(saved, 0);
    ::close(saved);
  }
}
