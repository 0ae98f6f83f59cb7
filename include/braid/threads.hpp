// braid/threads.hpp: a registry of the threads of a program, with which you can query and change the threads, and
// disturb them in tests. It contains `thread_registry`, `registration`, `registered_thread`, `registry_observer`;
// queries over their entries, with `field`s that the compiler checks; `chaos`. Guide: docs/threads.md.
// <braid/braid.hpp> does not include this part; for single threads with settings, use <braid/thread.hpp>.
#pragma once

#include <braid/thread/chaos.hpp>
#include <braid/thread/fields.hpp>
#include <braid/thread/query.hpp>
#include <braid/thread/registry.hpp>
