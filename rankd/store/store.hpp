// rankd/store/store.hpp: the interface through which operators read key-value stores and call model servers.
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

/// The reason why a batch failed, as it is reported in the answer to a request.
struct store_failure {
  std::string code;     ///< snake_case, stable
  std::string message;  ///< one sentence
};

/// States whether failures contain the messages of a server. People who operate the server may see these messages.
/// Clients may not.
enum class server_messages : std::uint8_t { hidden, shown };

/// A store of data that operators of a plan read. One question asks for many keys at once. An absent key is an empty
/// answer, not an error. A question fails with store_errc::wrong_type if a key holds another kind of value, or if the
/// store does not support this kind of question. Stores that change the answers of another store derive from
/// `store_layer`.
/// Threads: any number of questions at once. Lifetime: the data that a question refers to, the arena and the store must
/// outlive the task. Answers are in the arena, and do not refer to the store or the keys.
class store {
 public:
  store() = default;
  store(const store&) = delete;
  auto operator=(const store&) -> store& = delete;
  virtual ~store() = default;

  /// Answers a question. The kind of the question determines the kind of the answer. Use `answer_to` to get the answer
  /// with its own type.
  virtual auto ask(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> = 0;

  /// Returns the code and the message for an error of `ask`. The default code is `store_error`.
  [[nodiscard]] virtual auto explain(const store_error& error) const -> store_failure;

  /// Returns whether questions are answered on the calling thread, without waiting. If they are, sharing an answer
  /// between tasks saves nothing.
  [[nodiscard]] virtual auto answers_at_once() const noexcept -> bool { return false; }

  /// Makes the store report changes of keys to `to`, for all keys that tasks of a loop read from now on. Returns false
  /// if that is impossible, because the store has no server, or because the loop has already read from the store. Even
  /// after true, a server may refuse to report changes (`redis_tracker::is_complete`).
  /// Threads: the loop's thread. Lifetime: `to` must outlive the tasks of the loop.
  virtual auto report_changes(braid::home& /*where*/, braid::redis_tracker& /*to*/) -> bool { return false; }

  /// Reads up to `max_bytes` further bytes of the store's local files, and compares them with their checksums. Does
  /// nothing for a store without files.
  /// Threads: one at a time. Other threads may read batches meanwhile. Blocks: on the disk.
  virtual auto scrub(std::uint64_t max_bytes) -> scrub_step;

  /// Returns the damage that `scrub` has found, as a sentence. The sentence is empty if there is no damage. A damaged
  /// store answers no batch.
  /// Threads: any.
  [[nodiscard]] virtual auto damage() const -> std::string;

  /// Returns a store that keeps answering from the current generation, even after a load has replaced that generation.
  /// Returns null for a store without generations.
  /// Threads: any. Lifetime: the data that this store refers to must outlive the returned store.
  [[nodiscard]] virtual auto pinned() -> std::shared_ptr<store>;
  /// Returns the underlying store whose generations change, or null if there is no such store. Threads: any.
  [[nodiscard]] virtual auto followed() noexcept -> followed_store*;
  /// Returns the number of the current generation, or 0 for a store without generations. Threads: any.
  [[nodiscard]] virtual auto generation() const noexcept -> std::uint64_t { return 0; }
};

/// A list of stores, one for each of registries::endpoints. An entry is null if its store is not open. Immutable.
using store_list = std::shared_ptr<const std::vector<store*>>;

/// Returns the failure for store_errc::wrong_type, with the same message for all stores.
auto wrong_type_failure(std::string_view endpoint_id) -> store_failure;

/// Opens the store that the resolver of an endpoint names. The resolver `embedded` opens a folder relative to the
/// project's `root`. The resolver `static` opens a `redis_store`, or a `model_server` if the kind is http. Both connect
/// when they get the first question. The embedded store answers batches at once, on the thread that awaits them.
/// Errors: those of embedded_store::open, parse_redis_options and make_model_server_options.
auto open_store(const endpoint_entry& endpoint, const std::filesystem::path& root,
                server_messages words = server_messages::hidden) -> braid::checked<std::unique_ptr<store>>;

}  // namespace rankd
