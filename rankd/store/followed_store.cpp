// rankd/store/followed_store.cpp: keeps one store for each generation, and a pointer to the current one.
#include <rankd/store/followed_store.hpp>

#include <rankd/store/batch_read.hpp>
#include <rankd/store/error.hpp>

#include <concepts>
#include <utility>
#include <variant>

namespace rankd {

/// The store of one generation. It takes a snapshot for each batch, so that batches on different threads share nothing.
class followed_store::generation_store final : public store {
 public:
  generation_store(embedded_store data, generation_state state, std::filesystem::path folder,
                   std::string endpoint_id) noexcept
      : data_(std::move(data)), state_(state), folder_(std::move(folder)), endpoint_id_(std::move(endpoint_id)) {}

  auto ask(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> override {
    const auto snapshot = data_.take_snapshot();
    if (!snapshot) co_return braid::fail(snapshot.error());
    co_return std::visit(
        [&]<typename Question>(const Question& question) -> store_result<store_answer> {
          if constexpr (std::same_as<Question, model_call>)
            return braid::fail(store_errc::wrong_type);
          else
            return read_batch(*snapshot, question, arena);
        },
        question);
  }

  [[nodiscard]] auto explain(const store_error& error) const -> store_failure override {
    if (error == store_errc::wrong_type) return wrong_type_failure(endpoint_id_);
    store_failure failure = store::explain(error);
    if (error == store_errc::corrupt) failure = {"store_corrupt", damage().empty() ? error.message() : damage()};
    failure.message = "endpoint `" + endpoint_id_ + "` at `" + folder_.string() + "`: " + failure.message;
    return failure;
  }

  [[nodiscard]] auto answers_at_once() const noexcept -> bool override { return true; }
  auto scrub(std::uint64_t max_bytes) -> scrub_step override { return data_.scrub(max_bytes); }

  [[nodiscard]] auto damage() const -> std::string override {
    const auto found = data_.damage();
    if (!found) return {};
    return data_file({}, data_.manifest().generation).string() + ": " + found->to_string();
  }

  [[nodiscard]] auto generation() const noexcept -> std::uint64_t override { return state_.generation; }
  [[nodiscard]] auto state() const noexcept -> const generation_state& { return state_; }
  [[nodiscard]] auto manifest() const noexcept -> const store_manifest& { return data_.manifest(); }
  [[nodiscard]] auto data() const noexcept -> const embedded_store& { return data_; }

 private:
  embedded_store data_;
  generation_state state_;
  std::filesystem::path folder_;
  std::string endpoint_id_;
};

namespace {

/// Sends a question to the store of a generation, and keeps that store alive until the store has answered.
auto ask_held(std::shared_ptr<store> held, store_question question, braid::arena& arena)
    -> braid::task<store_result<store_answer>> {
  auto asking = held->ask(question, arena);
  co_return co_await std::move(asking);
}

}  // namespace

followed_store::followed_store(std::filesystem::path folder, std::string endpoint_id) noexcept
    : folder_(std::move(folder)), endpoint_id_(std::move(endpoint_id)) {}

followed_store::~followed_store() = default;

auto followed_store::open(std::filesystem::path folder, std::string endpoint_id)
    -> braid::checked<std::unique_ptr<followed_store>> {
  std::unique_ptr<followed_store> made(new followed_store(std::move(folder), std::move(endpoint_id)));
  auto first = made->open_generation();
  if (!first) return std::unexpected(std::move(first.error()));
  made->current_ = std::move(*first);
  return made;
}

auto followed_store::open_generation() const -> braid::checked<std::shared_ptr<generation_store>> {
  auto data = embedded_store::open(folder_);
  if (!data) return std::unexpected(std::move(data.error()));
  generation_state state{.generation = data->manifest().generation, .records = 0, .made = data->made()};
  const auto snapshot = data->take_snapshot();
  const auto count = snapshot ? snapshot->count() : braid::result<std::uint64_t>(braid::fail(snapshot.error()));
  if (!count)
    return std::unexpected(store_diagnostic(
        "store_unreadable", folder_, "the records of the store cannot be counted: " + count.error().message(), {}));
  state.records = *count;
  return std::make_shared<generation_store>(std::move(*data), state, folder_, endpoint_id_);
}

auto followed_store::current() const noexcept -> std::shared_ptr<generation_store> {
  const std::scoped_lock lock(mutex_);
  return current_;
}

auto followed_store::refresh() -> braid::checked<std::optional<generation_change>> {
  const std::scoped_lock alone(refreshing_);
  if (in_use_ && in_use_->is_current(folder_)) return std::nullopt;
  auto use = manifest_use::of(folder_);
  if (!use) return std::unexpected(std::move(use.error()));
  if (!*use) return std::nullopt;
  const std::shared_ptr<generation_store> before = current();
  if ((*use)->manifest() == before->manifest() && before->damage().empty()) {
    in_use_ = std::move(**use);
    return std::nullopt;
  }
  auto next = open_generation();
  if (!next) return std::unexpected(std::move(next.error()));
  if ((*next)->manifest() != (*use)->manifest()) return std::nullopt;  // replaced meanwhile: the next refresh sees that
  const generation_change change{.before = before->state(), .after = (*next)->state()};
  {
    const std::scoped_lock lock(mutex_);
    current_ = std::move(*next);
  }
  version_.fetch_add(1, braid::release);  // edge store.generation: publish, the new generation is in place
  in_use_ = std::move(**use);             // a load that waits for this store goes on
  return change;
}

auto followed_store::ask(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> {
  return ask_held(current(), question, arena);
}

auto followed_store::explain(const store_error& error) const -> store_failure { return current()->explain(error); }

auto followed_store::scrub(std::uint64_t max_bytes) -> scrub_step { return current()->scrub(max_bytes); }

auto followed_store::damage() const -> std::string { return current()->damage(); }

auto followed_store::pinned() -> std::shared_ptr<store> { return current(); }

auto followed_store::data() const -> std::shared_ptr<const embedded_store> {
  std::shared_ptr<generation_store> now = current();
  const embedded_store* const data = &now->data();
  return {std::move(now), data};
}

auto followed_store::state() const noexcept -> generation_state { return current()->state(); }

}  // namespace rankd
