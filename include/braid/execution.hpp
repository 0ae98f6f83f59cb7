// braid/execution.hpp: std::execution (P2300): executors as schedulers, futures and tasks as senders, senders in tasks.
// In it: `scheduler_of`, `as_sender` and `await_sender`; namespace `execution` with the names of std::execution, from
// the standard library, from stdexec, or from braid. Guide: docs/execution.md. <braid/braid.hpp> leaves this part out.
#pragma once

#include <braid/coro/execution.hpp>
#include <braid/task/senders.hpp>
