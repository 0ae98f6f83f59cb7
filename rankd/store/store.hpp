// rankd/store/store.hpp: the interface that operators ask: key-value stores, and servers of models.
#pragma once

#include <rankd/registry/registries.hpp>
#include <rankd/store/block_checksums.hpp>
#include <rankd/store/error.hpp>
#include <rankd/store/question.hpp>

#include <braid/base/arena.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/task.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace braid {
class home;
class redis_tracker;
}  // namespace braid

namespace rankd {

class followed_store;

/// The reason why a batch failed, as the answer to a request reports it.
struct store_failure {
  std::string code;     ///< snake_case, stable
  std::string message;  ///< one sentence
};

/// Whether failures contain the messages of a server: they are for the operator of the server, and not for its clients.
enum class server_messages : std::uint8_t { hidden, shown };

/// Answers questions: an operator asks for all of its keys at once. An absent key is an empty answer, not an error. A
/// key that holds another kind of value fails the question with store_errc::wrong_type, as does a question of a kind
/// that the store does not answer. A store that changes the answers of another one is a `store_layer`.
/// Threads: any number of questions at once. Lifetime: the data that a question refers to, the arena and the store must
/// outlive the task; answers are in the arena and need neither the store nor the keys.
class store {
 public:
  store() = default;
  store(const store&) = delete;
  auto operator=(const store&) -> store& = delete;
  virtual ~store() = default;

  /// Answers a question. The kind of the question determines the kind of the answer: `answer_to` returns it.
  virtual auto ask(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> = 0;

  /// Returns the meaning of an error of `ask`. The default says `store_error`.
  [[nodiscard]] virtual auto explain(const store_error& error) const -> store_failure;

  /// Returns whether it answers on the thread that asks, without waiting: then tasks gain nothing by sharing an answer.
  [[nodiscard]] virtual auto answers_at_once() const noexcept -> bool { return false; }

  /// Reports changes of the keys that tasks of a loop read from now on. Returns false if the store cannot: it has no
  /// server, or the loop has read from it before. A server may still refuse (`redis_tracker::is_complete`).
  /// Threads: the loop's. Lifetime: `to` outlives the tasks of the loop.
  virtual auto report_changes(braid::home& /*where*/, braid::redis_tracker& /*to*/) -> bool { return false; }

  /// Reads up to `max_bytes` more of the store's files on this machine, and compares them with their checksums. Does
  /// nothing for a store without files.
  /// Threads: one at a time, concurrently with batches. Blocks: on the disk.
  virtual auto scrub(std::uint64_t max_bytes) -> scrub_step;

  /// Returns the damage that `scrub` has found, as a sentence; empty if there is no damage. A damaged store answers no
  /// batch.
  /// Threads: any.
  [[nodiscard]] virtual auto damage() const -> std::string;

  /// Returns a store that answers from the generation of now as long as it exists, while a load may replace that; null
  /// for a store without generations.
  /// Threads: any. Lifetime: what this store refers to outlives it.
  [[nodiscard]] virtual auto pinned() -> std::shared_ptr<store>;
  /// Returns the store whose generations it passes on; null if it has none. Threads: any.
  [[nodiscard]] virtual auto followed() noexcept -> followed_store*;
  /// Returns the number of the generation that it answers from; 0 for a store without generations. Threads: any.
  [[nodiscard]] virtual auto generation() const noexcept -> std::uint64_t { return 0; }
};

/// One for each of registries::endpoints, null if it is not open. Immutable.
using store_list = std::shared_ptr<const std::vector<store*>>;

/// Returns the failure for store_errc::wrong_type, the same for all stores.
auto wrong_type_failure(std::string_view endpoint_id) -> store_failure;

/// Opens the store that an endpoint's resolver names: `embedded` the store in that folder, relative to the project's
/// `root`; `static` a `redis_store`, or a `model_server` if the kind is http. Both connect on the first question.
/// Batches of the embedded store are answered at once, on the thread that awaits them. Errors: those of
/// embedded_store::open, parse_redis_options and make_model_server_options.
auto open_store(const endpoint_entry& endpoint, const std::filesystem::path& root,
                server_messages words = server_messages::hidden) -> braid::checked<std::unique_ptr<store>>;

}  // namespace rankd
