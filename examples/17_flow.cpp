// examples/17_flow.cpp: functions and coroutines that hand each other values,
// each as soon as what it takes is there.
#include <braid/coro/sleep.hpp>
#include <braid/graph/flow.hpp>
#include <braid/runtime/runtime.hpp>

#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

using braid::task, braid::operator""ms, braid::operator""h;

// [nodes]
// A coroutine: it waits on the loop.
auto fetch_name(const int& user) -> task<std::string> {
  co_await braid::sleep_for(1ms);
  if (user == 0) throw std::invalid_argument("nobody has number 0");
  co_return user == 7 ? "ada" : "bob";
}
auto fetch_posts(const int& user) -> task<std::vector<int>> {
  co_await braid::sleep_for(user == 9 ? 1h : 2ms);
  co_return std::vector<int>{user, user + 1, user + 2};
}
// A function: it computes on a worker.
auto score(const std::vector<int>& posts) -> double {
  return 0.5 * std::reduce(posts.begin(), posts.end());
}
auto greet(const std::string& name, const double& points) -> std::string {
  return name + " has " + std::to_string(points).substr(0, 4);
}
// [/nodes]

auto program(braid::runtime& runtime) -> task<void> {
  // [flow]
  braid::flow_builder<int> draft;
  const auto name = draft.add("name", fetch_name, draft.input());
  const auto posts =
      draft.add({.name = "posts", .timeout = braid::duration(20ms)},
                fetch_posts, draft.input());
  const auto points = draft.add("points", score, posts);
  const auto line = draft.add({.name = "line", .size = braid::node_size::small},
                              greet, name, points);
  const braid::flow<std::string(int)> feed =
      braid::or_throw(std::move(draft).build(line));
  // [/flow]
  // [run]
  for (const int user : {7, 8, 0, 9}) {
    auto answer = co_await feed.run({.times = braid::flow_times::recorded},
                                    runtime.workers(), user);
    const braid::flow_report& report = answer.report();
    if (answer) {
      std::printf("%s; the time went to", answer.take().c_str());
      for (const auto& step : report.critical_path())
        std::printf(" %s", report.name(step.node).c_str());
    } else {
      std::printf("nothing, because of %s; skipped:",
                  report.name(answer.failure()->node).c_str());
      for (const auto node : report.skipped())
        std::printf(" %s", report.name(node).c_str());
    }
    std::printf("\n");
  }
  // [/run]
}

int main() {
  const auto runtime = braid::or_throw(braid::runtime::create({.workers = 2}));
  runtime->run(program(*runtime));
}
