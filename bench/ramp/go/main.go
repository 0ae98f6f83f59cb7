// Leaves that are long, in goroutines: bench/ramp/leaves.hpp in Go, and the forms that Go has.
package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"bench/harness/golang"
)

type sample = golang.Sample
type parameters = golang.Parameters

// leaves are those of one run.
type leaves struct {
	count, workers uint64
	computes       bool
	lengths        []time.Duration
	done           atomic.Uint64
}

func newLeaves(given parameters) *leaves {
	given.UseWorkers()
	workers := given.Number("workers", 1)
	count := given.Number("per_worker", 1) * workers
	length := float64(given.Number("length_us", 20_000)) * 1e3
	isMixed := given.Word("lengths", "equal") == "mixed"
	made := &leaves{count: count, workers: workers, computes: given.Word("work", "sleep") == "compute"}
	for i := uint64(0); i < count; i++ {
		factor := 1.0
		if isMixed {
			factor = pareto(i)
		}
		made.lengths = append(made.lengths, time.Duration(length*factor))
	}
	return made
}

// pareto: most are short, a few are long: from 0.4 to 12 times, about 1 on average; by the number of the leaf.
func pareto(index uint64) float64 {
	z := (index + 1) * 0x9e37_79b9_7f4a_7c15
	z = (z ^ (z >> 30)) * 0xbf58_476d_1ce4_e5b9
	even := float64((z^(z>>31))>>11) / 9_007_199_254_740_992.0
	return min(0.4/(1-even*0.97), 12)
}

func (each *leaves) run(index uint64) {
	if each.computes {
		compute(each.lengths[index])
	} else {
		sleep(each.lengths[index])
	}
	each.done.Add(1)
}

// sleep blocks the thread, and the scheduler is not told: time.Sleep, or a system call that Go knows of, would give the
// worker to another leaf meanwhile, and there would be more at once than workers. Go's signals to its threads interrupt it.
func sleep(length time.Duration) {
	left := syscall.NsecToTimespec(length.Nanoseconds())
	err := syscall.EINTR
	for err == syscall.EINTR {
		_, _, err = syscall.RawSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&left)), uintptr(unsafe.Pointer(&left)), 0)
	}
}

// compute takes so much processor time of its thread, on which the goroutine stays.
func compute(length time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for end := threadCPU() + length; threadCPU() < end; {
	}
}

func threadCPU() time.Duration {
	const clockThreadCPUTime = 3
	var now syscall.Timespec
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockThreadCPUTime, uintptr(unsafe.Pointer(&now)), 0)
	return time.Duration(now.Nano())
}

// ideal is what all workers take that are at work throughout.
func (each *leaves) ideal() time.Duration {
	total, longest := time.Duration(0), time.Duration(0)
	for _, length := range each.lengths {
		total += length
		longest = max(longest, length)
	}
	ideal := max(longest, total/time.Duration(each.workers))
	if each.lengths[0] == longest {
		rounds := (each.count + each.workers - 1) / each.workers
		ideal = max(ideal, time.Duration(rounds)*longest)
	}
	return ideal
}

// start begins leaves from first up to last, each as a goroutine.
func (each *leaves) start(first, last uint64, all *sync.WaitGroup) {
	for i := first; i < last; i++ {
		go func(i uint64) {
			each.run(i)
			all.Done()
		}(i)
	}
}

func (each *leaves) group(first, last uint64) {
	var all sync.WaitGroup
	all.Add(int(last - first))
	each.start(first, last, &all)
	all.Wait()
}

func (each *leaves) spawn() {
	results := make([]chan bool, each.count)
	for i := range results {
		results[i] = make(chan bool, 1)
		go func(i uint64, result chan<- bool) {
			each.run(i)
			result <- true
		}(uint64(i), results[i])
	}
	for _, result := range results {
		<-result
	}
}

func (each *leaves) postByAJob() {
	var all sync.WaitGroup
	all.Add(int(each.count))
	go each.start(0, each.count, &all)
	all.Wait()
}

// fork runs both, the second one as a goroutine.
func fork(first, second func()) {
	done := make(chan bool, 1)
	go func() {
		second()
		done <- true
	}()
	first()
	<-done
}

func (each *leaves) tree(first, last uint64) {
	if last-first == 1 {
		each.run(first)
		return
	}
	middle := first + (last-first)/2
	fork(func() { each.tree(first, middle) }, func() { each.tree(middle, last) })
}

func (each *leaves) spine(left uint64) {
	if left == 1 {
		each.run(0)
		return
	}
	fork(func() { each.spine(left - 1) }, func() { each.run(left - 1) })
}

func (each *leaves) twoGroups() {
	middle := each.count / 2
	fork(func() { each.group(0, middle) }, func() { each.group(middle, each.count) })
}

// form measures one way in which the leaves are given to goroutines.
func form(name string, run func(*leaves)) golang.Solution {
	return golang.Solution{Name: name, Run: func(given parameters) sample {
		each := newLeaves(given)
		measured := golang.Timed(float64(each.count), each.count, func() uint64 {
			run(each)
			return each.done.Load()
		})
		measured.Extra = map[string]float64{"over_ideal_factor": measured.WallNs / float64(each.ideal().Nanoseconds())}
		return measured
	}}
}

func main() {
	all := func(each *leaves) { each.group(0, each.count) }
	golang.RunProgram("ramp", []golang.Solution{
		form("post", all), // the goroutine that starts them has a worker as well: there is no outside
		form("spawn", (*leaves).spawn),
		form("post_by_a_job", (*leaves).postByAJob),
		form("tree", func(each *leaves) { each.tree(0, each.count) }),
		form("spine", func(each *leaves) { each.spine(each.count) }),
		form("group", all),
		form("two_groups", (*leaves).twoGroups),
	})
}
