// How long goroutines wait, and what the process takes of a core while there is little to do.
package main

import (
	"sync/atomic"
	"time"

	"bench/harness/golang"
)

type sample = golang.Sample
type parameters = golang.Parameters

func idle(given parameters) sample {
	given.UseWorkers()
	length := time.Duration(given.Number("ms", 1_000)) * time.Millisecond
	return golang.ShareOfACore(func() { golang.Sleep(length) })
}

func eachMs(given parameters) sample {
	golang.UseWorkersBeside(given)
	ms := given.Number("ms", 1_000)
	var ran atomic.Uint64
	measured := golang.ShareOfACore(func() {
		begin := time.Now()
		for i := uint64(1); i <= ms; i++ {
			golang.Sleep(time.Until(begin.Add(time.Duration(i) * time.Millisecond)))
			go ran.Add(1)
		}
		time.Sleep(time.Millisecond)
	})
	for i := 0; ran.Load() != ms && i < 1_000; i++ {
		time.Sleep(time.Millisecond)
	}
	measured.IsRight = ran.Load() == ms
	return measured
}

func main() {
	golang.RunProgram("latency", []golang.Solution{
		{Name: "wake", Run: golang.Wake}, {Name: "idle", Run: idle}, {Name: "each_ms", Run: eachMs}})
}
