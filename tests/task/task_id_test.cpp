// tests/task/task_id_test.cpp: numbers of tasks are different, in order, and none is 0.
#include <braid/task/executor.hpp>

#include <braid/task/future.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>

#include <doctest/doctest.h>

using namespace braid;

TEST_CASE("a number of a task is none until it is given, and numbers are ordered") {
  CHECK(task_id() == task_id{.number = 0});
  CHECK(task_id{.number = 1} < task_id{.number = 2});
  CHECK(spawn_options().name.empty());
}

TEST_CASE("work that is no task has neither a number nor a name") {
  pool workers(pool::options{.workers = 1});
  auto function = spawn(workers, [] {});
  CHECK(function.id() == task_id());
  CHECK(function.name().empty());
  promise<int> outside;
  const auto promised = outside.get_future();
  CHECK(promised.id() == task_id());
  CHECK(promised.name().empty());
}
