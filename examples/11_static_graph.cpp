// examples/11_static_graph.cpp: functions that depend on each other, laid out
// once and run many times.
#include <braid/graph/static_graph.hpp>
#include <braid/task/pool.hpp>

#include <cstdio>
#include <stdexcept>
#include <stop_token>
#include <utility>

int main() {
  // [program]
  double price = 0;
  double tax = 0;
  double total = 0;
  double freight = 0;

  braid::graph_builder draft;
  const auto add_tax = draft.add("tax", [&] { tax = price * 0.2; });
  const auto add_freight = draft.add("freight", [&] {
    if (price < 0) throw std::invalid_argument("a price below 0");
    freight = price < 100 ? 7 : 0;
  });
  const auto sum = draft.add("sum", [&] { total = price + tax + freight; });
  const auto print = draft.add(
      "print", [&] { std::printf("%6.2f for %.2f\n", total, price); });
  draft.succeed(sum, add_tax, add_freight);
  draft.precede(sum, print);
  // All that is wrong would be an error here.
  braid::static_graph bill = braid::or_throw(std::move(draft).build());

  bill.run();  // on the workers of the process
  braid::pool workers({.workers = 2});
  for (const double each : {50, 125}) {
    price = each;
    braid::run_in(workers, [&] { bill.run(); });
  }

  try {
    price = -1;
    bill.run();
  } catch (const std::invalid_argument& error) {
    std::printf("no bill: %s\n", error.what());
  }
  std::stop_source enough;
  enough.request_stop();
  std::printf("no bill: %s\n",
              bill.run(enough.get_token()).error().message().c_str());
  // [/program]

  // [wrong]
  braid::graph_builder wrong;
  const auto hen = wrong.add("hen", [] {});
  const auto egg = wrong.add("egg", [] {});
  wrong.precede(hen, egg);
  wrong.precede(egg, hen);
  std::printf("%s", std::move(wrong).build().error().to_text().c_str());
  // [/wrong]
}
