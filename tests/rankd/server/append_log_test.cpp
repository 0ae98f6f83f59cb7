// tests/rankd/server/append_log_test.cpp: entries reach their encoder in order, in batches, and all of them.
#include <rankd/server/files/append_log.hpp>

#include <braid/sync/atomic.hpp>
#include <tests/support/eventually.hpp>

#include <chrono>
#include <cstddef>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace std::chrono_literals;
using braid::testing::eventually;

namespace {

const std::thread::id test_thread = std::this_thread::get_id();
/// How often a writing thread has looked at the size of what waits, which it does before it waits for more.
braid::atomic<int> looks{0};

/// Encodes letters, and remembers its batches, each with `!` if it had to reopen after it. After `?` it wants to be
/// called again, and `#` it cannot write.
class letters {
 public:
  struct batch : std::string {
    [[nodiscard]] auto size() const noexcept -> std::size_t {
      if (std::this_thread::get_id() != test_thread) looks.fetch_add(1, braid::relaxed);
      return std::string::size();
    }
  };
  using counts_type = append_counts;

  explicit letters(append_options options = {.thread = "letters"}) : log_(*this, std::move(options)) {
    log_.start().value();
  }

  void add(std::string_view text) {
    log_.locked([text](batch& waiting, append_counts& counts) {
      if (waiting.length() + text.size() > 4) {
        counts.lost += text.size();
        return;
      }
      waiting += text;
    });
  }
  auto log() -> append_log<letters>& { return log_; }
  auto seen() -> std::vector<std::string> {
    std::vector<std::string> out;
    log_.locked([&](batch&, append_counts&) { out = seen_; });
    return out;
  }
  void write(batch& taken, append_then then) {
    if (taken == "#") throw std::bad_alloc();
    log_.locked([&](batch&, append_counts& counts) {
      seen_.push_back(taken + (then == append_then::reopen ? "!" : ""));
      counts.written += taken.length();
      attempt_.reset();
      if (taken == "?") attempt_ = std::chrono::steady_clock::now();
    });
  }
  void lose(const batch& taken) noexcept {
    log_.locked([&](batch&, append_counts& counts) { counts.lost += taken.length(); });
  }
  [[nodiscard]] auto next_attempt() const -> std::optional<std::chrono::steady_clock::time_point> { return attempt_; }

 private:
  std::vector<std::string> seen_;  // this and the next: under the mutex of the log
  std::optional<std::chrono::steady_clock::time_point> attempt_;
  append_log<letters> log_;
};

using batches = std::vector<std::string>;

}  // namespace

TEST_CASE("what was taken is written by the end, and nothing is written for nothing") {
  letters to({.thread = "letters", .batch_bytes = 100, .max_delay = 1h});
  to.add("a");
  to.add("bc");
  to.log().finish();
  CHECK(to.seen() == batches{"abc"});
  CHECK(to.log().counts().written == 3);
  to.log().finish();
  CHECK(to.seen().size() == 1);
  letters idle;
  idle.log().finish();
  CHECK(idle.seen().empty());
}

TEST_CASE("a batch that is large enough does not wait for its delay") {
  letters to({.thread = "letters", .batch_bytes = 4, .max_delay = 1h});
  const int before = looks.load(braid::relaxed);
  to.add("ab");
  REQUIRE(eventually([&] { return looks.load(braid::relaxed) != before; }));
  to.add("cd");
  CHECK(eventually([&] { return to.seen() == batches{"abcd"}; }));
}

TEST_CASE("a small batch is written after its delay, and at once without one") {
  letters late({.thread = "letters", .batch_bytes = 4, .max_delay = 1ms});
  late.add("a");
  CHECK(eventually([&] { return late.seen() == batches{"a"}; }));
  letters now;
  now.add("a");
  CHECK(eventually([&] { return now.seen() == batches{"a"}; }));
}

TEST_CASE("what is too much is lost, and counted by the encoder") {
  letters to({.thread = "letters", .batch_bytes = 100, .max_delay = 1h});
  to.add("abc");
  to.add("de");
  to.log().finish();
  CHECK(to.seen() == batches{"abc"});
  CHECK(to.log().counts().lost == 2);
}

TEST_CASE("what cannot be written is lost, and the thread goes on") {
  letters to;
  to.add("#");
  REQUIRE(eventually([&] { return to.log().counts().lost == 1; }));
  to.add("a");
  to.log().finish();
  CHECK(to.seen() == batches{"a"});
  CHECK(to.log().counts().lost == 1);
}

TEST_CASE("a file is reopened after the entries that came before, also at the end") {
  letters to({.thread = "letters", .batch_bytes = 100, .max_delay = 1h});
  to.add("a");
  to.log().reopen();
  CHECK(eventually([&] { return to.seen() == batches{"a!"}; }));
  to.log().reopen();
  to.log().finish();
  CHECK(to.seen() == batches{"a!", "!"});
}

TEST_CASE("an encoder that wants another attempt is called although nothing waits") {
  letters to;
  to.add("?");
  CHECK(eventually([&] { return to.seen() == batches{"?", ""}; }));
  to.log().finish();
  CHECK(to.seen().size() == 2);
}

TEST_CASE("entries of several threads are all there, each once") {
  letters to;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int n = 0; n < 200; ++n) to.add("x");
    });
  threads.clear();
  to.log().finish();
  const append_counts counts = to.log().counts();
  CHECK(counts.written + counts.lost == 800);
}
