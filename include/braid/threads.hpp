// braid/threads.hpp: the threads of a program as a set that it can query and change, and disturb in tests.
// In it: `thread_registry`, `registration`, `registered_thread`, `registry_observer`; queries over their entries, with
// `field`s that the compiler checks; `chaos`. Guide: docs/threads.md. <braid/braid.hpp> leaves this part out: single
// threads with their settings are in <braid/thread.hpp>.
#pragma once

#include <braid/thread/chaos.hpp>
#include <braid/thread/fields.hpp>
#include <braid/thread/query.hpp>
#include <braid/thread/registry.hpp>
