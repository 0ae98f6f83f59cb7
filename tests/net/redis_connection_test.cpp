// tests/net/redis_connection_test.cpp: what a connection sends, whose the replies are, and what becomes of calls when
// time passes, callers leave or the connection ends. The server is played by the test, and the clock is turned by it.
#include <braid/net/redis_connection.hpp>

#include <tests/net/redis_scene.hpp>
#include <tests/support/nested_steps.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

using namespace braid;
using namespace braid::testing;
using namespace std::chrono_literals;

namespace {

/// An option that most tests leave alone.
auto with(auto change) -> redis_options {
  redis_options options;
  change(options);
  return options;
}

}  // namespace

TEST_CASE("commands of a turn are sent together, in the order of the calls") {
  redis_scene scene;
  scene.connect();
  const auto a = scene.get("a");
  const auto b = scene.set("b", "1");
  const auto c = scene.get("c");
  CHECK(scene.server().received().empty());
  scene.loop().run_once(1);
  CHECK(scene.server().received() ==
        command_bytes({"GET", "a"}) + command_bytes({"SET", "b", "1"}) + command_bytes({"GET", "c"}));
  scene.send("$1\r\nA\r\n+OK\r\n$-1\r\n");
  CHECK(a->text == "A");
  CHECK((b->over && !b->error));
  CHECK(c->text == "nothing");
}

TEST_CASE("a reply in pieces is given when it is whole") {
  redis_scene scene;
  scene.connect();
  const auto a = scene.get("a");
  const auto b = scene.get("b");
  scene.run_once();
  const std::string replies = bulk("first") + bulk("second");
  for (const char byte : replies.substr(0, 10)) scene.send({&byte, 1});
  CHECK_FALSE(a->over);
  scene.send(replies.substr(10, 2));
  CHECK(a->text == "first");
  CHECK_FALSE(b->over);
  scene.send(replies.substr(12));
  CHECK(b->text == "second");
}

TEST_CASE("a call whose time is over leaves, and its reply is nobody else's") {
  redis_scene scene;
  scene.connect();
  const auto late = scene.get("late", 50ms);
  const auto patient = scene.get("patient", 10s);
  scene.run_once();
  scene.loop().advance(49ms);
  CHECK_FALSE(late->over);
  scene.loop().advance(2ms);
  CHECK((late->error == errc::deadline_exceeded));
  CHECK_FALSE(patient->over);
  const auto after = scene.get("after");
  scene.run_once();
  scene.send(bulk("LATE") + bulk("PATIENT") + bulk("AFTER"));
  CHECK(late->text.empty());
  CHECK(patient->text == "PATIENT");
  CHECK(after->text == "AFTER");
  CHECK(scene.redis().counts().dropped == 1);
  CHECK(scene.redis().counts().lost == 0);
}

TEST_CASE("a call that says no time has that of the options, and one that wants none has none") {
  redis_scene scene(with([](redis_options& o) {
    o.request_timeout = 100ms;
    o.silence = 10min;
    o.silence_when_left = 10min;
  }));
  scene.connect();
  const auto first = scene.get("a");
  const auto endless = scene.get("b", duration::max());
  scene.loop().advance(60ms);
  const auto second = scene.get("c");
  scene.loop().advance(60ms);
  CHECK((first->error == errc::deadline_exceeded));
  CHECK_FALSE(second->over);
  scene.loop().advance(60ms);
  CHECK((second->error == errc::deadline_exceeded));
  scene.loop().advance(1min);
  CHECK_FALSE(endless->over);
  scene.send(bulk("A") + bulk("B") + bulk("C"));
  CHECK(endless->text == "B");
}

TEST_CASE("calls by the time of the options leave one after the other, whether they were sent or wait") {
  redis_scene scene(with([](redis_options& o) {
    o.request_timeout = 100ms;
    o.silence = 10min;
    o.silence_when_left = 10min;
    o.in_flight = 3;
  }));
  scene.connect();
  std::vector<std::shared_ptr<call_end>> calls;
  const auto own = scene.get("own", 10s);
  for (const char* key : {"a", "b", "c", "d"}) {
    calls.push_back(scene.get(key));
    scene.loop().advance(10ms);
  }
  scene.loop().advance(50ms);  // 90
  for (const std::size_t over : {1U, 2U, 3U, 4U}) {
    scene.loop().advance(5ms);
    for (std::size_t i = 0; i < calls.size(); ++i) CHECK(calls[i]->over == (i + 1 < over));
    scene.loop().advance(5ms);
  }
  scene.loop().advance(10ms);
  for (const auto& call : calls) CHECK((call->error == errc::deadline_exceeded));
  CHECK_FALSE(own->over);
  const auto next = scene.get("next");
  scene.send(bulk("OWN") + bulk("A") + bulk("B"));
  CHECK(own->text == "OWN");
  scene.send(bulk("NEXT"));
  CHECK(next->text == "NEXT");
  CHECK(scene.redis().counts().expired == 4);
}

TEST_CASE("who shares a reply has a time of its own") {
  redis_scene scene(with([](redis_options& o) {
    o.request_timeout = 100ms;
    o.silence = 10min;
    o.silence_when_left = 10min;
    o.in_flight = 2;
    o.repeats = redis_repeats::shared;
  }));
  scene.connect();
  const auto before = scene.get("before", duration::max());
  const auto other = scene.get("other", duration::max());
  const auto patient = scene.get("a", 10s);
  scene.loop().advance(10ms);
  const auto first = scene.get("a");
  scene.loop().advance(60ms);
  const auto second = scene.get("a");
  scene.run_once();
  scene.send(bulk("BEFORE") + bulk("OTHER"));  // now the rest is sent, as one
  CHECK((before->text == "BEFORE" && other->text == "OTHER"));
  CHECK(scene.redis().counts().shared == 2);
  scene.loop().advance(60ms);
  CHECK((first->error == errc::deadline_exceeded));
  CHECK_FALSE(second->over);
  scene.loop().advance(60ms);
  CHECK((second->error == errc::deadline_exceeded));
  CHECK_FALSE(patient->over);
  scene.send(bulk("A"));
  CHECK(patient->text == "A");
}

TEST_CASE("a reply that is longer than the limit ends the connection, however short it is") {
  redis_scene scene(with([](redis_options& o) { o.limits.reply = 20; }));
  scene.connect();
  const auto fits = scene.get("fits");
  const auto is_long = scene.get("long");
  scene.run_once();
  scene.send(bulk("0123456789abc") + bulk("0123456789abcde"));
  CHECK(fits->text == "0123456789abc");
  CHECK((is_long->error == resp_errc::too_large));
}

TEST_CASE("a call that waits to be sent has its deadline too, and is not sent after it") {
  redis_scene scene(with([](redis_options& o) { o.in_flight = 1; }));
  scene.connect();
  const auto first = scene.get("first", 10s);
  const auto second = scene.get("second", 20ms);
  scene.loop().advance(30ms);
  CHECK((second->error == errc::deadline_exceeded));
  scene.send(bulk("FIRST"));
  CHECK(first->text == "FIRST");
  CHECK(scene.server().take() == command_bytes({"GET", "first"}));
}

TEST_CASE("a call that is stopped leaves, even in the middle of its reply") {
  redis_scene scene;
  scene.connect();
  const auto before = scene.get("before");
  const auto stopped = scene.get("stopped");
  scene.run_once();
  scene.send(bulk("BEFORE") + "$10\r\n01234");
  scene.stop_last();
  const auto after = scene.get("after");
  scene.run_once();
  scene.send("56789\r\n" + bulk("AFTER"));
  CHECK(before->text == "BEFORE");
  CHECK_FALSE(stopped->over);
  CHECK(after->text == "AFTER");
  CHECK(scene.redis().counts().dropped == 1);
}

TEST_CASE("no more commands are under way than the window takes, and those behind it keep their order") {
  redis_scene scene(with([](redis_options& o) { o.in_flight = 2; }));
  scene.connect();
  std::vector<std::shared_ptr<call_end>> calls;
  for (const char* key : {"a", "b", "c", "d"}) calls.push_back(scene.get(key));
  scene.run_once();
  CHECK(scene.server().take() == command_bytes({"GET", "a"}) + command_bytes({"GET", "b"}));
  scene.send(bulk("A"));
  CHECK(scene.server().take() == command_bytes({"GET", "c"}));
  scene.send(bulk("B") + bulk("C"));
  CHECK(scene.server().take() == command_bytes({"GET", "d"}));
  scene.send(bulk("D"));
  for (std::size_t i = 0; i < calls.size(); ++i) CHECK(calls[i]->text == std::string(1, static_cast<char>('A' + i)));
}

TEST_CASE("a window is not freed by callers who leave, but by replies") {
  redis_scene scene(with([](redis_options& o) { o.in_flight = 1; }));
  scene.connect();
  const auto left = scene.get("left", 10ms);
  const auto next = scene.get("next", 10s);
  scene.loop().advance(20ms);
  CHECK(left->over);
  CHECK(scene.server().take() == command_bytes({"GET", "left"}));
  scene.send(bulk("LEFT"));
  CHECK(scene.server().take() == command_bytes({"GET", "next"}));
  scene.send(bulk("NEXT"));
  CHECK(next->text == "NEXT");
}

TEST_CASE("calls for which there is no room are refused at once") {
  redis_scene scene(with([](redis_options& o) {
    o.in_flight = 1;
    o.queue = 2;
  }));
  scene.connect();
  std::vector<std::shared_ptr<call_end>> calls;
  for (int i = 0; i < 4; ++i) calls.push_back(scene.get("k"));
  CHECK(calls[3]->over);
  CHECK((calls[3]->error == errc::full));
  CHECK_FALSE(calls[2]->over);
  for (int i = 0; i < 3; ++i) scene.send(bulk("v"));
  CHECK(calls[2]->text == "v");
}

TEST_CASE("when a connection ends, what was sent is lost, and what was not is sent by the next") {
  redis_scene scene(with([](redis_options& o) { o.in_flight = 2; }));
  scene.connect();
  const auto first = scene.get("first");
  const auto second = scene.get("second");
  const auto third = scene.get("third");
  scene.run_once();
  scene.send("$5\r\nFI");
  scene.server().hang_up();
  scene.run_once();
  CHECK((first->error == redis_errc::connection_lost));
  CHECK((second->error == redis_errc::connection_lost));
  CHECK_FALSE(third->over);
  scene.options().request_timeout = 10s;
  scene.loop().advance(20ms);
  scene.connect();
  CHECK(scene.server().received() == command_bytes({"GET", "third"}));
  scene.send(bulk("THIRD"));
  CHECK(third->text == "THIRD");
}

TEST_CASE("while nobody listens calls fail with the reason, and later ones find the server again") {
  redis_scene scene;
  scene.server().stop_listening();
  scene.begin();
  const auto waits = scene.get("a");
  scene.loop().advance(50ms);
  CHECK(waits->over);
  CHECK((waits->error == std::errc::connection_refused));
  CHECK(scene.redis().counts().failed >= 2);
  scene.server().listen();
  const auto found = scene.get("b");
  scene.connect_again();
  scene.send(bulk("B"));
  CHECK(found->text == "B");
}

TEST_CASE("attempts become rarer, up to a limit") {
  redis_scene scene;
  scene.server().stop_listening();
  scene.begin();
  for (int i = 0; i < 1'000; ++i) scene.loop().advance(1ms);
  const auto in_first_second = scene.redis().counts().failed;
  CHECK(in_first_second >= 6);
  CHECK(in_first_second <= 12);
  for (int i = 0; i < 10'000; ++i) scene.loop().advance(1ms);
  const auto in_ten = scene.redis().counts().failed - in_first_second;
  CHECK(in_ten >= 20);
  CHECK(in_ten <= 41);
}

TEST_CASE("bytes that are no reply end the connection, and who waited for them learns why") {
  redis_scene scene;
  scene.connect();
  const auto first = scene.get("first");
  const auto second = scene.get("second");
  scene.run_once();
  scene.send("HTTP/1.1 400 Bad Request\r\n\r\n" + bulk("FIRST") + bulk("SECOND"));
  CHECK((first->error == resp_errc::unknown_type));
  CHECK((second->error == redis_errc::connection_lost));
  CHECK((scene.redis().last_error() == resp_errc::unknown_type));
  CHECK(scene.redis().last_fault().byte == 'H');
  scene.connect_again();
  const auto third = scene.get("third");
  scene.run_once();
  scene.send(bulk("THIRD"));
  CHECK(third->text == "THIRD");
}

TEST_CASE("a reply that nobody has asked for ends the connection") {
  redis_scene scene;
  scene.connect();
  scene.send(bulk("surprise"));
  CHECK((scene.redis().last_error() == redis_errc::unexpected_reply));
  scene.connect_again();
  scene.send("-ERR max number of clients reached\r\n");
  CHECK((scene.redis().last_error() == redis_errc::too_many_clients));
}

TEST_CASE("a reply of a type that the command cannot have ends the connection, and nobody gets what follows") {
  redis_scene scene;
  scene.connect();
  const auto first = scene.get("first");
  const auto second = scene.get("second");
  scene.run_once();
  scene.send(":5\r\n" + bulk("FIRST") + bulk("SECOND"));
  CHECK((first->error == redis_errc::unexpected_reply));
  CHECK((second->error == redis_errc::connection_lost));
}

TEST_CASE("errors of the server have their codes, and the connection goes on") {
  redis_scene scene;
  scene.connect();
  const std::vector<std::pair<std::string, redis_errc>> errors{{"-WRONGTYPE x", redis_errc::wrong_type},
                                                               {"-LOADING x", redis_errc::loading},
                                                               {"-NOAUTH x", redis_errc::no_authentication},
                                                               {"-OOM x", redis_errc::out_of_memory},
                                                               {"-MOVED 1 1.2.3.4:5", redis_errc::moved},
                                                               {"-ASK 1 1.2.3.4:5", redis_errc::ask},
                                                               {"-ERR x", redis_errc::refused}};
  for (const auto& [reply, code] : errors) {
    const auto call = scene.get("k");
    const auto write = scene.set("k", "v");
    scene.run_once();
    scene.send(reply + "\r\n" + reply + "\r\n");
    CHECK((call->error == code));
    CHECK((write->error == code));
  }
  CHECK(scene.redis().counts().lost == 0);
}

TEST_CASE("messages that are no replies are passed over") {
  redis_scene scene;
  scene.connect();
  const auto first = scene.get("first");
  const auto second = scene.get("second");
  scene.run_once();
  scene.send(">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n" + bulk("FIRST") + ">1\r\n+x\r\n");
  scene.send(bulk("SECOND"));
  CHECK(first->text == "FIRST");
  CHECK(second->text == "SECOND");
  CHECK(scene.redis().counts().pushed == 2);
}

TEST_CASE("after a close every call is refused, those under way too") {
  redis_scene scene(with([](redis_options& o) { o.in_flight = 1; }));
  scene.connect();
  const auto sent = scene.get("a");
  const auto waits = scene.get("b");
  scene.run_once();
  scene.redis().close();
  scene.run_once();
  const auto after = scene.get("c");
  for (const auto& call : {sent, waits, after}) CHECK((call->error == errc::closed));
  CHECK(scene.server().is_ended());
}

TEST_CASE("a connection may be destroyed by the task that its reply resumes") {
  redis_scene scene;
  scene.connect();
  const auto other = scene.get("first");
  bool over = false;
  auto ending = [&]() -> task<void> {
    arena memory;
    static_cast<void>(co_await scene.redis().get("second", memory));
    scene.end();
    over = true;
  };
  scene.loop().io().spawn(ending());
  const auto third = scene.get("third");
  scene.run_once();
  scene.send(bulk("FIRST") + bulk("SECOND") + bulk("THIRD"));
  CHECK(other->text == "FIRST");
  CHECK(over);
  CHECK((third->error == errc::closed));
}

TEST_CASE("a connection may be destroyed with calls under way and commands that were not flushed") {
  redis_scene scene;
  scene.connect();
  const auto sent = scene.get("a");
  scene.run_once();
  const auto waits = scene.get("b");
  scene.end();
  scene.run_once();
  CHECK((sent->error == errc::closed));
  CHECK((waits->error == errc::closed));
}

TEST_CASE("a resumed caller's next command goes with those of the others") {
  redis_scene scene;
  scene.connect();
  int rounds = 0;
  auto chain = [&](std::string key) -> task<void> {
    for (int i = 0; i < 3; ++i) {
      arena memory;
      const auto got = co_await scene.redis().get(key, memory);
      rounds += got && got->has_value() && **got == key;
    }
  };
  scene.loop().io().spawn(chain("a"));
  scene.loop().io().spawn(chain("b"));
  scene.run_once();
  for (int i = 0; i < 3; ++i) {
    CHECK(scene.server().take() == command_bytes({"GET", "a"}) + command_bytes({"GET", "b"}));
    scene.send(bulk("a") + bulk("b"));
  }
  CHECK(rounds == 6);
}

TEST_CASE("what the server does not take at once is sent when it does") {
  redis_scene scene(with([](redis_options& o) {
    o.in_flight = 8;
    o.request_timeout = 10min;
  }));
  scene.connect();
  const std::string value(2'000'000, 'x');
  std::vector<std::shared_ptr<call_end>> calls;
  for (int i = 0; i < 6; ++i) calls.push_back(scene.set("k" + std::to_string(i), value));
  std::string all;
  REQUIRE(scene.loop().run_until([&] {
    all += scene.server().take();
    return all.size() >= 6 * (value.size() + 30);
  }));
  std::string expected;
  for (int i = 0; i < 6; ++i) expected += command_bytes({"SET", "k" + std::to_string(i), value});
  CHECK((all == expected));
  for (int i = 0; i < 6; ++i) scene.send("+OK\r\n");
  for (const auto& call : calls) CHECK((call->over && !call->error));
}

TEST_CASE("identical reads of a turn are sent once, where that is wanted") {
  redis_scene scene(with([](redis_options& o) { o.repeats = redis_repeats::shared; }));
  scene.connect();
  std::vector<std::shared_ptr<call_end>> calls;
  for (const char* key : {"a", "b", "a", "a", "b"}) calls.push_back(scene.get(key));
  scene.run_once();
  CHECK(scene.server().take() == command_bytes({"GET", "a"}) + command_bytes({"GET", "b"}));
  scene.send(bulk("A") + bulk("B"));
  std::string texts;
  for (const auto& call : calls) texts += call->text;
  CHECK(texts == "ABAAB");
  CHECK(scene.redis().counts().shared == 3);

  const auto next = scene.get("a");
  scene.run_once();
  CHECK(scene.server().take() == command_bytes({"GET", "a"}));
  scene.send(bulk("new"));
  CHECK(next->text == "new");
}

TEST_CASE("a read behind a write of the same turn is sent, and so sees the write") {
  redis_scene scene(with([](redis_options& o) { o.repeats = redis_repeats::shared; }));
  scene.connect();
  const auto before = scene.get("a");
  const auto write = scene.set("a", "2");
  const auto behind = scene.get("a");
  scene.run_once();
  CHECK(scene.server().take() ==
        command_bytes({"GET", "a"}) + command_bytes({"SET", "a", "2"}) + command_bytes({"GET", "a"}));
  scene.send(bulk("1") + "+OK\r\n" + bulk("2"));
  CHECK(before->text == "1");
  CHECK(behind->text == "2");
}

TEST_CASE("a batch of reads is sent as it is, and reads around it are shared; behind another batch they are not") {
  for (const bool reads : {true, false}) {
    CAPTURE(reads);
    redis_scene scene(with([](redis_options& o) { o.repeats = redis_repeats::shared; }));
    scene.connect();
    redis_batch batch(reads ? redis_replies::text : redis_replies::any);
    batch.add("GET", "a");
    const auto before = scene.get("a");
    const auto all = scene.run(batch);
    const auto behind = scene.get("a");
    scene.run_once();
    std::string sent;
    for (int i = 0; i < (reads ? 2 : 3); ++i) sent += command_bytes({"GET", "a"});
    CHECK(scene.server().take() == sent);
    scene.send(bulk("1") + bulk("2") + (reads ? "" : bulk("3")));
    CHECK(before->text == "1");
    CHECK(all->text == "2 ");
    CHECK(behind->text == (reads ? "1" : "3"));
  }
}

TEST_CASE("who shares a reply gets it, whoever of the others leaves and when") {
  for (const int leaver : {0, 1, 2}) {
    for (const bool in_the_middle : {false, true}) {
      CAPTURE(leaver);
      CAPTURE(in_the_middle);
      redis_scene scene(with([](redis_options& o) { o.repeats = redis_repeats::shared; }));
      scene.connect();
      std::vector<std::shared_ptr<call_end>> calls;
      for (int i = 0; i < 3; ++i) calls.push_back(scene.get("a", i == leaver ? duration(10ms) : duration(10s)));
      scene.run_once();
      if (in_the_middle) scene.send("$5\r\nab");
      scene.loop().advance(20ms);
      const auto next = scene.get("b");
      scene.run_once();
      scene.send((in_the_middle ? "cde\r\n" : "$5\r\nabcde\r\n") + bulk("B"));
      for (int i = 0; i < 3; ++i) {
        if (i == leaver)
          CHECK((calls[static_cast<std::size_t>(i)]->error == errc::deadline_exceeded));
        else
          CHECK(calls[static_cast<std::size_t>(i)]->text == "abcde");
      }
      CHECK(next->text == "B");
    }
  }
}

TEST_CASE("repeats are sent where nobody said otherwise") {
  redis_scene scene;
  scene.connect();
  const auto one = scene.get("a");
  const auto two = scene.get("a");
  scene.run_once();
  CHECK(scene.server().take() == command_bytes({"GET", "a"}) + command_bytes({"GET", "a"}));
  scene.send(bulk("1") + bulk("2"));
  CHECK(two->text == "2");
}

TEST_CASE("a connection greets its server also where the first steps of its tasks are queued") {
  for (int steps = fewest_nested; steps <= max_nested; ++steps) {
    CAPTURE(steps);
    test_loop world;
    scripted_server server;
    redis_options options;
    server.direct(options);
    options.password = "secret";
    std::optional<redis_connection> redis;
    auto make = [&]() -> task<void> {
      redis.emplace(world.io(), options);
      co_return;
    };
    world.io().spawn(nested(world.io().root(), steps, make()));
    REQUIRE(world.run_until([&] { return server.accept(); }));
    world.run_once();
    CHECK(server.received() == command_bytes({"AUTH", "secret"}));
    redis.reset();
    world.run_once();
  }
}

TEST_CASE("an endpoint that is no address fails the calls") {
  test_loop world;
  redis_options options;
  options.host = "no address";
  redis_connection redis(world.io(), options);
  auto call = [&]() -> task<std::error_code> {
    arena memory;
    const auto got = co_await redis.get("k", memory);
    co_return got ? std::error_code() : got.error();
  };
  auto ended = world.run_through(call(), 1ms);
  CHECK((ended.take() == redis_errc::no_address));
}
