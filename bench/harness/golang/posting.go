package golang

import (
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Batches runs batches of empty jobs; runBatch runs one, waits for it, and gives how many have run.
func Batches(given Parameters, runBatch func(jobs uint64) uint64) Sample {
	given.UseWorkers()
	jobs, repeats := given.Number("jobs", 2047), given.Number("repeats", 100)
	runBatch(jobs)
	return Timed(float64(jobs*repeats), jobs*repeats, func() uint64 {
		total := uint64(0)
		for i := uint64(0); i < repeats; i++ {
			total += runBatch(jobs)
		}
		return total
	})
}

// FromGoroutines lets so many goroutines call start, tasks times together, and waits until done says that all have run.
func FromGoroutines(producers, tasks uint64, start func(done *sync.WaitGroup)) uint64 {
	var done sync.WaitGroup
	done.Add(int(tasks))
	for producer := uint64(1); producer < producers; producer++ {
		go func() {
			for i := uint64(0); i < tasks/producers; i++ {
				start(&done)
			}
		}()
	}
	for i := uint64(0); i < tasks/producers; i++ {
		start(&done)
	}
	done.Wait()
	return tasks
}

// OfLength runs tasks of a given length, each a goroutine.
func OfLength(given Parameters) Sample {
	given.UseWorkers()
	tasks, steps := given.Number("tasks", 100_000), StepsOf(given.Number("length_ns", 0))
	return Timed(float64(tasks), tasks, func() uint64 {
		return FromGoroutines(1, tasks, func(done *sync.WaitGroup) {
			go func() {
				WorkFor(steps)
				done.Done()
			}()
		})
	})
}

// UseWorkersBeside lets so many threads run goroutines beside the one that starts them.
func UseWorkersBeside(given Parameters) {
	runtime.GOMAXPROCS(int(given.Number("workers", 1)) + 1)
	runtime.LockOSThread()
}

// Wake measures from the start of a goroutine to its first line, while nothing else runs. Who starts it sleeps as a thread,
// so that another one must wake.
func Wake(given Parameters) Sample {
	UseWorkersBeside(given)
	posts := given.Number("posts", 200)
	waits := []float64{}
	sample := Timed(float64(posts), posts, func() uint64 {
		for i := uint64(0); i < posts; i++ {
			Sleep(time.Duration(700+i*131%600) * time.Microsecond)
			var started atomic.Int64
			begin := time.Now()
			go func() { started.Store(int64(time.Since(begin))) }()
			Sleep(100 * time.Microsecond)
			for started.Load() == 0 {
				Sleep(100 * time.Microsecond)
			}
			waits = append(waits, float64(started.Load())/1e3)
		}
		return uint64(len(waits))
	})
	sample.Extra = map[string]float64{"p50_us": Percentile(waits, 0.5), "p99_us": Percentile(waits, 0.99),
		"longest_us": Percentile(waits, 1)}
	return sample
}

// ShareOfACore is what the process takes of a core while meanwhile runs, in percent; Go does not tell its threads apart.
func ShareOfACore(meanwhile func()) Sample {
	time.Sleep(50 * time.Millisecond)
	sample := Timed(1, 0, func() uint64 {
		meanwhile()
		return 0
	})
	sample.Extra = map[string]float64{"core_percent": sample.CPUNs / sample.WallNs * 100}
	return sample
}

// Sleep puts the whole thread to sleep, as a thread that is no worker would.
func Sleep(length time.Duration) {
	remaining := syscall.NsecToTimespec(length.Nanoseconds())
	for syscall.Nanosleep(&remaining, &remaining) == syscall.EINTR {
	}
}
