// tests/net/redis_slot_test.cpp: slots as the cluster specification computes them.
#include <braid/net/redis_cluster.hpp>

#include <braid/net/redis_batch.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

using namespace braid;

TEST_CASE("slots are those of the specification") {
  CHECK(braid::detail::find_redis_slot("123456789") == 0x31c3);
  CHECK(braid::detail::find_redis_slot("") == 0);
  CHECK(braid::detail::find_redis_slot("foo") == 12'182);
  CHECK(braid::detail::find_redis_slot("bar") == 5'061);
  CHECK(braid::detail::find_redis_slot("somekey") == 11'058);
}

TEST_CASE("what stands in braces decides, where there is something in them") {
  CHECK(braid::detail::find_redis_slot("{user1000}.following") ==
        braid::detail::find_redis_slot("{user1000}.followers"));
  CHECK(braid::detail::find_redis_slot("{user1000}.following") == braid::detail::find_redis_slot("user1000"));
  CHECK(braid::detail::find_redis_slot("foo{{bar}}zap") == braid::detail::find_redis_slot("{bar"));
  CHECK(braid::detail::find_redis_slot("foo{bar}{zap}") == braid::detail::find_redis_slot("bar"));
  CHECK(braid::detail::find_redis_slot("foo{}{bar}") != braid::detail::find_redis_slot("bar"));
  CHECK(braid::detail::find_redis_slot("foo{bar") != braid::detail::find_redis_slot("bar"));
}

TEST_CASE("every slot has keys") {
  int seen = 0;
  std::string is_seen(braid::detail::redis_slots, 'n');
  for (int i = 0; i < 400'000; ++i) {
    char& mark = is_seen[braid::detail::find_redis_slot(std::to_string(i))];
    seen += mark == 'n';
    mark = 'y';
  }
  CHECK(seen == braid::detail::redis_slots);
}

TEST_CASE("the key of a command stands where the server looks for it, whatever the case of the words") {
  struct example {
    std::vector<std::string_view> words;
    std::string_view key;
  };
  const std::vector<example> examples{
      {{"GET", "k"}, "k"},
      {{"PING"}, ""},
      {{"EVAL", "return 1", "1", "k", "x"}, "k"},
      {{"eval", "return 1", "1", "k"}, "k"},
      {{"EVALSHA", "0123", "2", "k", "l"}, "k"},
      {{"EVAL_RO", "return 1", "1", "k"}, "k"},
      {{"EvalSha_Ro", "0123", "1", "k"}, "k"},
      {{"FCALL", "f", "1", "k"}, "k"},
      {{"FCALL_RO", "f", "1", "k"}, "k"},
      {{"FCALL", "f"}, ""},
      {{"XREAD", "COUNT", "2", "STREAMS", "k", "0"}, "k"},
      {{"xread", "block", "0", "streams", "k", "l", "0", "0"}, "k"},
      {{"XREADGROUP", "GROUP", "g", "c", "STREAMS", "k", ">"}, "k"},
      {{"XREAD", "COUNT", "2"}, ""},
      {{"MEMORY", "USAGE", "k"}, "k"},
      {{"MEMORY", "DOCTOR"}, ""},
      {{"object", "encoding", "k"}, "k"},
      {{"XINFO", "STREAM", "k"}, "k"},
      {{"XGROUP", "CREATE", "k", "g", "$"}, "k"},
      {{"BITOP", "AND", "k", "l"}, "k"},
      {{"ZUNION", "2", "k", "l"}, "k"},
      {{"SINTERCARD", "2", "k", "l"}, "k"},
      {{"BZMPOP", "0", "1", "k", "MIN"}, "k"},
      {{"LMPOP", "1", "k", "LEFT"}, "k"},
      {{"GETDEL", "k"}, "k"},
  };
  for (const auto& [words, key] : examples) {
    redis_batch batch;
    batch.add_words(words);
    INFO(batch.bytes());
    CHECK(braid::detail::find_redis_key(batch.bytes()) == key);
  }
}
