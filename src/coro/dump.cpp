// src/coro/dump.cpp: queries the tasks of each home executor of the process, and builds the trees of a task dump from
// the answers.
#include <braid/coro/dump.hpp>

#include "dump_deadlocks.hpp"
#include "dump_tree.hpp"

#include <braid/base/detail/after.hpp>
#include <braid/coro/detail/home_list.hpp>
#include <braid/coro/detail/task_walk.hpp>
#include <braid/coro/home.hpp>
#include <braid/sync/detail/parker.hpp>
#include <braid/task/job.hpp>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

namespace braid::detail {

/// The answers of the home executors. The caller and the questions that it has posted share this object, because an
/// answer may arrive after the caller has stopped waiting.
struct dump_answers {
  std::mutex lock;  // guards all members below
  std::vector<std::optional<seen_home>> given;
  std::vector<bool> are_dropped;  // for each home, whether it will never answer
  std::size_t missing = 0;

  parker all_given;  // used by the thread that waits
};

/// A home executor whose tasks were queried, with facts about it that are known without its answer.
struct asked_home {
  std::size_t number = 0;  // the index in `dump_answers`
  ::pid_t thread = 0;
  bool is_refused = false;
};

class dump_question final : public job {
 public:
  dump_question(home& about, std::shared_ptr<dump_answers> to, std::size_t number) noexcept
      : job(&act), about_(&about), answers_(std::move(to)), number_(number) {}

 private:
  static void act(job& self, action requested) {
    const std::unique_ptr<dump_question> mine(&static_cast<dump_question&>(self));
    std::optional<seen_home> seen;
    if (requested == action::run) seen = task_walk::through(*mine->about_);
    bool is_last = false;
    {
      const std::lock_guard guard(mine->answers_->lock);
      mine->answers_->are_dropped[mine->number_] = !seen;
      mine->answers_->given[mine->number_] = std::move(seen);
      is_last = --mine->answers_->missing == 0;
    }
    if (is_last) mine->answers_->all_given.unpark();
  }

  home* about_;
  std::shared_ptr<dump_answers> answers_;
  std::size_t number_;
};

namespace {

auto name_of_thread(::pid_t number) -> std::string {
  std::string name;
  if (number != 0) std::getline(std::ifstream("/proc/self/task/" + std::to_string(number) + "/comm"), name);
  return name;
}

}  // namespace

/// One round of queries to the home executors. Protocol: docs/design/dump.md
class dump_round {
 public:
  /// Queries all home executors of the process if `executors` is empty.
  explicit dump_round(std::span<const executor_id> executors) : executors_(executors) {}

  [[nodiscard]] auto run(time_point end) -> task_dump {
    ask_all(end);
    return result();
  }

  /// Returns the cycles of waits that `run` has found.
  [[nodiscard]] auto cycles() const -> const std::vector<seen_deadlock>& { return cycles_; }

  /// Queries the tasks, and returns only the cycles of waits, without the rest of the dump.
  [[nodiscard]] auto cycles(time_point end) -> std::vector<seen_deadlock> {
    ask_all(end);
    const std::lock_guard guard(answers_->lock);
    return find_cycles(answers_->given);
  }

  /// Counts the tasks of all home executors by the kind of their wait.
  [[nodiscard]] auto waits(time_point end) -> std::map<std::string, std::size_t> {
    ask_all(end);
    std::map<std::string, std::size_t> found;
    const std::lock_guard guard(answers_->lock);
    for (const auto& seen : answers_->given) {
      if (!seen) continue;
      std::size_t tasks = 0;
      for (const seen_scope& scope : seen->scopes) tasks += scope.tasks;
      tasks -= std::min<std::size_t>(tasks, std::ranges::count_if(seen->scopes, &seen_scope::counts_around));
      for (const seen_task& task : seen->tasks) ++found[task.waits_for];
      if (tasks > seen->tasks.size()) found["none of these"] += tasks - seen->tasks.size();
    }
    return found;
  }

 private:
  void ask_all(time_point end) {
    try {
      home_list::for_each([this](home& each) { ask(each); });
    } catch (...) {
      run_asked();
      throw;
    }
    run_asked();
    for (const auto& [number, each] : here_) give(number, task_walk::through(*each));
    while (are_missing() && answers_->all_given.park_until(end)) {}
  }

  /// Allocates all memory before the question is posted, because no step may fail after the post.
  void ask(home& each) {
    if (!is_wanted(each)) return;
    const std::size_t number = asked_.size();
    asked_home& noted = asked_.emplace_back(asked_home{.number = number, .thread = each.own_thread()});
    {
      const std::lock_guard guard(answers_->lock);
      answers_->are_dropped.push_back(false);
      answers_->given.emplace_back();
    }
    if (each.is_current()) return here_.emplace_back(number, &each), void();
    auto made = std::make_unique<dump_question>(each, answers_, number);
    to_run_.push_back(&each);
    change_missing(+1);
    const asked became = each.ask(*made);
    if (became != asked::to_be_run) to_run_.pop_back();
    if (became != asked::refused) return static_cast<void>(made.release());
    change_missing(-1);
    noted.is_refused = true;
  }
  void run_asked() noexcept {
    for (home* const each : to_run_) each->run_asked();
  }

  [[nodiscard]] auto is_wanted(const home& each) const noexcept -> bool {
    return executors_.empty() || std::ranges::any_of(executors_, [&](executor_id one) { return each.runs_on(one); });
  }
  void change_missing(int amount) {
    const std::lock_guard guard(answers_->lock);
    answers_->missing += static_cast<std::size_t>(amount);
  }
  [[nodiscard]] auto are_missing() -> bool {
    const std::lock_guard guard(answers_->lock);
    return answers_->missing != 0;
  }
  void give(std::size_t number, seen_home seen) {
    const std::lock_guard guard(answers_->lock);
    answers_->given[number] = std::move(seen);
  }

  [[nodiscard]] static auto find_cycles(std::span<const std::optional<seen_home>> given) -> std::vector<seen_deadlock> {
    std::vector<const seen_home*> homes;
    for (const auto& each : given)
      if (each) homes.push_back(&*each);
    return find_deadlocks(homes);
  }

  [[nodiscard]] auto result() -> task_dump {
    std::vector<std::optional<seen_home>> given;
    std::vector<bool> are_dropped;
    {
      const std::lock_guard guard(answers_->lock);
      are_dropped = answers_->are_dropped;
      given.resize(answers_->given.size());  // late answers find their place
      given.swap(answers_->given);
    }
    cycles_ = find_cycles(given);
    task_dump made;
    dump_tree trees;
    for (const asked_home& each : asked_) {
      task_dump::home& added = made.homes.emplace_back();
      added.is_loop = each.thread != 0 || each.is_refused;
      if (auto& seen = given[each.number]) {
        added.how = seen->is_whole ? task_dump::home::answer::whole : task_dump::home::answer::part;
        added.thread = std::move(seen->thread);
        added.tasks = trees.of(*seen);
      } else {
        const bool does_not_run = each.is_refused || are_dropped[each.number];
        added.how = does_not_run ? task_dump::home::answer::not_running : task_dump::home::answer::late;
        added.thread = name_of_thread(each.thread);
      }
    }
    std::ranges::partition(made.homes, &task_dump::home::is_loop);
    return made;
  }

  std::span<const executor_id> executors_;
  std::shared_ptr<dump_answers> answers_ = std::make_shared<dump_answers>();
  std::vector<asked_home> asked_;
  std::vector<seen_deadlock> cycles_;
  std::vector<home*> to_run_;                        // homes that do not end before `run_asked` is called
  std::vector<std::pair<std::size_t, home*>> here_;  // the homes whose task or job the caller is
};

namespace {

/// Returns descriptions of the cycles of waits that really exist. Home executors are queried one after the other, so a
/// cycle across several of them may combine waits of different moments. A real cycle appears again in a second query,
/// with the same holders of its locks.
auto confirmed(const std::vector<seen_deadlock>& cycles, std::span<const executor_id> executors, time_point end)
    -> std::vector<std::string> {
  std::vector<seen_deadlock> again;
  if (std::ranges::any_of(cycles, &seen_deadlock::is_across_homes)) again = dump_round(executors).cycles(end);
  std::vector<std::string> texts;
  for (const seen_deadlock& each : cycles)
    if (!each.is_across_homes || std::ranges::find(again, each) != again.end()) texts.push_back(each.text);
  return texts;
}

}  // namespace

auto dump_of(std::span<const executor_id> executors, duration limit) -> task_dump {
  const time_point end = after(steady_time().now(), limit);
  dump_round round(executors);
  task_dump made = round.run(end);
  made.deadlocks = confirmed(round.cycles(), executors, end);
  return made;
}

auto count_waits(duration limit) -> std::vector<std::pair<std::string, std::size_t>> {
  const auto found = dump_round({}).waits(after(steady_time().now(), limit));
  std::vector<std::pair<std::string, std::size_t>> all(found.begin(), found.end());
  std::ranges::sort(all, std::greater(), &std::pair<std::string, std::size_t>::second);
  return all;
}

}  // namespace braid::detail

namespace braid {

auto dump(duration limit) -> task_dump { return detail::dump_of({}, limit); }

}  // namespace braid
