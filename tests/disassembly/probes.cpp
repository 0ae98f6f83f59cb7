// tests/disassembly/probes.cpp: what a worker does with its own jobs, each as a function whose machine code is looked at.
#include <braid/sync/run_queue.hpp>
#include <braid/sync/split_deque.hpp>
#include <braid/task/detail/job_pace.hpp>
#include <braid/task/detail/seats.hpp>
#include <braid/task/found_job.hpp>
#include <braid/task/job.hpp>
#include <braid/task/work_stealing.hpp>
#include <braid/task/worker.hpp>

#include <new>

// No function here is called; tests/disassembly/test_probes.py knows each by its name.
extern "C" {

// --- unstructured work: the run queue of a worker ---

void probe_worker_queue_push(braid::worker& self, braid::job& work) { self.queue.push(work); }

auto probe_worker_queue_pop(braid::worker& self) -> braid::job* { return self.queue.pop(); }

/// Who yields puts itself behind the others, or what it has woken ahead of them, and takes the next.
auto probe_worker_yield(braid::worker& self, braid::job& running) -> braid::job* {
  self.queue.push(running);
  return self.queue.pop();
}

auto probe_worker_yield_to_next(braid::worker& self, braid::job& woken) -> braid::job* {
  self.queue.push_next(woken);
  return self.queue.pop_next();
}

// --- the same as the schedulers do it ---

/// What a worker posts for itself.
auto probe_work_stealing_place(braid::work_stealing& policy, braid::worker& self, braid::job& work) -> bool {
  return policy.place(work, &self).how != braid::placement::verdict::refused;
}

/// The worker's own jobs, in the order in which it takes them. What is found is handed over.
void probe_seats_take_own(braid::detail::seats& seats, braid::worker& self, void* to) {
  ::new (to) braid::found_job(seats.take_own(self));
}

void probe_work_stealing_refill(braid::work_stealing& policy, braid::worker& self, void* to) {
  ::new (to) braid::found_job(policy.refill(self, braid::search::routine));
}

void probe_work_stealing_tick(braid::work_stealing& policy, braid::worker& self, void* to) {
  ::new (to) braid::found_job(policy.tick(self));
}

auto probe_job_begins(braid::detail::job_pace& pace) -> bool { return pace.job_begins(); }

// --- structured work: the split deque ---

auto probe_split_deque_try_push(braid::split_deque<braid::job>& deque, braid::job& entry) -> bool {
  return deque.try_push(entry);
}

auto probe_split_deque_pop(braid::split_deque<braid::job>& deque) -> braid::job* { return deque.pop(); }

}  // extern "C"
