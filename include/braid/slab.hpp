// braid/slab.hpp: job slabs: jobs in preallocated slots, with parents, successors and results. It contains `job_slab`.
// Guide: docs/job_slab.md. <braid/braid.hpp> does not include this part, because most programs post jobs to a pool.
#pragma once

#include <braid/task/job_slab.hpp>
