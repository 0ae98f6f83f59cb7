// tests/rankd/engine/out_of_memory_test.cpp: whichever allocation of a request fails, that request fails alone.
#include <rankd/engine/engine.hpp>

#include <tests/rankd/engine/engine_world.hpp>
#include <tests/support/scarce_memory.hpp>
#include <tests/support/watchdog.hpp>

#include <array>
#include <chrono>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;
using braid::testing::fail_everywhere;
using braid::testing::scarce_memory;
using braid::testing::survives;
using braid::testing::watchdog;

namespace {

constexpr std::array<std::string_view, 5> requests{
    R"({"user_id":1})",
    R"({"user_id":1,"plan":"t","experiments":{"a":"b","c":{"d":[1,[2,{"e":[3]}]]}},"param_overrides":{"x":[[[]]]}})",
    R"({"user_id":1,"context":{"a":[1,[2]],"a":{"b":[3]},"a":[[4],[5]]},"context":[{"a":[1]},{"b":[2]}]})",
    R"({"user_id":1,"candidates":[{"id":1,"x":[1,2]},{"id":2,"x":{"y":[[1]]}}],"output_keys":["id",["a"]],)"
    R"("explain":{"ids":[1,2,3]}})",
    R"({"user_id":[[[[1],[2]],{"a":{"b":{"c":[1]}}}])",
};

}  // namespace

TEST_CASE("a request is read, refused, or fails for want of memory") {
  const watchdog dog(std::chrono::seconds(600));
  const registries& declared = reference_project::get().declared;
  for (const std::string_view text : requests) {
    CAPTURE(text);
    fail_everywhere([&] { static_cast<void>(parse_request(text, declared)); });
    fail_everywhere([&] { static_cast<void>(find_request_id(text)); });
  }
}

TEST_CASE("a request that gets no memory fails, and the next one is answered") {
  const watchdog dog(std::chrono::seconds(600));
  engine_world world(2);
  const bound_plan& plan = world.reference_plan("reels_plan_a");
  const std::string expected = to_json(world.rank(plan, R"({"user_id":1,"request_id":"r"})"));
  const auto ask_twice = [&] {
    survives([&] { static_cast<void>(world.rank(plan, R"({"user_id":1,"request_id":"r","explain":true})")); });
    scarce_memory::end();
    static_cast<void>(world.rank(plan, R"({"user_id":1,"request_id":"r"})"));
  };
  fail_everywhere(ask_twice, braid::testing::frees::later);
  CHECK(to_json(world.rank(plan, R"({"user_id":1,"request_id":"r"})")).substr(0, 20) == expected.substr(0, 20));
}
