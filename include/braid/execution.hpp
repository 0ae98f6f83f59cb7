// braid/execution.hpp: support for std::execution (P2300): executors are schedulers, futures and tasks are senders, and
// tasks can await senders. It contains `scheduler_of`, `as_sender` and `await_sender`, and the namespace `execution`
// with the names of std::execution, from the standard library, from stdexec, or from braid. Guide: docs/execution.md.
// <braid/braid.hpp> does not include this part.
#pragma once

#include <braid/coro/execution.hpp>
#include <braid/task/senders.hpp>
