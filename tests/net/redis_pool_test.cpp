// tests/net/redis_pool_test.cpp: calls go to the connection with the least to do.
#include <braid/net/redis_connection.hpp>

#include <tests/net/redis_scene.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace braid;
using namespace braid::testing;

namespace {

/// Several connections of one listener, by the order of their acceptance.
struct crowd {
  explicit crowd(std::size_t connections) {
    redis_options options;
    listener.direct(options);
    pool.emplace(loop.io(), options, connections);
    loop.run_once();
  }
  ~crowd() { pool.reset(); }

  auto get(std::string key) -> std::shared_ptr<call_end> {
    auto told = std::make_shared<call_end>();
    auto run = [](std::shared_ptr<call_end> end, redis_pool& redis, std::string of) -> task<void> {
      arena memory;
      const auto got = co_await redis.get(of, memory);
      end->over = true;
      if (got && *got) end->text = std::string(**got);
      if (!got) end->error = got.error();
    };
    loop.io().spawn(run(told, *pool, std::move(key)));
    return told;
  }

  test_loop loop;
  scripted_server listener;
  std::optional<redis_pool> pool;
};

}  // namespace

TEST_CASE("calls are spread over the connections") {
  crowd world(3);
  std::vector<std::shared_ptr<call_end>> calls;
  for (int i = 0; i < 6; ++i) calls.push_back(world.get("k"));
  world.loop.run_once();
  for (std::size_t i = 0; i < 3; ++i) CHECK(world.pool->counts(i).sent == 2);
  for (std::size_t i = 0; i < 3; ++i) {
    REQUIRE(world.listener.accept());
    CHECK(world.listener.take() == command_bytes({"GET", "k"}) + command_bytes({"GET", "k"}));
    world.listener.send(bulk("1") + bulk("2"));
    world.loop.run_once();
  }
  for (const auto& call : calls) CHECK(call->over);
}

TEST_CASE("a connection that is lost gets no calls while others are there") {
  crowd world(2);
  REQUIRE(world.listener.accept());
  world.listener.hang_up();
  REQUIRE(world.listener.accept());
  world.loop.run_once();
  const auto one = world.get("k");
  const auto two = world.get("k");
  world.loop.run_once();
  CHECK(world.listener.take() == command_bytes({"GET", "k"}) + command_bytes({"GET", "k"}));
  world.listener.send(bulk("1") + bulk("2"));
  world.loop.run_once();
  CHECK(one->text == "1");
  CHECK(two->text == "2");
}

TEST_CASE("a pool that is closed refuses calls") {
  crowd world(2);
  const auto under_way = world.get("k");
  world.loop.run_once();
  world.pool->close();
  world.loop.run_once();
  CHECK((under_way->error == errc::closed));
  CHECK((world.get("k")->error == errc::closed));
  CHECK(world.pool->size() == 2);
}
