// tests/trace/perfetto_test.cpp: the bytes that Perfetto's format prescribes.
#include <braid/trace/detail/perfetto.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>

using braid::detail::perfetto_writer;
using braid::detail::protobuf_message;
using braid::detail::trace_event;
using namespace std::string_literals;

namespace {

auto hex(std::string_view bytes) -> std::string {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char each : bytes) {
    const auto byte = static_cast<unsigned char>(each);
    text += digits[byte >> 4U];
    text += digits[byte & 0xfU];
  }
  return text;
}

}  // namespace

TEST_CASE("numbers are varints, the rest has its length before it") {
  protobuf_message message;
  message.number(1, 0);
  message.number(2, 300);
  message.number(16, ~std::uint64_t{0});
  CHECK(hex(message.encoded()) ==
        "0800"
        "10ac02"
        "8001ffffffffffffffffff01");
  message.clear();
  message.fixed(47, 0x0102030405060708);
  message.bytes(2, "ab");
  CHECK(hex(message.encoded()) ==
        "f9020807060504030201"
        "12026162");
}

TEST_CASE("an event says how much later it is, and a name stands with its first use only") {
  perfetto_writer out;
  perfetto_writer::sequence thread{.id = 2, .last_ns = 0, .known_names = {}};
  out.thread(thread, 7, 8, "worker", 1000);
  const std::uint32_t name = out.name("parse");
  out.clear();
  out.event(thread, 1300, {.what = trace_event::kind::begin, .name = name});
  // packet { timestamp 300, sequence 2, interned { event_names { iid 1, name "parse" } },
  //          track_event { type 1, name_iid 1 }, sequence_flags 2 }
  CHECK(hex(out.bytes()) ==
        "0a1a"
        "40ac02"
        "5002"
        "620b"
        "1209"
        "0801"
        "12057061727365"
        "5a04"
        "4801"
        "5001"
        "6802");
  out.clear();
  out.event(thread, 1300, {.what = trace_event::kind::begin, .name = name});
  CHECK(hex(out.bytes()) ==
        "0a0c"
        "4000"
        "5002"
        "5a04"
        "4801"
        "5001"
        "6802");
}

TEST_CASE("a thread belongs to the process that was begun last") {
  perfetto_writer out;
  perfetto_writer::sequence thread{.id = 2, .last_ns = 0, .known_names = {}};
  out.process(7, "a");
  out.process(8, "b");
  out.clear();
  out.track(9, "t");
  // packet { sequence 1, descriptor { uuid 9, parent 0x10001'0000'0000, name "t" } }
  CHECK(hex(out.bytes()) ==
        "0a12"
        "5001"
        "e2030d"
        "0809"
        "2880808080908040"
        "120174");
}

TEST_CASE("a time before the last one is that one") {
  perfetto_writer out;
  perfetto_writer::sequence thread{.id = 2, .last_ns = 0, .known_names = {}};
  out.thread(thread, 7, 8, "worker", 1000);
  out.clear();
  out.event(thread, 400, {.what = trace_event::kind::end});
  CHECK(hex(out.bytes()) ==
        "0a0a"
        "4000"
        "5002"
        "5a02"
        "4802"
        "6802");
  CHECK(thread.last_ns == 1000);
}
