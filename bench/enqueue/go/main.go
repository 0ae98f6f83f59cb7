// Empty goroutines: who starts them is one as well, there is no outside.
package main

import (
	"sync"

	"bench/harness/golang"
)

type sample = golang.Sample
type parameters = golang.Parameters

var sink byte

//go:noinline
func use(captured []byte, done *sync.WaitGroup) {
	if len(captured) == 1 {
		sink = captured[0]
	}
	done.Done()
}

// starter starts a goroutine that captures so many bytes.
func starter(capture uint64) func(*sync.WaitGroup) {
	switch capture {
	case 24:
		return func(done *sync.WaitGroup) {
			var captured [24]byte
			go func(copied [24]byte) { use(copied[:], done) }(captured)
		}
	case 48:
		return func(done *sync.WaitGroup) {
			var captured [48]byte
			go func(copied [48]byte) { use(copied[:], done) }(captured)
		}
	case 128:
		return func(done *sync.WaitGroup) {
			var captured [128]byte
			go func(copied [128]byte) { use(copied[:], done) }(captured)
		}
	}
	return func(done *sync.WaitGroup) { go done.Done() }
}

func empty(given parameters) sample {
	given.UseWorkers()
	producers := given.Number("producers", 1)
	tasks := given.Number("tasks", 1_000_000) / producers * producers
	start := starter(given.Number("capture", 0))
	return golang.Timed(float64(tasks), tasks, func() uint64 { return golang.FromGoroutines(producers, tasks, start) })
}

func roundTrip(given parameters) sample {
	given.UseWorkers()
	trips := given.Number("trips", 20_000)
	return golang.Timed(float64(trips), trips, func() uint64 {
		reached := uint64(0)
		for i := uint64(0); i < trips; i++ {
			result := make(chan uint64, 1)
			go func(before uint64) { result <- before + 1 }(reached)
			reached = <-result
		}
		return reached
	})
}

func main() {
	golang.RunProgram("enqueue", []golang.Solution{{Name: "empty", Run: empty}, {Name: "round_trip", Run: roundTrip}})
}
