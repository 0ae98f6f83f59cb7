// src/sync/producer_table.cpp: implements a thread-local table of the producers through which this thread posts to
// inboxes.
#include <braid/sync/detail/producer_table.hpp>

#include <braid/sync/detail/thread_end.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace braid::detail {
namespace {

/// An entry of a cache of recently used producers, indexed by the number of the inbox. The type has no destructor, so
/// that entries can be used while the thread ends.
struct recent_producer {
  std::uint64_t inbox = 0;  // numbers begin with 1
  inbox_producer_base* producer = nullptr;
};

constinit thread_local std::array<recent_producer, 8> recent __attribute__((tls_model("initial-exec"))){};
constinit thread_local bool table_is_gone = false;

struct entry {
  std::uint64_t inbox = 0;
  std::shared_ptr<inbox_producer_base> producer;
};

class thread_table {
 public:
  thread_table() = default;
  thread_table(const thread_table&) = delete;
  auto operator=(const thread_table&) -> thread_table& = delete;
  ~thread_table() {
    for (const entry& one : entries_)
      if (one.producer != nullptr) one.producer->give_back();
  }

  [[nodiscard]] auto find(std::uint64_t inbox) const noexcept -> known_producer {
    const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const entry& e) { return e.inbox == inbox; });
    if (found == entries_.end()) return {};
    return {.known = true, .producer = found->producer.get()};
  }

  void add(entry made) {
    // If this table has the only reference to a producer, the producer's inbox no longer exists.
    std::erase_if(entries_, [](const entry& e) { return e.producer != nullptr && e.producer.use_count() == 1; });
    entries_.push_back(std::move(made));
  }

 private:
  std::vector<entry> entries_;
};

constinit thread_local thread_table* table_of_thread = nullptr;

void end_table(void* of_thread) noexcept {
  delete static_cast<thread_table*>(of_thread);
  table_of_thread = nullptr;
  recent = {};
  table_is_gone = true;
}

const thread_end at_thread_end(&end_table);

/// Returns the thread's table, and creates it if necessary.
/// Errors: std::bad_alloc, also if no callback can be registered for the end of the thread.
auto producers() -> thread_table& {
  if (table_of_thread != nullptr) return *table_of_thread;
  auto made = std::make_unique<thread_table>();
  if (!at_thread_end.ask(made.get())) throw std::bad_alloc();
  table_of_thread = made.release();
  return *table_of_thread;
}

/// Looks a producer up in the table. The function is not inlined, so that the fast path need not save registers.
[[gnu::noinline]] auto find_in_table(std::uint64_t inbox) noexcept -> known_producer {
  if (table_is_gone || !at_thread_end.can_ask()) return {.known = true, .producer = nullptr};
  if (table_of_thread == nullptr) return {};
  const known_producer found = table_of_thread->find(inbox);
  if (found.known) recent[inbox % recent.size()] = {.inbox = inbox, .producer = found.producer};
  return found;
}

}  // namespace

auto next_inbox_number() noexcept -> std::uint64_t {
  static atomic<std::uint64_t> last{0};
  return last.fetch_add(1, relaxed) + 1;
}

auto find_producer(std::uint64_t inbox) noexcept -> known_producer {
  const recent_producer& last = recent[inbox % recent.size()];
  if (last.inbox == inbox) [[likely]]
    return {.known = true, .producer = last.producer};
  return find_in_table(inbox);
}

void remember_producer(std::uint64_t inbox, std::shared_ptr<inbox_producer_base> producer) {
  producers().add({.inbox = inbox, .producer = std::move(producer)});
}

template <>
auto make_producer<4096>() -> std::shared_ptr<inbox_producer<4096>> {
  return std::make_shared<inbox_producer<4096>>();
}

}  // namespace braid::detail
