// tests/rankd/store/packed_test.cpp: what is written is read, and bytes that are cut are never read past.
#include <rankd/store/packed.hpp>

#include <limits>
#include <string>

#include <doctest/doctest.h>

using namespace rankd;

namespace {

auto written() -> std::string {
  std::string out;
  packed_writer to(out);
  to.number(300);
  to.integer(-1);
  to.text("two");
  to.real(-0.5);
  to.integer(std::numeric_limits<std::int64_t>::min());
  to.number(std::numeric_limits<std::uint64_t>::max());
  return out;
}

}  // namespace

TEST_CASE("numbers, texts and reals come back as they were") {
  const std::string bytes = written();
  CHECK(bytes.substr(0, 3) == "\xac\x02\x01");
  packed_reader in(bytes);
  CHECK(in.number() == 300);
  CHECK(in.integer() == -1);
  CHECK(in.text() == "two");
  CHECK(in.real() == -0.5);
  CHECK(in.integer() == std::numeric_limits<std::int64_t>::min());
  CHECK_FALSE(in.is_done());
  CHECK(in.number() == std::numeric_limits<std::uint64_t>::max());
  CHECK(in.is_done());
}

TEST_CASE("bytes that end too early make the reader unsound, whatever is read then") {
  const std::string bytes = written();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    packed_reader in(std::string_view(bytes).substr(0, size));
    static_cast<void>(in.number() + static_cast<std::uint64_t>(in.integer()) + in.text().size());
    static_cast<void>(in.real());
    static_cast<void>(in.integer());
    CHECK(in.number() == 0);
    CHECK_FALSE(in.is_sound());
    CHECK(in.rest().empty());
    CHECK(in.text().empty());
  }
}

TEST_CASE("a count is never more than there are bytes") {
  packed_reader few(std::string_view("\x03\x01\x01", 3));
  CHECK(few.count() == 0);
  CHECK_FALSE(few.is_sound());
  packed_reader enough(std::string_view("\x02\x01\x01", 3));
  CHECK(enough.count() == 2);
  packed_reader endless(std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11));
  CHECK(endless.number() == 0);
  CHECK_FALSE(endless.is_sound());
}
