// examples/tutorial/6_graph.cpp: the page of a shop as a graph: what waits and
// what computes, each as soon as it can.
#include <braid/braid.hpp>

#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using braid::task;

// [nodes]
// Waits: a coroutine on the loop.
auto fetch_name(int user) -> task<std::string> {
  co_await braid::sleep_for(1ms);
  co_return user == 7 ? "Ada" : "Bob";
}
auto fetch_cart(int user) -> task<std::vector<int>> {
  co_await braid::sleep_for(user == 8 ? 1h : 1ms);  // user 8 has a slow shard
  co_return std::vector<int>{20, 22};
}
// Computes: a function on a worker.
auto total_of(const std::vector<int>& prices) -> int {
  return std::accumulate(prices.begin(), prices.end(), 0);
}
auto page_of(const std::string& name, const int& total) -> std::string {
  return name + " owes " + std::to_string(total);
}
// [/nodes]

// [build]
auto shop_page() -> braid::flow<std::string(int)> {
  braid::flow_builder<int> draft;
  const auto name = draft.add("name", fetch_name, draft.input());
  const auto cart =
      draft.add({.name = "cart", .timeout = 500ms}, fetch_cart, draft.input());
  const auto total = draft.add("total", total_of, cart);
  const auto page = draft.add("page", page_of, name, total);
  // An error here would name all that is wrong.
  return braid::or_throw(std::move(draft).build(page));
}
// [/build]

// [run]
auto program() -> task<void> {
  // Once; it may run for many users at the same time.
  const auto page = shop_page();
  for (const int user : {7, 8}) {
    auto made = co_await page.run(braid::default_runtime().workers(), user);
    if (made) {
      std::printf("%s\n", made.take().c_str());
    } else {
      std::printf("no page for %d: %s failed\n", user,
                  made.report().name(made.failure()->node).c_str());
    }
  }
}

int main() { braid::spawn(program()).get(); }
// [/run]
