// tests/coro/watch_test.cpp: a value that changes.
#include <braid/coro/broadcast.hpp>

#include <braid/coro/task.hpp>

#include <tests/support/scripted_home.hpp>

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <vector>

using namespace braid;
using testing::scripted_home;

namespace {

auto follow(watch<std::string>::observer from, std::vector<std::string>& into) -> task<void> {
  while (true) {
    const result<std::string> next = co_await from.changed();
    if (!next) break;
    into.push_back(*next);
  }
  into.emplace_back("closed");
}

}  // namespace

TEST_CASE("an observer sees the newest value after each change, and passes over those in between") {
  scripted_home where;
  watch<std::string> setting("a");
  std::vector<std::string> seen;
  where.root().spawn(follow(setting.observe(), seen));
  where.run_all();
  CHECK(seen.empty());
  where.elsewhere([&] { setting.set("b"); });
  where.run_all();
  setting.set("c");
  setting.set("d");
  where.run_all();
  CHECK(seen == std::vector<std::string>{"b", "d"});
  CHECK(setting.get() == "d");
  setting.close();
  where.run_all();
  CHECK(seen.back() == "closed");
}

TEST_CASE("every observer is told, at its own home") {
  scripted_home one;
  scripted_home two;
  watch<std::string> setting("");
  std::vector<std::string> first;
  std::vector<std::string> second;
  one.root().spawn(follow(setting.observe(), first));
  two.root().spawn(follow(setting.observe(), second));
  setting.update([](std::string& value) { value += "x"; });
  one.run_all();
  CHECK(first == std::vector<std::string>{"x"});
  CHECK(second.empty());
  two.run_all();
  CHECK(second == first);
  setting.close();
  one.run_all();
  two.run_all();
}

TEST_CASE("a change that throws is none, and a change before the close is seen") {
  scripted_home where;
  watch<std::string> setting("a");
  auto observer = setting.observe();
  CHECK_THROWS(setting.update([](std::string&) { throw std::runtime_error("no"); }));
  std::vector<std::string> seen;
  where.root().spawn(follow(observer, seen));
  CHECK(seen.empty());
  setting.set("b");
  setting.close();
  where.run_all();
  CHECK(seen == std::vector<std::string>{"b", "closed"});
}

TEST_CASE("a stopped observer leaves") {
  scripted_home where;
  watch<std::string> setting("a");
  std::vector<std::string> seen;
  where.root().spawn(follow(setting.observe(), seen));
  where.root().request_stop();
  setting.set("b");
  where.run_all();
  CHECK(seen.empty());
}
