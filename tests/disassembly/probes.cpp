// tests/disassembly/probes.cpp: what a worker does with its own jobs, each as a function whose machine code is looked
// at.
#include <braid/sync/detail/run_queue.hpp>
#include <braid/sync/detail/split_deque.hpp>
#include <braid/task/basic_pool.hpp>
#include <braid/task/detail/local_queues.hpp>
#include <braid/task/job.hpp>
#include <braid/task/scheduling_policy.hpp>
#include <braid/task/worker.hpp>

#include <new>

// No function here is called; tests/disassembly/test_probes.py knows each by its name.
extern "C" {

// --- unstructured work: the run queue of a worker ---

void own_push(braid::worker& self, braid::job& work) { self.queue.push(work); }

auto own_pop(braid::worker& self) -> braid::job* { return self.queue.pop(); }

/// A yielding job puts itself behind the others and takes the next.
auto own_yield(braid::worker& self, braid::job& running) -> braid::job* {
  self.queue.push(running);
  return self.queue.pop();
}

/// Or what it has woken ahead of them.
auto own_yield_to_next(braid::worker& self, braid::job& woken) -> braid::job* {
  self.queue.push_next(woken);
  return self.queue.pop_next();
}

// --- the same as the schedulers with seats do it ---

/// What a worker posts for itself.
auto own_place(braid::detail::local_queues& local_queues, braid::worker& self, braid::job& work) -> bool {
  return local_queues.place_own(self, work).how != braid::placement::verdict::refused;
}

/// The worker's own jobs, its inbox last. What is found is handed over.
void own_take(braid::work_stealing& policy, braid::worker& self, void* to) {
  ::new (to) braid::found_job(policy.take_own(self));
}

/// Its inbox first.
void own_tick(braid::work_stealing& policy, braid::worker& self, void* to) {
  ::new (to) braid::found_job(policy.tick(self));
}

// --- structured work: the split deque ---

auto own_deque_push(braid::detail::split_deque<braid::job>& deque, braid::job& entry) -> bool {
  return deque.try_push(entry);
}

auto own_deque_pop(braid::detail::split_deque<braid::job>& deque) -> braid::job* { return deque.pop(); }

// --- what the check must find, or it would see nothing at all ---

auto indirect_pop(braid::worker& self) -> braid::job* {
  self.sleep->poll();
  return own_pop(self);
}

/// The call is not here but in a function that this one calls.
[[gnu::noinline]] auto calls_indirect_pop(braid::worker& self) -> braid::job* {
  braid::job* const first = indirect_pop(self);
  return first != nullptr ? first : own_pop(self);
}

}  // extern "C"
