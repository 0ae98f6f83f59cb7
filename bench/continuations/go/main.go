// Chains of goroutines, each of which waits for a channel of the one before; and many whose results one sum waits for.
package main

import "bench/harness/golang"

type sample = golang.Sample
type parameters = golang.Parameters

func link(before, after chan uint64) { after <- <-before + 1 }

func chain(given parameters, beginsFirst bool) sample {
	given.UseWorkers()
	links := given.Number("links", 1_000_000)
	return golang.Timed(float64(links), links, func() uint64 {
		first := make(chan uint64, 1)
		if beginsFirst {
			first <- 0
		}
		last := first
		for i := uint64(0); i < links; i++ {
			next := make(chan uint64, 1)
			go link(last, next)
			last = next
		}
		if !beginsFirst {
			first <- 0
		}
		return <-last
	})
}

func await(given parameters) sample {
	given.UseWorkers()
	links := given.Number("links", 1_000_000)
	return golang.Timed(float64(links), links, func() uint64 {
		reached := uint64(0)
		for i := uint64(0); i < links; i++ {
			result := make(chan uint64, 1)
			go func(before uint64) { result <- before + 1 }(reached)
			reached = <-result
		}
		return reached
	})
}

func fan(given parameters) sample {
	given.UseWorkers()
	width := given.Number("width", 100_000)
	return golang.Timed(float64(width), width*(width+1)/2, func() uint64 {
		results := make(chan uint64, width)
		for i := uint64(0); i < width; i++ {
			go func(i uint64) { results <- i + 1 }(i)
		}
		total := uint64(0)
		for i := uint64(0); i < width; i++ {
			total += <-results
		}
		return total
	})
}

func main() {
	golang.RunProgram("continuations", []golang.Solution{
		{Name: "then_before", Run: func(given parameters) sample { return chain(given, false) }},
		{Name: "then_meanwhile", Run: func(given parameters) sample { return chain(given, true) }},
		{Name: "await", Run: await}, {Name: "fan", Run: fan}})
}
