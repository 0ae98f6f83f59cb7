// Batches of empty goroutines; in order, each waits for a channel that the one before closes.
package main

import (
	"sync"

	"bench/harness/golang"
)

func basic(given golang.Parameters) golang.Sample {
	return golang.Batches(given, func(jobs uint64) uint64 {
		return golang.FromGoroutines(1, jobs, func(done *sync.WaitGroup) { go done.Done() })
	})
}

func ordered(given golang.Parameters) golang.Sample {
	return golang.Batches(given, func(jobs uint64) uint64 {
		ran := uint64(0)
		before := make(chan struct{})
		first := before
		for i := uint64(0); i < jobs; i++ {
			after := make(chan struct{})
			go func(before, after chan struct{}) {
				<-before
				ran++
				close(after)
			}(before, after)
			before = after
		}
		close(first)
		<-before
		return ran
	})
}

func main() {
	golang.RunProgram("jobs", []golang.Solution{{Name: "basic", Run: basic}, {Name: "basic_ordered", Run: ordered}})
}
