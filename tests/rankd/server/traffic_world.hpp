// tests/rankd/server/traffic_world.hpp: frames for tests of recorded traffic, and files of them read back.
#pragma once

#include <rankd/server/traffic/traffic_file.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rankd::testing {

inline auto some_project() -> recorded_project {
  return {.version = "1.2", .environment = "dev", .registry = {{"keys.toml", "text"}}, .digests = {{"keys", "0a"}}};
}

inline auto sealed(std::string frame) -> std::string {
  seal_frame(frame);
  return frame;
}

/// Reads a file that lies in memory; gives at most `at_once` bytes at a time.
inline auto make_reader(const std::string& bytes, std::size_t at_once = 7) -> braid::checked<traffic_reader> {
  const auto place = std::make_shared<std::size_t>(0);
  return traffic_reader::read([&bytes, place, at_once](std::span<char> into) {
    const std::size_t size = std::min({into.size(), at_once, bytes.size() - *place});
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(*place), size, into.begin());
    *place += size;
    return size;
  });
}

/// A request that owns its texts, which are few enough for a test to name them.
struct seen_request {
  std::uint64_t number = 0;
  std::uint32_t plan = 0;
  std::string request_id;
  std::string code;
  std::string text;
  std::string answer;
  std::size_t reads = 0;  // bytes
  std::vector<std::string> redacted;
};

/// What a file holds.
struct seen_traffic {
  std::vector<recorded_project> projects;
  std::vector<recorded_plan> plans;
  std::vector<seen_request> requests;
  traffic_reader::end end{};
  std::uint64_t position = 0;
};

inline auto seen(traffic_reader from) -> seen_traffic {
  seen_traffic out;
  while (const auto frame = from.next()) {
    if (frame->kind == frame_kind::project) out.projects.push_back(read_project(frame->content).value());
    if (frame->kind == frame_kind::plan) out.plans.push_back(read_plan(frame->content).value());
    if (frame->kind != frame_kind::request) continue;
    const recorded_request one = read_request(frame->content).value();
    out.requests.push_back({.number = one.number,
                            .plan = one.plan,
                            .request_id = std::string(one.request_id),
                            .code = std::string(one.code),
                            .text = std::string(one.text),
                            .answer = std::string(one.answer),
                            .reads = one.reads.size(),
                            .redacted = {one.redacted.begin(), one.redacted.end()}});
  }
  out.end = from.how_it_ends();
  out.position = from.position();
  return out;
}

}  // namespace rankd::testing
