// tests/rankd/server/traffic_comparison_test.cpp: frames that no server writes, and requests whose order counts.
// Comparisons of recorded traffic: tests/rankd/cli/traffic_diff_test.cpp, tests/oracle/traffic.py
#include <rankd/server/traffic_comparison.hpp>

#include <rankd/server/traffic_images.hpp>
#include <tests/rankd/server/serve_world.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;

namespace {

auto plan_of_rows(int rows) -> std::shared_ptr<const bound_plan> {
  return bound_from(artifact_of(source("a", rows), R"("a")"), "t");
}

auto comparison(int before, int after) -> std::unique_ptr<traffic_comparison> {
  auto made = value_of(traffic_comparison::make({.declared = &reference_project::get().declared,
                                                 .before = plan_of_rows(before),
                                                 .after = plan_of_rows(after),
                                                 .recorded_plan = "t",
                                                 .workers = 2}));
  made->begin("t.rec");
  return made;
}

auto project_frame() -> std::string {
  const auto& project = reference_project::get();
  return frame_of(value_of(image_of(project.where, project.declared, "1.2")));
}

auto request_frame(std::uint64_t number, const std::string& text, const std::string& redacted = "") -> std::string {
  recorded_request out{.number = number,
                       .plan = 1,
                       .head_id = {},
                       .request_id = "r",
                       .text = text,
                       .code = "ok",
                       .reads = {},
                       .answer = {}};
  if (!redacted.empty()) out.redacted.push_back(redacted);
  return frame_of(out);
}

auto plan_frame() -> std::string {
  recorded_plan out;
  out.number = 1;
  out.name = "t";
  return frame_of(out);
}

auto take(traffic_comparison& into, const std::string& frame) -> std::string {
  const auto kind = static_cast<frame_kind>(frame[frame_head - 1]);
  const auto taken = into.take({.kind = kind, .content = std::string_view(frame).substr(frame_head)});
  return taken ? "" : taken.error().front().code;
}

}  // namespace

TEST_CASE("frames that cannot be read, or stand where none may, are an error") {
  const auto one = comparison(1, 1);
  CHECK(take(*one, request_frame(0, "{}")) == "not_traffic");
  CHECK(take(*one, project_frame()).empty());
  CHECK(take(*one, project_frame()) == "not_traffic");
  CHECK(take(*one, request_frame(0, "{}")) == "not_traffic");  // its plan has not come
  CHECK(take(*one, plan_frame()).empty());
  CHECK(take(*one, request_frame(std::numeric_limits<std::uint64_t>::max(), "{}")) == "not_traffic");
  std::string unreadable = request_frame(0, "{}");
  unreadable.resize(frame_head + 5);
  CHECK(take(*one, unreadable) == "not_traffic");
  one->begin("next.rec");  // another record has a project of its own
  CHECK(take(*one, plan_frame()) == "not_traffic");
}

TEST_CASE("requests are counted by what can be done with them, and lost ones by the numbers of those that came") {
  const auto one = comparison(3, 2);
  CHECK(take(*one, project_frame()).empty());
  CHECK(take(*one, plan_frame()).empty());
  for (std::uint64_t number = 0; number < 400; ++number)
    CHECK(take(*one, request_frame(number, R"({"plan":"t"})")).empty());
  CHECK(take(*one, request_frame(400, "{")).empty());
  CHECK(take(*one, request_frame(405, R"({"plan":"t"})", "user_id")).empty());
  const traffic_differences found = one->finish();
  CHECK(one->lost() == 4);
  CHECK(found.requests == 402);
  CHECK(found.unusable == 1);
  CHECK(found.redacted == 1);
  CHECK(found.compared() == 400);
  CHECK(found.count(answer_change::candidates) == 400);
  REQUIRE(found.changed.size() == 20);
  for (std::size_t at = 0; at < found.changed.size(); ++at) {
    CHECK(found.changed[at].number == at);  // all are changed alike
    REQUIRE(found.changed[at].moves.size() == 1);
    CHECK(found.changed[at].moves[0].was == 3);
    CHECK_FALSE(found.changed[at].moves[0].is.has_value());
    CHECK_FALSE(found.changed[at].moves[0].why.empty());
  }
}
