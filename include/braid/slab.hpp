// braid/slab.hpp: job slabs: jobs in slots that are allocated beforehand, with parents, successors and results.
// In it: `job_slab`. Guide: docs/job_slab.md. <braid/braid.hpp> leaves this part out: most programs post jobs to a
// pool.
#pragma once

#include <braid/task/job_slab.hpp>
