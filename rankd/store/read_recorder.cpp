// rankd/store/read_recorder.cpp: implements store layers that record the questions and answers that pass through them.
#include <rankd/store/read_recorder.hpp>

#include <rankd/store/detail/recorded_batch.hpp>
#include <rankd/store/store_layer.hpp>

#include <algorithm>
#include <utility>

namespace rankd {

/// Records the questions and answers of one store of the request.
class read_recorder::client final : public store_layer {
 public:
  client(read_recorder& into, std::size_t endpoint, store& behind) noexcept
      : store_layer(behind), recorder_(&into), endpoint_(endpoint) {}

  auto ask(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> override {
    const std::uint64_t number = recorder_->asked_++;
    store_result<store_answer> got = co_await behind().ask(question, arena);
    if (recorder_->is_open_) keep(question, number, got);
    co_return got;
  }

  /// Returns false, because an answer is available only after it was recorded.
  [[nodiscard]] auto answers_at_once() const noexcept -> bool override { return false; }

 private:
  void keep(const store_question& question, std::uint64_t number, const store_result<store_answer>& got) {
    const std::size_t begin = recorder_->bytes_.size();
    packed_writer out(recorder_->bytes_);
    out.number(endpoint_);
    detail::put_question(out, scratch_, question);
    const std::size_t answer = recorder_->bytes_.size();
    out.number(got ? 1 : 0);
    if (got) {
      detail::put_answer(out, *got);
    } else {
      const store_failure why = behind().explain(got.error());
      out.text(why.code);
      out.text(why.message);
    }
    recorder_->keep(begin, answer, number);
  }

  read_recorder* recorder_;
  std::size_t endpoint_;
  std::string scratch_;
};

read_recorder::read_recorder(const std::vector<store*>& behind, std::size_t usual_bytes) {
  bytes_.reserve(std::min(usual_bytes, max_kept));
  clients_.reserve(behind.size());
  pointers_.reserve(behind.size());
  for (std::size_t at = 0; at < behind.size(); ++at) {
    clients_.push_back(behind[at] == nullptr ? nullptr : std::make_unique<client>(*this, at, *behind[at]));
    pointers_.push_back(clients_.back().get());
  }
}

read_recorder::~read_recorder() = default;

/// Ends the recording of the batch that begins at `begin`. Discards the batch if an equal batch is recorded already, or
/// if the limit is exceeded.
void read_recorder::keep(std::size_t begin, std::size_t answer, std::uint64_t number) {
  piece made{.begin = begin, .answer = answer, .end = bytes_.size(), .has_other = false};
  const std::string_view all = bytes_;
  std::size_t at = pieces_.size();
  for (std::size_t other = 0; other < pieces_.size(); ++other) {
    piece& each = pieces_[other];
    if (all.substr(each.begin, each.answer - each.begin) != all.substr(begin, answer - begin)) continue;
    if (all.substr(each.answer, each.end - each.answer) == all.substr(answer))
      at = other;
    else
      each.has_other = made.has_other = has_changed_ = true;
  }
  is_cut_ = is_cut_ || bytes_.size() > max_kept;
  const bool is_known = at != pieces_.size();
  if (is_known || is_cut_) bytes_.resize(begin);
  if (is_cut_) return;
  if (!is_known) pieces_.push_back(made);
  askings_.push_back({.number = number, .piece = at});
}

/// Returns all batches in the order in which they were asked. A batch whose answer never changed is returned once;
/// other batches are returned as often as they were asked.
auto read_recorder::in_order() -> std::string {
  std::ranges::sort(askings_, {}, &asking::number);
  std::vector<bool> is_there(pieces_.size());
  std::string out;
  for (const asking& each : askings_) {
    const piece& one = pieces_[each.piece];
    if (is_there[each.piece] && !one.has_other) continue;
    is_there[each.piece] = true;
    out += std::string_view(bytes_).substr(one.begin, one.end - one.begin);
    is_cut_ = is_cut_ || out.size() > max_kept;
    if (is_cut_) return {};
  }
  return out;
}

auto read_recorder::take() -> std::string {
  is_open_ = false;
  if (std::exchange(has_changed_, false)) bytes_ = in_order();
  return std::exchange(bytes_, {});
}

}  // namespace rankd
