// src/sync/model_execution.cpp: implements one execution of the model checker. The threads of the model are fibers, and
// a decision precedes each access.
#include <braid/sync/detail/model_execution.hpp>

#include <braid/base/config.hpp>

#include <algorithm>
#include <exception>
#include <utility>

#include <sys/mman.h>

namespace braid::detail {

enum class model_state : std::uint8_t { ready, rested, waiting, waiting_with_deadline, joining, ended };

/// The stack of a fiber. A guard page below it ends the program if the stack grows too large.
class model_stack {
 public:
  static constexpr std::size_t size = 256 * 1024;

  model_stack()
      : memory_(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    BRAID_EXPECTS(memory_ != MAP_FAILED, "there must be memory for the stacks of a run");
    ::mprotect(memory_, 4096, PROT_NONE);
  }
  model_stack(model_stack&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}
  auto operator=(model_stack&& other) noexcept -> model_stack& {
    std::swap(memory_, other.memory_);
    return *this;
  }
  ~model_stack() {
    if (memory_ != nullptr) ::munmap(memory_, size);
  }

  [[nodiscard]] auto memory() const noexcept -> void* { return memory_; }

 private:
  void* memory_;
};

namespace {

thread_local std::vector<model_stack> spare_stacks;
thread_local model_execution* current_run = nullptr;
thread_local std::uint64_t runs_begun = 0;

auto take_stack() -> model_stack {
  if (spare_stacks.empty()) return {};
  model_stack taken = std::move(spare_stacks.back());
  spare_stacks.pop_back();
  return taken;
}

auto name_of(std::memory_order order) noexcept -> const char* {
  switch (order) {
    case std::memory_order_relaxed: return "relaxed";
    case std::memory_order_release: return "release";
    case std::memory_order_acq_rel: return "acq_rel";
    case std::memory_order_seq_cst: return "seq_cst";
    default: return "acquire";
  }
}

auto file_name(std::string_view path) -> std::string_view { return path.substr(path.rfind('/') + 1); }

auto make_site(const std::source_location& location) noexcept -> model_site {
  return {.line = location.line(), .column = location.column(), .file = location.file_name()};
}

}  // namespace

/// A thread of an execution.
struct model_fiber {
  model_fiber() : place(take_stack()) {}
  model_fiber(const model_fiber&) = delete;
  auto operator=(const model_fiber&) -> model_fiber& = delete;
  ~model_fiber() { spare_stacks.push_back(std::move(place)); }

  model_stack place;
  ucontext_t context{};
  std::function<void()> body;
  model_view view;
  model_state state = model_state::ready;
  std::size_t waits_for = 0;  // the atomic for which it waits
  bool timed_out = false;     // its last wait ended by a timeout
};

auto to_string(const model_site& site) -> std::string {
  return std::string(file_name(site.file)) + ":" + std::to_string(site.line) + ":" + std::to_string(site.column);
}

model_execution::model_execution(const model_bounds& bounds, model_decider& decider, std::vector<model_site>& ordered)
    : bounds_(bounds),
      decider_(decider),
      ordered_(ordered),
      memory_(++runs_begun),
      preemptions_(bounds.preemptions),
      surprises_(bounds.surprises) {}

model_execution::~model_execution() = default;

auto model_execution::current() noexcept -> model_execution* { return current_run; }

auto model_execution::run(std::function<void()> body) -> std::string {
  BRAID_EXPECTS(current_run == nullptr, "a run must not begin inside another run");
  start(std::move(body));
  current_run = this;
  ::swapcontext(&explorer_, &fibers_.front()->context);
  current_run = nullptr;
  return failure_;
}

// --- the threads of an execution -------------------------------------------------------------------------------------

void model_execution::start(std::function<void()> body) {
  if (fibers_.size() == model_thread_limit)
    fail("a run has more than " + std::to_string(model_thread_limit) + " threads");
  auto& fiber = *fibers_.emplace_back(std::make_unique<model_fiber>());
  fiber.body = std::move(body);
  fiber.view.thread = fibers_.size() - 1;
  if (current_run == this) {
    running().view.clock.tick(running_);
    fiber.view.clock = running().view.clock;
    fiber.view.fenced = running().view.fenced;
  }
  ::getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.place.memory();
  fiber.context.uc_stack.ss_size = model_stack::size;
  fiber.context.uc_link = nullptr;
  ::makecontext(&fiber.context, &model_execution::enter, 0);
}

/// Runs the body of a fiber, and marks the fiber as ended. It is the outermost function of every fiber.
void model_execution::enter() noexcept {
  model_execution& run = *current_run;
  model_fiber& fiber = run.running();
  std::string thrown;
  try {
    fiber.body();
  } catch (const std::exception& error) {
    thrown = std::string(": ") + error.what();
  } catch (...) {
    thrown = " that is not a std::exception";
  }
  if (!thrown.empty()) run.fail("an exception escaped from thread " + std::to_string(run.running_) + thrown);
  fiber.state = model_state::ended;
  if (run.running_ == 0 && run.with_state(model_state::ended).count < run.fibers_.size())
    run.fail("the body ended before its threads; the body must join its threads");
  run.leave_to_another();
}

auto model_execution::running() noexcept -> model_fiber& { return *fibers_[running_]; }

auto model_execution::with_state(model_state state) const noexcept -> model_threads {
  model_threads found;
  for (std::size_t id = 0; id < fibers_.size(); ++id)
    if (fibers_[id]->state == state) found.add(id);
  return found;
}

void model_execution::switch_to(std::size_t thread) {
  if (thread == running_) return;
  ucontext_t& from = running().context;
  running_ = thread;
  ::swapcontext(&from, &running().context);
}

/// Switches to another thread. Called if the running thread must wait, has ended or yields.
void model_execution::leave_to_another() {
  const std::size_t ended = with_state(model_state::ended).count;
  if (ended + 1 == fibers_.size() && fibers_[0]->state == model_state::joining) fibers_[0]->state = model_state::ready;
  if (ended == fibers_.size()) ::swapcontext(&running().context, &explorer_);

  model_threads next;
  for (const auto state : {model_state::ready, model_state::waiting_with_deadline, model_state::rested})
    if (next.count == 0) next = with_state(state);
  if (next.count == 0) fail(deadlock());
  const std::size_t chosen = next.ids[decide(model_question::next, next.count)];
  fibers_[chosen]->timed_out = fibers_[chosen]->state == model_state::waiting_with_deadline;
  fibers_[chosen]->state = model_state::ready;
  switch_to(chosen);
}

void model_execution::join() {
  if (running_ != 0) fail("only the body of a run may join its threads");
  if (with_state(model_state::ended).count + 1 < fibers_.size()) {
    running().state = model_state::joining;
    leave_to_another();
  }
  for (const auto& fiber : fibers_) {
    running().view.clock.join(fiber->view.clock);
    running().view.fenced.join(fiber->view.fenced);
  }
}

void model_execution::yield() {
  count_step();
  running().state = model_state::rested;
  leave_to_another();
}

void model_execution::fail(std::string message) {
  failure_ = std::move(message);
  ::swapcontext(&running().context, &explorer_);
  std::terminate();  // control never returns here
}

auto model_execution::deadlock() const -> std::string {
  std::string text = "deadlock:";
  for (std::size_t id = 0; id < fibers_.size(); ++id) {
    if (fibers_[id]->state == model_state::joining) text += " thread " + std::to_string(id) + " joins;";
    if (fibers_[id]->state != model_state::waiting) continue;
    text += " thread " + std::to_string(id) + " waits for a" + std::to_string(fibers_[id]->waits_for) + ";";
  }
  text.pop_back();
  return text;
}

// --- the steps of an execution ---------------------------------------------------------------------------------------

auto model_execution::decide(model_question question, std::size_t count) -> std::size_t {
  return count < 2 ? 0 : decider_.decide(question, count);
}

auto model_execution::decide_surprise(std::size_t count) -> std::size_t {
  const std::size_t chosen = surprises_ == 0 ? 0 : decide(model_question::surprise, count);
  if (chosen != 0) --surprises_;
  return chosen;
}

void model_execution::count_step() {
  if (++steps_ > bounds_.steps) fail("no end after " + std::to_string(bounds_.steps) + " steps");
  for (const auto& fiber : fibers_)
    if (fiber->state == model_state::rested) fiber->state = model_state::ready;
}

/// Called before every access. May switch to another thread first, as long as preemptions are left.
void model_execution::step() {
  count_step();
  if (preemptions_ == 0) return;
  const model_threads ready = with_state(model_state::ready);  // including the running thread
  const std::size_t chosen = decide(model_question::preempt, ready.count);
  if (chosen == 0) return;
  --preemptions_;
  switch_to(ready.ids[chosen - (ready.ids[chosen - 1] < running_ ? 1 : 0)]);
}

/// Called before an access to an atomic. Does what `step()` does, and then returns the number of the atomic.
auto model_execution::step(const model_access& access) -> std::size_t {
  step();
  return memory_.find(access.place, access.initial);
}

/// Records the source location of an access that is not relaxed. Returns whether this run replaces the memory order of
/// the access by relaxed.
auto model_execution::weakened(const std::source_location& location) -> bool {
  const model_site site = make_site(location);
  if (std::find(ordered_.begin(), ordered_.end(), site) == ordered_.end()) ordered_.push_back(site);
  return bounds_.weakened == site;
}

auto model_execution::find_order(const model_access& access) -> std::memory_order {
  if (access.order == std::memory_order_relaxed) return access.order;
  return weakened(access.where) ? std::memory_order_relaxed : access.order;
}

auto model_execution::on_load(const model_access& access) -> std::uint64_t {
  const std::size_t atomic = step(access);
  const std::memory_order order = find_order(access);
  const std::size_t age = decide_surprise(memory_.visible(atomic, running().view, order));
  const std::uint64_t value = memory_.load(atomic, age, running().view, order);
  note("load", access, value, age);
  return value;
}

void model_execution::on_store(const model_access& access, std::uint64_t value) {
  const std::size_t atomic = step(access);
  const std::memory_order order = find_order(access);
  memory_.store(atomic, value, running().view, order);
  note("store", access, value);
}

auto model_execution::on_fetch(const model_access& access) -> std::uint64_t {
  const std::size_t atomic = step(access);
  const std::uint64_t value = memory_.load(atomic, 0, running().view, find_order(access));
  note("fetch", access, value);
  return value;
}

void model_execution::on_replace(const model_access& access, std::uint64_t value) {
  memory_.replace(access.place.index, value, running().view, find_order(access));
  note("replace", access, value);
}

auto model_execution::on_compare(const model_access& access, std::memory_order failure, std::uint64_t expected,
                                 model_strength strength) -> model_compared {
  const std::size_t atomic = step(access);
  const std::memory_order order = find_order(access);
  if (order != access.order) failure = std::memory_order_relaxed;

  // A compare-exchange may fail because it reads an older write, whose value is not the expected one. A weak
  // compare-exchange may also fail spuriously.
  std::vector<std::size_t> failures;
  if (surprises_ > 0) {
    const std::size_t visible = memory_.visible(atomic, running().view, failure);
    for (std::size_t age = 1; age < visible; ++age)
      if (memory_.peek(atomic, age) != expected) failures.push_back(age);
    if (strength == model_strength::weak && memory_.peek(atomic, 0) == expected) failures.push_back(0);
  }
  const std::size_t chosen = decide_surprise(1 + failures.size());
  const std::size_t age = chosen == 0 ? 0 : failures[chosen - 1];
  const bool equal = chosen == 0 && memory_.peek(atomic, 0) == expected;
  const std::uint64_t seen = memory_.load(atomic, age, running().view, equal ? order : failure);
  note(equal ? "compare" : "compare, failed", access, seen, age);
  return {.seen = seen, .equal = equal};
}

auto model_execution::on_wait(const model_access& word, std::uint32_t expected,
                              const std::optional<time_point>& deadline) -> bool {
  const std::size_t atomic = step(word);
  note("wait", word, expected);
  if (memory_.peek(atomic, 0) != expected) return true;
  enum : std::size_t { sleep, wake_early, time_out };
  const std::size_t chosen = decide_surprise(deadline ? 3 : 2);
  model_fiber& fiber = running();
  fiber.waits_for = atomic;
  fiber.timed_out = false;
  if (chosen == sleep) fiber.state = deadline ? model_state::waiting_with_deadline : model_state::waiting;
  leave_to_another();
  return chosen != time_out && !fiber.timed_out;
}

void model_execution::on_wake(const model_access& word, int count) {
  // The number of the atomic is looked up before the step, because another thread may destroy the word during the step.
  // Afterwards only the word's address is used, as in the kernel.
  const std::size_t atomic = memory_.find(word.place, word.initial);
  model_location place = word.place;
  step();
  note("wake", {place, word.initial, word.order, word.where}, static_cast<std::uint64_t>(count));
  std::vector<model_fiber*> waiters;
  for (const auto& fiber : fibers_) {
    const bool waits = fiber->state == model_state::waiting || fiber->state == model_state::waiting_with_deadline;
    if (waits && fiber->waits_for == atomic) waiters.push_back(fiber.get());
  }
  for (; count > 0 && !waiters.empty(); --count) {
    const bool all = static_cast<std::size_t>(count) >= waiters.size();
    const auto chosen = static_cast<std::ptrdiff_t>(all ? 0 : decide(model_question::wake, waiters.size()));
    waiters[static_cast<std::size_t>(chosen)]->state = model_state::ready;
    waiters.erase(waiters.begin() + chosen);
  }
}

void model_execution::on_light_barrier(std::source_location location) {
  step();
  if (!weakened(location)) memory_.light_barrier(running().view);
  events_.push_back({.thread = running_, .what = "light barrier", .where = location});
}

void model_execution::on_heavy_barrier(std::source_location location) {
  step();
  if (!weakened(location)) memory_.heavy_barrier(running().view);
  events_.push_back({.thread = running_, .what = "heavy barrier", .where = location});
}

void model_execution::on_read(model_plain& plain) {
  if (memory_.read_plain(plain, running().view)) return;
  fail("data race: thread " + std::to_string(running_) + " reads what thread " + std::to_string(plain.writer) +
       " wrote");
}

void model_execution::on_write(model_plain& plain) {
  if (memory_.write_plain(plain, running().view)) return;
  fail("data race: thread " + std::to_string(running_) + " writes what another thread has read or written");
}

// --- the trace of an execution ---------------------------------------------------------------------------------------

void model_execution::note(const char* operation, const model_access& access, std::uint64_t value, std::size_t age) {
  events_.push_back({running_, operation, access.place.index, value, age, access.order, access.where});
}

auto model_execution::format_line(const event& done) const -> std::string {
  const model_site site = make_site(done.where);
  std::string text = "  thread " + std::to_string(done.thread) + ": ";
  if (done.atomic == event::no_atomic)
    return text + done.what + (bounds_.weakened == site ? ", left out, " : ", ") + to_string(site) + "\n";
  text += "a" + std::to_string(done.atomic) + " " + done.what + " " + std::to_string(done.value);
  if (done.age > 0) text += ", " + std::to_string(done.age) + " older than the newest";
  text += std::string(", ") + (bounds_.weakened == site ? "weakened" : name_of(done.order)) + ", " + to_string(site);
  return text + "\n";
}

auto model_execution::trace() const -> std::string {
  constexpr std::size_t max_count = 60;
  std::string text;
  for (std::size_t i = events_.size() < max_count ? 0 : events_.size() - max_count; i < events_.size(); ++i)
    text += format_line(events_[i]);
  return text;
}

// --- the functions that model_atomic.hpp declares --------------------------------------------------------------------

auto model_active() noexcept -> bool { return current_run != nullptr; }
auto model_load(const model_access& access) noexcept -> std::uint64_t { return current_run->on_load(access); }
void model_store(const model_access& access, std::uint64_t value) noexcept { current_run->on_store(access, value); }
auto model_fetch(const model_access& access) noexcept -> std::uint64_t { return current_run->on_fetch(access); }
void model_replace(const model_access& access, std::uint64_t value) noexcept { current_run->on_replace(access, value); }

auto model_compare(const model_access& access, std::memory_order failure, std::uint64_t expected,
                   model_strength strength) noexcept -> model_compared {
  return current_run->on_compare(access, failure, expected, strength);
}

void model_yield() noexcept { current_run->yield(); }
auto model_thread() noexcept -> std::size_t { return current_run->thread(); }

void model_light_barrier(std::source_location location) noexcept { current_run->on_light_barrier(location); }
void model_heavy_barrier(std::source_location location) noexcept { current_run->on_heavy_barrier(location); }

auto model_wait(const model_atomic<std::uint32_t>& word, std::uint32_t expected,
                const std::optional<time_point>& deadline) noexcept -> bool {
  return current_run->on_wait(word.access(std::memory_order_relaxed, std::source_location::current()), expected,
                              deadline);
}

void model_wake(const model_atomic<std::uint32_t>& word, int count) noexcept {
  current_run->on_wake(word.access(std::memory_order_relaxed, std::source_location::current()), count);
}

}  // namespace braid::detail
