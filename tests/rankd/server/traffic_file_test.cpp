// tests/rankd/server/traffic_file_test.cpp: frames come back as they were written, and a file may end anywhere.
#include <rankd/server/traffic/traffic_file.hpp>

#include <tests/rankd/server/traffic_world.hpp>
#include <tests/support/scratch_folder.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;
using namespace std::chrono_literals;
using end = traffic_reader::end;

namespace {

auto some_plan() -> recorded_plan {
  return {.number = 1,
          .name = "home",
          .digest = "ab",
          .artifact = "{}",
          .models = {{"taste", "{\"a\":1}"}},
          .max_rows = 5,
          .max_bytes = {},
          .experiments = "text",
          .experiments_at = 77s,
          .substitute = 3};
}

auto some_request(std::uint64_t number) -> recorded_request {
  return {.number = number,
          .plan = 1,
          .time = 1234567890123ms,
          .head_id = "h",
          .request_id = "r",
          .text = R"({"user_id":1})",
          .code = "ok",
          .is_timed = true,
          .redacted = {"context", "locale"},
          .reads = std::string_view("\0\1", 2),
          .answer = "{}"};
}

/// Where the head and the frames of a small file end.
struct small_file {
  std::string bytes{traffic_head};
  std::vector<std::size_t> ends{traffic_head.size()};

  small_file() {
    add(encode_frame(some_project()));
    add(encode_frame(some_plan()));
    for (std::uint64_t number = 0; number < 3; ++number) add(encode_frame(some_request(number)));
  }
  void add(std::string frame) {
    bytes += sealed(std::move(frame));
    ends.push_back(bytes.size());
  }
};

auto frames_in(const seen_traffic& file) -> std::size_t {
  return file.projects.size() + file.plans.size() + file.requests.size();
}

}  // namespace

TEST_CASE("a project, a plan and a request come back as they were") {
  const std::string project_frame = encode_frame(some_project());
  const auto project = read_project(std::string_view(project_frame).substr(frame_head)).value();
  CHECK(project.version == "1.2");
  CHECK(project.environment == "dev");
  CHECK(project.registry.at(0).name == "keys.toml");
  CHECK(project.registry.at(0).text == "text");
  CHECK(project.digests.at(0).text == "0a");
  CHECK(project.cursor_age == 0s);

  const std::string plan_frame = encode_frame(some_plan());
  const auto plan = read_plan(std::string_view(plan_frame).substr(frame_head)).value();
  CHECK(plan.number == 1);
  CHECK(plan.name == "home");
  CHECK(plan.digest == "ab");
  CHECK(plan.artifact == "{}");
  CHECK(plan.models.at(0).text == "{\"a\":1}");
  CHECK(plan.max_rows == 5);
  CHECK_FALSE(plan.max_bytes.has_value());
  CHECK(plan.experiments == "text");
  CHECK(plan.experiments_at == 77s);
  CHECK(plan.substitute == 3);

  std::string request_frame = encode_frame(some_request(7));
  number_request(request_frame, std::uint64_t{1} << 40U, 2);
  const auto request = read_request(std::string_view(request_frame).substr(frame_head)).value();
  CHECK(request.number == std::uint64_t{1} << 40U);
  CHECK(request.plan == 2);
  CHECK(request.time == 1234567890123ms);
  CHECK(request.head_id == "h");
  CHECK(request.request_id == "r");
  CHECK(request.text == R"({"user_id":1})");
  CHECK(request.code == "ok");
  CHECK(request.is_timed);
  CHECK(request.redacted == std::vector<std::string_view>{"context", "locale"});
  CHECK(request.reads == std::string_view("\0\1", 2));
  CHECK(request.answer == "{}");
}

TEST_CASE("a file that is cut at any byte gives all whole frames before, and says how it ends") {
  const small_file file;
  for (std::size_t size = traffic_head.size(); size <= file.bytes.size(); ++size) {
    CAPTURE(size);
    const std::string bytes = file.bytes.substr(0, size);
    const seen_traffic found = seen(make_reader(bytes).value());
    const auto whole = std::ranges::upper_bound(file.ends, size) - file.ends.begin() - 1;
    CHECK(frames_in(found) == static_cast<std::size_t>(whole));
    const std::size_t last = file.ends.at(static_cast<std::size_t>(whole));
    CHECK(found.end == (last == size ? end::whole : end::torn));
    CHECK(found.position == last);
  }
}

TEST_CASE("a flipped bit anywhere is noticed, and the frames before are read") {
  const small_file file;
  for (std::size_t at = traffic_head.size(); at < file.bytes.size(); ++at)
    for (const unsigned bit : {0U, 7U}) {
      CAPTURE(at);
      std::string bytes = file.bytes;
      bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ (1U << bit));
      const seen_traffic found = seen(make_reader(bytes).value());
      const auto before = std::ranges::upper_bound(file.ends, at) - file.ends.begin() - 1;
      CHECK(frames_in(found) == static_cast<std::size_t>(before));
      CHECK(found.end != end::whole);
    }
}

TEST_CASE("frames of kinds that are not known yet are read as such, and content of another kind is refused") {
  std::string later = encode_frame(some_project());
  later[frame_head - 1] = 99;
  const std::string bytes = std::string(traffic_head) + sealed(later);
  auto from = make_reader(bytes).value();
  const auto frame = from.next();
  REQUIRE(frame.has_value());
  CHECK(static_cast<int>(frame->kind) == 99);
  CHECK_FALSE(from.next().has_value());
  CHECK(from.how_it_ends() == end::whole);
  CHECK_FALSE(read_request("short").has_value());
  CHECK_FALSE(read_request(frame->content).has_value());
  CHECK_FALSE(read_project(std::string(200, '\xff')).has_value());
  CHECK_FALSE(read_plan("").has_value());
}

TEST_CASE("a frame that says to be huge is damage, and one that is not there takes no memory") {
  std::string huge(traffic_head);
  huge += std::string("\xff\xff\xff\xff", 4) + std::string(5, '\1');
  CHECK(seen(make_reader(huge).value()).end == end::damaged);
  std::string large(traffic_head);
  large += std::string("\0\0\0\4", 4) + std::string(5, '\1');  // 64 MiB, of which nothing is there
  CHECK(seen(make_reader(large).value()).end == end::torn);
}

TEST_CASE("another file is refused, and one of a later version") {
  const braid::testing::scratch_folder folder;
  const auto code_of = [&](std::string_view text) {
    const auto made = traffic_reader::open(folder.write("file", text));
    REQUIRE_FALSE(made.has_value());
    CHECK(made.error().front().source == (folder.path() / "file").string());
    return made.error().front().code + ": " + made.error().front().message;
  };
  CHECK(code_of("") == "not_traffic: is not recorded traffic");
  CHECK(code_of("{\"a\":1,\"b\":2,\"c\":3}") == "not_traffic: is not recorded traffic");
  CHECK(code_of("rankd traffic 2\n") ==
        "not_traffic: was recorded in a version of the format that this rankd cannot read");
  const auto none = traffic_reader::open(folder.path() / "none");
  REQUIRE_FALSE(none.has_value());
  CHECK(none.error().front().code == "unreadable_file");
}
